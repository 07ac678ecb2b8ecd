/** Tickets: conversations that wait for a person, by topic and assignee. */

import { Marks } from "../inbox/conversation_list.js";
import { useKeys } from "../inbox/keys.js";
import { Thread } from "../inbox/thread.js";
import { Icon } from "../parts/icons.js";
import { Loaded } from "../parts/loaded.js";
import { ReplyDue } from "../parts/reply_due.js";
import { Rows } from "../parts/rows.js";
import { RowBox, useSelection } from "../parts/selection.js";
import { Avatar, Badge, Empty, ListEnd } from "../parts/small.js";
import { useAddresses } from "../shared/addresses.js";
import { get } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { countText, counts } from "../shared/counts.js";
import { useCached, useList, revalidateOnFocus } from "../shared/lists.js";
import { displayName } from "../shared/names.js";
import { go, link } from "../shared/router.js";
import { account, may } from "../shared/session.js";
import { fullTime, listTime, t } from "../shared/texts.js";
import { classes, html, useEffect, useRef, useState } from "../shared/ui.js";
import { useConversations } from "./conversations.js";

/** @typedef {import("../shared/contract.js").Listed<"tickets">} Ticket */

/** Tickets that are asked for together: some screens full. */
const PAGE = 50;
const loadBulk = () => import("../inbox/bulk.js");
const loadFigures = () => import("./figures.js");

/** @type {[string, import("../shared/texts.js").Key][]} */
const VIEWS = [
  ["", "tickets.open"],
  ["mine", "tickets.mine"],
  ["nobody", "tickets.nobody"],
  ["closed", "tickets.closed"],
  ["overdue", "tickets.overdue"],
];

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Tickets({ place }) {
  return place.parts[0] === "figures" ? html`<${Loaded} load=${loadFigures} query=${place.query} />` : html`<${TicketList} place=${place} />`;
}

