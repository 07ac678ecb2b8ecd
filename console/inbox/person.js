/** The column beside a conversation: its ticket, who the contact is, notes and what else happened. */

import { ContactDialog } from "../contacts/contact_dialog.js";
import { NoteForm } from "../contacts/note_form.js";
import { Icon } from "../parts/icons.js";
import { Badge, Waiting } from "../parts/small.js";
import { get } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { fieldText } from "../shared/field_values.js";
import { cachedItems, useAll, useCached } from "../shared/lists.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, languageName, listTime, t, word } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { addressOf, displayName } from "../shared/names.js";
import TicketSection from "../tickets/ticket_section.js";
import { iconOf, textOf, whoIs } from "./event_line.js";

/** @typedef {import("../shared/contract.js").Listed<"contact_notes">} Note */

/** So many of the newest are shown; the page of the contact has all. */
const SHOWN_NOTES = 5;
const SHOWN_EVENTS = 8;

/**
 * @param {{contact: import("./thread.js").Contact | undefined, uuid: string, items: import("./thread_data.js").Item[], tickets: import("./tickets.js").Tickets,
 *   isDrawer: boolean, onChange: () => void, onNote: () => Promise<void>, onClose: () => void}} props one that `isDrawer` lies over the conversation
 */
export default function Person({ contact, uuid, items, tickets, isDrawer, onChange, onNote, onClose }) {
  const closer = useRef(/** @type {HTMLButtonElement | null} */ (null));
  useEffect(() => void (isDrawer && closer.current?.focus()), [isDrawer]);
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (!isDrawer || event.key !== "Escape" || /** @type {Element} */ (event.target).closest("dialog")) return;
    event.stopPropagation();
    onClose();
  };
  const events = items.filter(({ message, note }) => !message && !note).slice(-SHOWN_EVENTS).reverse();
  return html`
    <aside class="person-panel" aria-label=${t("contact.details")} onKeyDown=${pressed}>
      ${isDrawer && html`<button ref=${closer} type="button" class="quiet panel-back" onClick=${onClose}><${Icon} name="back" size=${18} /> ${t("act.back")}</button>`}
      ${may("list_tickets") && html`<${TicketSection} contact=${uuid} tickets=${tickets} />`}
      ${contact ? html`<${Facts} contact=${contact} onChange=${onChange} />` : html`<${Waiting} />`}
      <${Notes} contact=${uuid} onNote=${onNote} />
      ${events.length > 0 && html`
        <section>
          <h3>${t("contact.history")}</h3>
          <ol class="panel-lines">
            ${events.map((item) => html`<li><${Icon} name=${iconOf(item)} size=${14} /><span dir="auto">${textOf(item)}</span> <time datetime=${item.time} title=${fullTime(item.time)}>${listTime(item.time)}</time></li>`)}
          </ol>
        </section>`}
    </aside>
  `;
}

/** @param {{contact: import("./thread.js").Contact, onChange: () => void}} props */
function Facts({ contact, onChange }) {
  const [editing, setEditing] = useState(false);
  const groups = useAll(editing ? "groups" : null);
  // A contact has the keys of all that there are: one that is not known tells of a new field.
  const known = new Set(cachedItems("fields").map(({ key }) => key));
  const unknown = Object.keys(contact.fields).filter((key) => !known.has(key)).join();
  const fields = useCached("fields", unknown || undefined).filter(({ key }) => contact.fields[key ?? ""]);
  return html`
    <section>
      <header>
        <h2><bdi>${displayName(contact.name, contact.urns[0])}</bdi></h2>
        ${may("write_contact") && html`<button type="button" onClick=${() => setEditing(true)}>${t("act.edit")}</button>`}
      </header>
      ${contact.status !== "active" && html`<p><${Badge} tone="warn">${word("contact_status", contact.status ?? "")}<//></p>`}
      ${contact.answers_stopped_on && html`<p><${Badge} tone="bad">${t("contact.answers_stopped")}<//></p>`}
      <dl class="facts">
        ${contact.urns.map((urn) => html`<div><dt>${word("scheme", urn.split(":")[0])}</dt><dd><bdi>${addressOf(urn)}</bdi></dd></div>`)}
        ${contact.language && html`<div><dt>${t("contact.language")}</dt><dd>${languageName(contact.language)}</dd></div>`}
        ${contact.last_seen_on && html`<div><dt>${t("contact.last_seen")}</dt><dd title=${fullTime(contact.last_seen_on)}>${listTime(contact.last_seen_on)}</dd></div>`}
        <div><dt>${t("contact.since")}</dt><dd>${listTime(contact.created_on)}</dd></div>
        ${fields.map(({ key, name, type }) => html`<div><dt>${name}</dt><dd dir="auto">${fieldText(contact.fields[key ?? ""], type)}</dd></div>`)}
      </dl>
      ${contact.groups.length > 0 && html`<h4>${t("contact.groups")}</h4><p class="tags">${contact.groups.map(({ uuid, name }) => html`<span key=${uuid} class="tag">${name}</span>`)}</p>`}
      <p><a href=${link(["contacts", contact.uuid])}>${t("contact.page")}</a></p>
      ${editing && html`<${ContactDialog} contact=${contact} groups=${groups} onClose=${() => setEditing(false)} onDone=${onChange} />`}
    </section>
  `;
}

/** @param {{contact: string, onNote: () => Promise<void>}} props */
function Notes({ contact, onNote }) {
  const [notes, setNotes] = useState(/** @type {Note[]} */ ([]));
  // Without an answer the conversation has them all the same.
  const load = useInTurn(() => get("contact_notes", { contact, page_size: SHOWN_NOTES }).then(({ results }) => setNotes(results), () => {}));
  useEffect(() => void load(), [contact]);
  useChanges(["conversation"], load, (record) => record.uuid === contact);
  return html`
    <section>
      <h3>${t("contact.notes")}</h3>
      <${NoteForm} contact=${contact} onWritten=${() => Promise.all([load(), onNote()])} />
      <ol class="panel-notes">
        ${notes.map(({ uuid, user, text, created_on: time }) => html`<li key=${uuid}><p dir="auto">${text}</p>
          <small><bdi>${whoIs(user)}</bdi> <time datetime=${time} title=${fullTime(time)}>${listTime(time)}</time></small></li>`)}
      </ol>
    </section>
  `;
}
