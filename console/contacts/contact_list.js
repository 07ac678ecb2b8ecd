/** The table of contacts, with what can be done with several of them. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { attempt, notify } from "../parts/notices.js";
import { doWithMany } from "../parts/part_by_part.js";
import { Icon } from "../parts/icons.js";
import { Avatar, Badge, Empty, Field, ListEnd } from "../parts/small.js";
import { canName, writeTo, writeToMatching } from "../broadcasts/write_to.js";
import { StartDialog } from "../flows/start_dialog.js";
import { Menu } from "../parts/menu.js";
import { newKey, post } from "../shared/api.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { addressOf, displayName } from "../shared/names.js";
import { takenBack } from "../shared/parts.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fieldText } from "../shared/field_values.js";
import { fullTime, languageName, listTime, number, t, word } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";
import { oneQuery } from "./everyone.js";
import { MergeDialog } from "./merge_dialog.js";

/** @typedef {import("../shared/contract.js").Listed<"contacts">} Contact */
/** @typedef {import("../shared/contract.js").Listed<"groups">} Group */
/** @typedef {"add" | "remove" | "block" | "unblock" | "interrupt" | "archive_messages" | "restore_messages" | "delete"} Action */

/** @typedef {import("../shared/contract.js").Listed<"fields">} FieldRecord */
/** @typedef {{value: number, is_exact: boolean} | null} Total */
/** @typedef {{query?: string, members_of?: string}} Who */

/** What a table can show beside names and addresses; fields have their keys after a colon. */
const OWN_COLUMNS = /** @type {const} */ (["groups", "language", "since", "last_seen"]);
const USUAL = ["groups", "last_seen"];
const KEPT = "contacts.columns";

/** The columns that somebody chose, which outlive the page. @returns {[string[], (columns: string[]) => void]} */
export function useColumns() {
  const [columns, setColumns] = useState(() => loadDraft(KEPT, { columns: USUAL }).columns);
  return [columns, (changed) => (keepDraft(KEPT, { columns: changed }), setColumns(changed))];
}

/** How many there are, as far as they are counted. @param {NonNullable<Total>} total */
export const countText = ({ value, is_exact: isExact }) => (isExact ? number(value) : t("contacts.more_than", { count: number(value) }));

/** Chooses what the table shows. @param {{columns: string[], fields: FieldRecord[], onChange: (columns: string[]) => void}} props */
export function Columns({ columns, fields, onChange }) {
  const known = [...OWN_COLUMNS.map((name) => ({ name: String(name), text: t(`contact.${name}`) })), ...fields.map(({ key, name }) => ({ name: `field:${key}`, text: name }))];
  const toggle = (/** @type {string} */ name) => onChange(known.map((each) => each.name).filter((each) => (each === name) !== columns.includes(each)));
  return html`<${Menu} label=${t("contacts.columns")} icon="choices" items=${known.map(({ name, text }) => ({ id: name, text, several: true, checked: columns.includes(name), onPick: () => toggle(name) }))} />`;
}

/** A cell of a column. @param {string} column @param {Contact} contact @param {FieldRecord[]} fields */
function cellOf(column, contact, fields) {
  if (column === "groups") return contact.groups.length > 0 && html`<span class="tags">${contact.groups.slice(0, 3).map(({ uuid, name }) => html`<span key=${uuid} class="tag">${name}</span>`)}</span>`;
  if (column === "language") return contact.language && languageName(contact.language);
  if (column === "since") return html`<time datetime=${contact.created_on} title=${fullTime(contact.created_on)}>${listTime(contact.created_on)}</time>`;
  if (column === "last_seen") return contact.last_seen_on && html`<time datetime=${contact.last_seen_on} title=${fullTime(contact.last_seen_on)}>${listTime(contact.last_seen_on)}</time>`;
  const known = fields.find(({ key }) => `field:${key}` === column);
  return known && html`<span dir="auto">${fieldText(contact.fields[known.key ?? ""], known.type)}</span>`;
}

/** @param {string} column @param {FieldRecord[]} fields */
const titleOf = (column, fields) => (column.startsWith("field:") ? fields.find(({ key }) => `field:${key}` === column)?.name : t(/** @type {any} */ (`contact.${column}`)));

/** @param {{list: import("../shared/lists.js").List<Contact>, groups: Group[], fields: FieldRecord[], columns: string[], isFiltered: boolean, order: "" | "oldest" | "name" | "name_back",
 *   onSort: (order: "name" | "name_back") => void, total: Total, who: Who, onBegun: (uuid: string) => void}} props */