/** @param {{place: import("../shared/router.js").Place}} props */
function TicketList({ place }) {
  const { view = "", topic = "" } = place.query;
  const chosen = place.parts[0];
  const topics = useCached("topics");
  const colleagues = useCached(isPerson(view) ? "users" : null);
  const filters = { ...filtersOf(view), topic: topic || undefined };
  const list = useList("tickets", { ...filters, page_size: PAGE });
  const shown = list.items;
  const { overdue } = counts.value;
  const addresses = useAddresses(shown.map(({ contact }) => contact));
  const conversations = useConversations(shown.map(({ contact }) => contact.uuid));
  const listed = shown.find(({ uuid }) => uuid === chosen);
  const [ticket, refreshOpened] = useTicket(chosen, listed, list.loading);
  useChanges(["ticket", "deletion"], (told) => Promise.all([list.refresh(told), refreshOpened()]), (record) => !("deleted_on" in record) || record.uuid === chosen);
  const selection = useSelection(shown.map(({ uuid }) => uuid), may("act_on_tickets"));
  const views = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => views.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [view, colleagues]);
  const lastAt = useRef(0);
  const at = shown.findIndex(({ uuid }) => uuid === chosen);
  if (at >= 0) lastAt.current = at;
  const open = (/** @type {number} */ row) => shown[row] && go(["tickets", shown[row].uuid], place.query);
  useKeys({
    next: () => open(at < 0 ? lastAt.current : at + 1),
    previous: () => open((at < 0 ? lastAt.current : at) - 1),
    back: () => (selection.chosen.size > 0 ? selection.set([]) : chosen && go(["tickets"], place.query)),
  });
  const back = link(["tickets"], place.query);
  return html`
    <main id="main" class=${chosen ? "inbox has-open" : "inbox"} tabindex="-1">
      <section class="side" aria-label=${t("tickets.title")}>
        <header class="side-header">
          <h1>${t("tickets.title")}</h1>
          ${may("read_workspace_figures") && html`<a class="button quiet" href=${link(["tickets", "figures"])}><${Icon} name="chart" size=${18} /> ${t("tickets.figures")}</a>`}
          <select aria-label=${t("tickets.topic")} ...${revalidateOnFocus("topics")} onChange=${(/** @type {any} */ event) => go(["tickets"], { view, topic: event.target.value })}>
            <option value="">${t("tickets.every_topic")}</option>
            ${topics.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === topic}>${name}</option>`)}
          </select>
          <nav class="views" ref=${views} aria-label=${t("tickets.views")}>
            ${VIEWS.filter(([name]) => name !== "overdue" || view === name || overdue.value > 0).map(([name, text]) => html`<a key=${name} href=${link(["tickets"], { view: name, topic })} aria-current=${name === view ? "true" : undefined}>
              ${t(text)}${name === "overdue" && overdue.value > 0 && html` <span class="count is-late">${countText(overdue)}</span>`}</a>`)}
            ${isPerson(view) && html`<a href=${link(["tickets"], { view, topic })} aria-current="true"><bdi>${colleagues.find(({ email }) => email === view)?.name || view}</bdi></a>`}
          </nav>
        </header>
        ${selection.chosen.size > 0 && html`<${Loaded} load=${loadBulk} isPart filters=${filters} several=${severalOf} hasMore=${list.hasMore} isTickets isClosed=${view === "closed"} selection=${selection}
          picked=${shown.filter(({ uuid }) => selection.chosen.has(uuid)).map((each) => severalOf(each, conversations.get(each.contact.uuid)))} />`}
        <div class="side-list">
          ${shown.length === 0 && !list.loading && !list.hasMore && !list.problem && html`<${Empty} icon="ticket" title=${t("tickets.empty")} text=${t("tickets.empty_text")}>
            ${may("write_definitions") && html`<a class="button" href=${link(["flows", "templates", "help"])}>${t("templates.from")}</a>`}<//>`}
          <${Rows} items=${shown} idOf=${(/** @type {Ticket} */ { uuid }) => uuid} chosen=${chosen} hasMore=${list.hasMore} onKeyDown=${selection.press}
            shows=${[chosen, place.query, addresses, conversations, [...selection.chosen].join()]}
            draw=${(/** @type {Ticket} */ each) =>
              html`<${Row} ticket=${each} urn=${addresses.get(each.contact.uuid)} conversation=${conversations.get(each.contact.uuid)} isChosen=${each.uuid === chosen} query=${place.query} isPicked=${may("act_on_tickets") ? selection.chosen.has(each.uuid) : undefined} onToggle=${selection.toggle} />`} />
          <${ListEnd} list=${list} />
        </div>
      </section>
      ${ticket
        ? html`<${Thread} key=${ticket.contact.uuid} contact=${ticket.contact.uuid} ticket=${ticket.uuid} back=${back} />`
        : html`<section class="thread none"><${Empty} icon="ticket" title=${t("tickets.choose")} text=${t("tickets.choose_text")} /></section>`}
    </main>
  `;
}

/** Whether a view is that of somebody's tickets, by their address. @param {string} view */
const isPerson = (view) => view.includes("@");

/** The filters of a view; without `overdue` it does not matter. @param {string} view */
function filtersOf(view) {
  const assignee = view === "mine" ? account.value?.user.email : view === "nobody" || isPerson(view) ? view : undefined;
  return { status: view === "closed" ? "closed" : "open", assignee, overdue: view === "overdue" || undefined };
}

/**
 * The ticket that is open, also when it is in no list any more, such as after closing it: then it is asked for.
 * @param {string | undefined} uuid
 * @param {Ticket | undefined} listed the same in the list
 * @param {boolean} isLoading whether the list may have it yet
 * @returns {[Ticket | undefined, () => Promise<void>]} and what renews it
 */
function useTicket(uuid, listed, isLoading) {
  const [ticket, setTicket] = useState(/** @type {Ticket | undefined} */ (undefined));
  const load = async () => {
    if (uuid && !listed) await get("tickets", { uuid }).then((page) => setTicket(page.results[0]), () => {});
  };
  const isWanted = !listed && !isLoading;
  useEffect(() => void (isWanted && load()), [uuid, isWanted]);
  useEffect(() => {
    if (listed) setTicket(listed);
  }, [listed]);
  return [listed ?? (ticket?.uuid === uuid ? ticket : undefined), load];
}

/** @param {Ticket} ticket @param {import("../inbox/conversation_list.js").Conversation | null} [conversation] @returns {import("../inbox/bulk.js").Several} */
function severalOf({ uuid, contact, assignee }, conversation) {
  const { unread_count: unread = 0, snoozed_until: until = null } = conversation ?? {};
  return { uuid, name: contact.name, urns: [], contact: contact.uuid, ticket: uuid, assignee: assignee?.email ?? null, unread, until };
}

/** @param {{ticket: Ticket, urn?: string, conversation?: import("../inbox/conversation_list.js").Conversation | null, isChosen: boolean, query: Record<string, string>, isPicked: boolean | undefined,
 *   onToggle: (uuid: string, isRange: boolean) => void}} props without `isPicked` nothing can be chosen */
function Row({ ticket, urn, conversation, isChosen, query, isPicked, onToggle }) {
  const name = displayName(ticket.contact.name, urn);
  const unread = conversation?.unread_count ?? 0;
  const pick = (/** @type {MouseEvent} */ event) => event.shiftKey && isPicked !== undefined && (event.preventDefault(), onToggle(ticket.uuid, true));
  return html`
    ${isPicked !== undefined && html`<${RowBox} name=${name} isChosen=${isPicked} onToggle=${(/** @type {boolean} */ isRange) => onToggle(ticket.uuid, isRange)} />`}
    <a class=${classes("conversation", unread > 0 && "unread", isPicked && "is-picked")} href=${link(["tickets", ticket.uuid], query)} aria-current=${isChosen ? "true" : undefined} tabindex="-1" onClick=${pick}>
      <${Avatar} name=${ticket.contact.name} id=${ticket.contact.uuid} />
      <span class="conversation-text">
        <span class="conversation-top">
          <strong><bdi>${name}</bdi></strong>
          ${unread > 0 && html`<span class="count"><span class="hidden">${t("inbox.unread")} </span>${unread}</span>`}
        </span>
        <span class="conversation-last">
          <span class="preview"><${Badge}>${ticket.topic.name}<//></span>
          <span class="preview">${ticket.assignee ? html`<${Icon} name="person" size=${13} /> <bdi>${ticket.assignee.name || ticket.assignee.email}</bdi>` : t("tickets.nobody")}</span>
        </span>
        <span class="ticket-times">
          <${ReplyDue} due=${ticket.reply_due} />
          <time datetime=${ticket.modified_on} title=${fullTime(ticket.modified_on)}>${t("tickets.changed_on", { time: listTime(ticket.modified_on) })}</time>
          <time datetime=${ticket.opened_on} title=${fullTime(ticket.opened_on)}>${t("tickets.opened_on", { time: listTime(ticket.opened_on) })}</time>
        </span>
        <${Marks} ...${conversation} contact=${ticket.contact} />
      </span>
    </a>
  `;
}
