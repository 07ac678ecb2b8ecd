/** One box that leads everywhere: to pages, contacts, colleagues, flows and messages, by the keyboard alone. */

import { placeOf } from "../inbox/found_messages.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Marked } from "../parts/marked.js";
import { get } from "../shared/api.js";
import { loadAll } from "../shared/lists.js";
import { folded } from "../shared/marked.js";
import { addressOf, displayName } from "../shared/names.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { classes, html, useEffect, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../shared/texts.js").Key} Key */
/** @typedef {{id: string, icon: string, text: string, beside?: string, address: string}} Entry */
/** @typedef {{title: Key, entries: Entry[]}} Part */

const TYPED_MS = 200;
/** Of each kind. */
const MOST = 6;
const LONGEST = 200;

/** @param {string} text @param {string} typed */
const has = (text, typed) => folded(text).includes(folded(typed));

/** @param {{pages: import("./pages.js").Page[], onClose: () => void}} props */
export default function Box({ pages, onClose }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const { parts: found, isBusy } = useFound(typed.trim());
  const pageEntries = pages.filter(({ title }) => has(t(title), typed.trim())).map(({ name, title, icon }) => ({ id: `page-${name}`, icon, text: t(title), address: link([name]) }));
  const parts = /** @type {Part[]} */ ([{ title: "shell.pages", entries: pageEntries }, ...found]).filter(({ entries }) => entries.length > 0);
  const all = parts.flatMap(({ entries }) => entries);
  const present = all[Math.min(at, all.length - 1)];
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [present?.id]);
  const choose = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return;
    onClose();
    location.hash = entry.address;
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 });
    const step = steps[event.key];
    if (event.key === "Enter") choose(present);
    // Browsers would only clear what is typed.
    else if (event.key === "Escape") onClose();
    else if (step && all.length) setAt((Math.min(at, all.length - 1) + step + all.length) % all.length);
    else return;
    event.preventDefault();
  };
  return html`
    <${Dialog} title=${t("palette.title")} onClose=${onClose} wide>
      <div class="search">
        <${Icon} name="search" size=${18} />
        <input type="search" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-activedescendant=${present ? `palette-${present.id}` : undefined}
          aria-label=${t("palette.title")} placeholder=${t("palette.placeholder")} autocomplete="off" spellcheck="false" maxlength=${LONGEST} value=${typed} onKeyDown=${pressed}
          onInput=${(/** @type {any} */ event) => (setTyped(event.target.value), setAt(0))} />
      </div>
      <div class="palette-list" id="palette-list" role="listbox" aria-label=${t("palette.results")} ref=${list}>
        ${parts.map(({ title, entries }) => html`
          <div role="group" key=${title} aria-label=${t(title)}>
            <p class="list-title" aria-hidden="true">${t(title)}</p>
            ${entries.map((entry) => html`<div key=${entry.id} id=${`palette-${entry.id}`} role="option" aria-selected=${entry === present} class=${classes("palette-entry", entry === present && "is-present")}
              onClick=${() => choose(entry)}>
              <${Icon} name=${entry.icon} size=${18} />
              <span class="palette-text"><${Marked} text=${entry.text} search=${typed} /></span>
              ${entry.beside && html`<span class="faint"><bdi>${entry.beside}</bdi></span>`}
            </div>`)}
          </div>`)}
      </div>
      <p class="faint" role="status">${all.length === 0 && !isBusy ? t("inbox.none_found") : ""}</p>
    <//>
  `;
}

/** What the service finds, and the flows and colleagues, which are asked for once. @param {string} typed @returns {{parts: Part[], isBusy: boolean}} */
function useFound(typed) {
  const [flows, setFlows] = useState(/** @type {import("../shared/contract.js").Listed<"flows">[]} */ ([]));
  const [users, setUsers] = useState(/** @type {import("../shared/contract.js").Listed<"users">[]} */ ([]));
  const [state, setState] = useState({ typed: "", parts: /** @type {Part[]} */ ([]) });
  useEffect(() => {
    if (may("list_users")) loadAll("users").then(setUsers, () => {});
    if (may("list_flows")) loadAll("flows").then((all) => setFlows(all.filter(({ archived }) => !archived)), () => {});
  }, []);
  useEffect(() => {
    if (!typed) return;
    const stop = new AbortController();
    const later = setTimeout(async () => {
      const asked = await Promise.all([contactsWith(typed, stop.signal), messagesWith(typed, stop.signal)]);
      if (!stop.signal.aborted) setState({ typed, parts: asked });
    }, TYPED_MS);
    return () => {
      clearTimeout(later);
      stop.abort();
    };
  }, [typed]);
  if (!typed) return { parts: [], isBusy: false };
  const named = flows.filter(({ name }) => has(name, typed)).slice(0, MOST);
  const flowEntries = named.map(({ uuid, name }) => ({ id: `flow-${uuid}`, icon: "flow", text: name, address: link(["flows", uuid]) }));
  const people = users.filter(({ name, email }) => has(`${name} ${email}`, typed)).slice(0, MOST);
  const userEntries = people.map(({ uuid, name, email, role }) => ({ id: `user-${uuid}`, icon: "person", text: name || email, beside: name ? email : "", address: workOf(email, role) }));
  // While the next answer is on its way the last one stays, so that the list does not jump.
  const [contacts, messages] = state.parts;
  return { parts: [...(contacts ? [contacts] : []), { title: "mention.colleagues", entries: userEntries }, { title: "flows.title", entries: flowEntries }, ...(messages ? [messages] : [])], isBusy: state.typed !== typed };
}

/** The tickets of somebody, or who they are if they can have none. @param {string} email @param {string} role */
const workOf = (email, role) => (may("list_tickets") && role !== "viewer" && role !== "surveyor" ? link(["tickets"], { view: email }) : link(["settings", "users"]));

/** @param {string} typed @param {AbortSignal} stop @returns {Promise<Part>} without those that cannot be asked for: a text may be no query */
async function contactsWith(typed, stop) {
  const page = may("list_contacts") ? await get("contacts", { query: typed, page_size: MOST }, stop).catch(() => null) : null;
  const entries = (page?.results ?? []).map(({ uuid, name, urns }) => ({
    id: `contact-${uuid}`, icon: "person", text: displayName(name, urns[0]), beside: name ? addressOf(urns[0]) : "", address: link(["contacts", uuid]),
  }));
  return { title: "contacts.title", entries };
}

/** @param {string} typed @param {AbortSignal} stop @returns {Promise<Part>} */
async function messagesWith(typed, stop) {
  const page = may("list_conversations") ? await get("message_matches", { search: typed, page_size: MOST }, stop).catch(() => null) : null;
  const entries = (page?.results ?? []).map((message) => ({
    id: `message-${message.uuid}`, icon: message.direction === "in" ? "inbox" : "reply", text: message.text, beside: displayName(message.contact?.name, message.urn), address: placeOf(message),
  }));
  return { title: "inbox.found_messages", entries };
}