export function ContactList({ list, groups, fields, columns, isFiltered, order, onSort, total, who, onBegun }) {
  const [everyone, setEveryone] = useState(false);
  const shown = columns.filter((column) => titleOf(column, fields));
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const toggle = (/** @type {string} */ uuid) => {
    const changed = new Set(chosen);
    if (!changed.delete(uuid)) changed.add(uuid);
    setEveryone(false);
    setChosen(changed);
  };
  // Only among what is shown: nobody may delete what they do not see.
  const picked = list.items.filter(({ uuid }) => chosen.has(uuid));
  const all = list.items.every(({ uuid }) => chosen.has(uuid)) && list.items.length > 0;
  if (list.items.length === 0 && !list.loading && !list.problem) {
    return html`<${Empty} icon="contacts" title=${t(isFiltered ? "contacts.none_found" : "contacts.empty")} text=${t(isFiltered ? "contacts.none_found_text" : "contacts.empty_text")}>
      ${!isFiltered && may("list_contact_imports") && html`<a class="button primary" href=${link(["contact_imports"])}>${t("imports.title")}</a>`}<//>`;
  }
  return html`
    ${picked.length > 0 && html`<${Bulk} picked=${picked} groups=${groups} total=${total} who=${everyone ? who : null}
      onEveryone=${(all || everyone) && may("create_contact_job") && total && (total.value > picked.length || !total.is_exact) ? () => setEveryone(!everyone) : null}
      onBegun=${(/** @type {string} */ uuid) => (setChosen(new Set()), setEveryone(false), onBegun(uuid))}
      onDone=${(/** @type {Contact[]} */ left) => (setChosen(new Set(left.map(({ uuid }) => uuid))), list.reload())} />`}
    <div class="table-box" tabindex="0" role="region" aria-label=${t("contacts.title")}>
      <table class="table people">
        <thead>
          <tr>
            ${may("act_on_contacts") && html`<th class="narrow"><input type="checkbox" aria-label=${t("contacts.choose_all")} checked=${all}
              onChange=${() => (setEveryone(false), setChosen(all ? new Set() : new Set(list.items.map(({ uuid }) => uuid))))} /></th>`}
            <th aria-sort=${order === "name" ? "ascending" : order === "name_back" ? "descending" : "none"}>
              <button type="button" class="quiet sorting" title=${t(order === "name" ? "contacts.by_name_back" : "contacts.by_name")}
                onClick=${() => onSort(order === "name" ? "name_back" : "name")}>${t("contact.name")} <${Icon} name="down" size=${14} /></button></th>
            <th>${t("contact.address")}</th>
            ${shown.map((column) => html`<th key=${column}>${titleOf(column, fields)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${list.items.map(
            (contact) => html`
              <tr key=${contact.uuid}>
                ${may("act_on_contacts") && html`<td class="narrow"><input type="checkbox" checked=${chosen.has(contact.uuid)}
                  aria-label=${t("contacts.choose", { name: displayName(contact.name, contact.urns[0]) })} onChange=${() => toggle(contact.uuid)} /></td>`}
                <td>
                  <a class="who" href=${link(["contacts", contact.uuid])}>
                    <${Avatar} name=${contact.name} id=${contact.uuid} />
                    <bdi>${displayName(contact.name, contact.urns[0])}</bdi>
                  </a>
                  ${contact.status !== "active" && html`<${Badge} tone="warn">${word("contact_status", contact.status ?? "")}<//>`}
                </td>
                <td><bdi>${addressOf(contact.urns[0])}</bdi></td>
                ${shown.map((column) => html`<td key=${column} class="more" data-label=${titleOf(column, fields)}>${cellOf(column, contact, fields)}</td>`)}
              </tr>
            `,
          )}
        </tbody>
      </table>
      <${ListEnd} list=${list} />
    </div>
  `;
}

/** What tells itself that it was done, with Undo. @param {Action} action @returns {action is "archive_messages" | "restore_messages"} */
const moves = (action) => action === "archive_messages" || action === "restore_messages";

/** @param {{picked: Contact[], groups: Group[], total: Total, who: Who | null, onEveryone: (() => void) | null, onBegun: (uuid: string) => void, onDone: (left: Contact[]) => void}} props
 * `who` are all that match, instead of those that are picked; `onEveryone` changes between both */
function Bulk({ picked, groups, total, who, onEveryone, onBegun, onDone }) {
  const [asks, setAsks] = useState(/** @type {"" | "add" | "remove" | "merge" | "start"} */ (""));
  const key = useRef(newKey());
  const count = who && total ? countText(total) : number(picked.length);
  const act = (/** @type {string} */ title, /** @type {Action} */ action, /** @type {string} */ group = "") => async () => {
    if (!who && (action === "add" || action === "remove" || moves(action))) {
      const { work, undo } = takenBack(action, group);
      return doWithMany(title, picked, (contacts, key) => work(contacts.map(({ uuid }) => uuid), key), onDone, { said: t("parts.all_done", { count }), undo });
    }
    if (!who) return doWithMany(title, picked, (contacts, key) => post("contact_actions", { contacts: contacts.map(({ uuid }) => uuid), action, ...(group ? { group } : {}) }, undefined, key), onDone);
    const { uuid } = await post("contact_jobs", { action, ...who, ...(group ? { group } : {}) }, undefined, key.current);
    key.current = newKey();
    onBegun(uuid);
    return false;
  };
  const asked = (/** @type {string} */ title, /** @type {Action} */ action) =>
    confirmFirst({ title, text: t("contacts.everyone_text", { count }), submit: title, onYes: act(title, action) });
  const now = (/** @type {string} */ title, /** @type {Action} */ action) =>
    who ? asked(title, action) : attempt(async () => (await act(title, action)()) && !moves(action) && notify(t("contacts.done"), false, undoOf(action)));
  // Only who was blocked is blocked again: a block takes contacts out of their groups.
  const undoOf = (/** @type {Action} */ action) => {
    const contacts = picked.filter(({ blocked }) => blocked).map(({ uuid }) => uuid);
    return action === "unblock" && contacts.length > 0 ? () => post("contact_actions", { contacts, action: "block" }) : undefined;
  };
  const remove = { title: t("contacts.delete_chosen", { count }), text: t("contacts.delete_text"), submit: t("act.delete"), onYes: act(t("act.delete"), "delete") };
  const block = { title: t("contacts.block_chosen", { count }), text: t("contact.block_text"), submit: t("contact.block"), onYes: act(t("contact.block"), "block") };
  const named = picked.map(({ uuid, name, urns }) => ({ uuid, name: displayName(name, urns[0]) }));
  const write = () => (who ? writeToMatching(oneQuery(who, groups)) : writeTo(named));
  const groupTitle = t(asks === "remove" ? "contacts.from_group" : "contacts.to_group");
  const own = groups.filter((group) => !group.query && !group.system);
  const inGroup = (/** @type {FormData} */ data) => act(groupTitle, asks === "remove" ? "remove" : "add", String(data.get("group")))();
  return html`
    <div class="bulk" role="toolbar" aria-label=${t("contacts.chosen", { count })}>
      <strong>${t("contacts.chosen", { count })}</strong>
      ${onEveryone && html`<button type="button" aria-pressed=${who !== null} onClick=${onEveryone}>${t("contacts.choose_everyone", { count: total ? countText(total) : "" })}</button>`}
      ${may("create_broadcast") && html`<button type="button" onClick=${write}>${t("broadcasts.write")}</button>`}
      ${may("create_flow_start") && html`<button type="button" onClick=${() => (who || canName(named)) && setAsks("start")}>${t("flow.start")}</button>`}
      <button type="button" onClick=${() => setAsks("add")}>${t("contacts.to_group")}</button>
      <button type="button" onClick=${() => setAsks("remove")}>${t("contacts.from_group")}</button>
      <button type="button" onClick=${() => confirmFirst(block)}>${t("contact.block")}</button>
      <button type="button" onClick=${() => now(t("contact.unblock"), "unblock")}>${t("contact.unblock")}</button>
      <button type="button" onClick=${() => now(t("flow.interrupt"), "interrupt")}>${t("flow.interrupt")}</button>
      <button type="button" onClick=${() => now(t("contacts.archive_messages"), "archive_messages")}>${t("contacts.archive_messages")}</button>
      <button type="button" onClick=${() => now(t("contacts.restore_messages"), "restore_messages")}>${t("contacts.restore_messages")}</button>
      ${may("merge_contacts") && !who && picked.length === 2 && html`<button type="button" onClick=${() => setAsks("merge")}>${t("contacts.merge_two")}</button>`}
      ${may("delete_contact") && html`<button type="button" class="danger" onClick=${() => confirmFirst(remove)}>${t("act.delete")}</button>`}
    </div>
    ${asks === "start" && html`<${StartDialog} given=${who ? { query: oneQuery(who, groups) } : { contacts: named }} onClose=${() => setAsks("")} />`}
    ${asks === "merge" && html`<${MergeDialog} contacts=${picked} onClose=${() => setAsks("")} onDone=${() => onDone([])} />`}
    ${(asks === "add" || asks === "remove") &&
    html`<${FormDialog} title=${groupTitle} submit=${t("act.save")} disabled=${own.length === 0} onSubmit=${inGroup} onClose=${() => setAsks("")}>
      ${who && html`<p>${t("contacts.everyone_text", { count })}</p>`}
      <${Field} label=${t("contacts.group")} id="bulk-group">
        <select id="bulk-group" name="group" required>
          ${own.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid}>${name}</option>`)}
        </select>
      <//>
    <//>`}
  `;
}
