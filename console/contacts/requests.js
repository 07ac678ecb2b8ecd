/** What a person asked for by law: a copy of everything that is stored, or that it be erased. For administrators. */

import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { Badge, Field } from "../parts/small.js";
import { get, newKey, post } from "../shared/api.js";
import { useRepeat } from "../shared/repeat.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, size, t, word } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"data_requests">} Request */

/** @type {Record<string, "good" | "bad">} */
const TONES = { completed: "good", failed: "bad" };
const isGoing = (/** @type {Request} */ { status }) => status === "pending" || status === "running";
const same = (/** @type {string} */ one, /** @type {string} */ other) => one.trim().toLowerCase() === other.trim().toLowerCase();

/** @param {{contact: string, name: string, onErased: () => void}} props `name` is what is typed before somebody is erased; empty once the contact is gone */
export function Requests({ contact, name, onErased }) {
  const [requests, setRequests] = useState(/** @type {Request[]} */ ([]));
  const [erasing, setErasing] = useState(false);
  const key = useRef(newKey());
  const erasures = useRef(/** @type {Set<string>} */ (new Set()));
  const show = (/** @type {Request[]} */ found) => {
    setRequests(found);
    const done = found.filter((each) => each.type === "erase" && each.status === "completed" && erasures.current.has(each.uuid));
    for (const { uuid } of done) erasures.current.delete(uuid);
    if (done.length > 0) onErased();
  };
  const load = () => get("data_requests", { contact }).then(({ results }) => show(results), () => {});
  useEffect(() => void load(), [contact]);
  useRepeat(requests.some(isGoing), load);
  const ask = async (/** @type {"copy" | "erase"} */ type) => {
    const made = await post("data_requests", { type, contact }, undefined, key.current);
    key.current = newKey();
    if (type === "erase") erasures.current.add(made.uuid);
    await load();
  };
  return html`
    <section class="card" aria-label=${t("requests.title")}>
      <h2>${t("requests.title")}</h2>
      <ul class="stack">
        ${requests.map((each) => html`<li key=${each.uuid} class="job">
          <strong>${word("request_type", each.type)}</strong>
          <${Badge} tone=${TONES[each.status]}>${word("request_status", each.status)}<//>
          <time class="grows" datetime=${each.created_on} title=${fullTime(each.created_on)}>${listTime(each.created_on)}</time>
          ${each.download_url && html`<a class="button" href=${each.download_url} download=${`contact-${contact}.zip`}><${Icon} name="download" size=${16} /> ${t("exports.download")}${each.size !== null && ` (${size(each.size)})`}</a>`}
          ${each.error && html`<p class="problem">${each.error}</p>`}
        </li>`)}
      </ul>
      ${name && html`<div class="actions">
        <button type="button" onClick=${() => attempt(() => ask("copy"))}>${t("requests.copy")}</button>
        <button type="button" class="danger" onClick=${() => setErasing(true)}>${t("requests.erase")}</button>
      </div>`}
      ${erasing && html`<${Erase} name=${name} onYes=${() => ask("erase")} onClose=${() => setErasing(false)} />`}
    </section>
  `;
}

/** Asks for the name, so that nobody is erased by a slip. @param {{name: string, onYes: () => Promise<unknown>, onClose: () => void}} props */
function Erase({ name, onYes, onClose }) {
  const [typed, setTyped] = useState("");
  return html`
    <${FormDialog} title=${t("requests.erase_ask")} submit=${t("requests.erase")} danger disabled=${!same(typed, name)} onSubmit=${onYes} onClose=${onClose}>
      <p>${t("requests.erase_text")}</p>
      <${Field} label=${t("requests.type_name")} id="erase-name" help=${name}>
        <input id="erase-name" name="name" required autocomplete="off" dir="auto" aria-describedby="erase-name-help" value=${typed}
          onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
      <//>
    <//>
  `;
}

/** Whether somebody may see and make them. */
export const mayRequest = () => may("create_data_request");
