// Writes three contacts, lists them page by page, and looks at what a program is given: the client in TypeScript.
import { client as clientOfV1 } from "./v1/client.gen";
import * as v1 from "./v1";
import { client as clientOfV2 } from "./v2/client.gen";
import * as v2 from "./v2";

declare const process: { env: Record<string, string> };
const headers = { Authorization: `Token ${process.env.RELAYBOARD_TOKEN}` };

function check(is_so: boolean, what: unknown): asserts is_so {
    if (!is_so) throw new Error(JSON.stringify(what));
}

async function useV1(): Promise<void> {
    clientOfV1.setConfig({ baseUrl: `${process.env.RELAYBOARD_URL}/api/v1`, headers, throwOnError: true });
    const written: string[] = [];
    for (let number = 0; number < 3; number++) {
        const body: v1.ContactWrite = { name: `TypeScript v1 ${number}`, urns: [`tel:+25078820100${number}`] };
        const { data: contact } = await v1.writeContact<true>({ body });
        check(contact.modified_on instanceof Date, contact);
        written.push(contact.uuid);
    }
    const found: string[] = [];
    let pages = 0;
    for (let page: string | undefined = "1"; page !== undefined; pages++) {
        const answer: { data: v1.ContactPage } = await v1.listContacts<true>({ query: { page } });
        found.push(...answer.data.results.map((each) => each.uuid));
        page = answer.data.next === null ? undefined : (new URL(answer.data.next).searchParams.get("page") ?? undefined);
    }
    check(pages > 1 && written.every((uuid) => found.includes(uuid)), found);
    console.log(`typescript v1: ${found.length} contacts on ${pages} pages`);
}

async function useV2(): Promise<void> {
    clientOfV2.setConfig({ baseUrl: `${process.env.RELAYBOARD_URL}/api/v2`, headers, throwOnError: true });
    const written: string[] = [];
    for (let number = 0; number < 3; number++) {
        const body: v2.ContactWrite = { name: `TypeScript v2 ${number}`, urns: [`tel:+25078820200${number}`] };
        const { data: contact } = await v2.writeContact<true>({ body });
        check(contact.created_on instanceof Date && contact.status === "active", contact);
        written.push(contact.uuid);
    }
    const found: string[] = [];
    let pages = 0;
    let cursor: string | undefined;
    do {
        const answer: { data: v2.ContactPage } = await v2.listContacts<true>({ query: { cursor } });
        found.push(...answer.data.results.map((each) => each.uuid));
        const next = answer.data.next;
        cursor = next === null ? undefined : (new URL(next).searchParams.get("cursor") ?? undefined);
        pages++;
    } while (cursor !== undefined);
    check(pages > 1 && written.every((uuid) => found.includes(uuid)), found);
    console.log(`typescript v2: ${found.length} contacts on ${pages} pages`);
}

void useV1().then(useV2);
