/** The table of contacts, with what can be done with several of them. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { attempt, notify } from "../parts/notices.js";
import { doWithMany } from "../parts/part_by_part.js";
import { Avatar, Badge, Empty, Field, ListEnd } from "../parts/small.js";
import { writeTo } from "../broadcasts/write_to.js";
import { post } from "../shared/api.js";
import { addressOf, displayName } from "../shared/names.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { MergeDialog } from "./merge_dialog.js";

/** @typedef {import("../shared/contract.js").Listed<"contacts">} Contact */
/** @typedef {import("../shared/contract.js").Listed<"groups">} Group */
/** @typedef {"add" | "remove" | "block" | "unblock" | "interrupt" | "archive_messages" | "delete"} Action */

/** @param {{list: import("../shared/lists.js").List<Contact>, groups: Group[], isFiltered: boolean}} props */
export function ContactList({ list, groups, isFiltered }) {
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const toggle = (/** @type {string} */ uuid) => {
    const changed = new Set(chosen);
    if (!changed.delete(uuid)) changed.add(uuid);
    setChosen(changed);
  };
  // Only among what is shown: nobody may delete what they do not see.
  const picked = list.items.filter(({ uuid }) => chosen.has(uuid));
  const all = list.items.every(({ uuid }) => chosen.has(uuid)) && list.items.length > 0;
  if (list.items.length === 0 && !list.loading && !list.problem) {
    return html`<${Empty} icon="contacts" title=${t(isFiltered ? "contacts.none_found" : "contacts.empty")} text=${t(isFiltered ? "contacts.none_found_text" : "contacts.empty_text")} />`;
  }
  return html`
    ${picked.length > 0 && html`<${Bulk} picked=${picked} groups=${groups} onDone=${(/** @type {Contact[]} */ left) => (setChosen(new Set(left.map(({ uuid }) => uuid))), list.reload())} />`}
    <div class="table-box" tabindex="0" role="region" aria-label=${t("contacts.title")}>
      <table class="table">
        <thead>
          <tr>
            ${may("act_on_contacts") && html`<th class="narrow"><input type="checkbox" aria-label=${t("contacts.choose_all")} checked=${all}
              onChange=${() => setChosen(all ? new Set() : new Set(list.items.map(({ uuid }) => uuid)))} /></th>`}
            <th>${t("contact.name")}</th>
            <th>${t("contact.address")}</th>
            <th class="wide-only">${t("contact.groups")}</th>
            <th>${t("contact.last_seen")}</th>
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
                <td class="wide-only"><span class="tags">${contact.groups.slice(0, 3).map(({ uuid, name }) => html`<span key=${uuid} class="tag">${name}</span>`)}</span></td>
                <td>${contact.last_seen_on && html`<time datetime=${contact.last_seen_on} title=${fullTime(contact.last_seen_on)}>${listTime(contact.last_seen_on)}</time>`}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
      <${ListEnd} list=${list} />
    </div>
  `;
}

/** @param {{picked: Contact[], groups: Group[], onDone: (left: Contact[]) => void}} props */
function Bulk({ picked, groups, onDone }) {
  const [asks, setAsks] = useState(/** @type {"" | "add" | "remove" | "merge"} */ (""));
  const count = number(picked.length);
  const act = (/** @type {string} */ title, /** @type {Action} */ action, /** @type {string} */ group = "") => () =>
    doWithMany(title, picked, (contacts, key) => post("contact_actions", { contacts: contacts.map(({ uuid }) => uuid), action, ...(group ? { group } : {}) }, undefined, key), onDone);
  const now = (/** @type {() => Promise<boolean>} */ work) => attempt(async () => (await work()) && notify(t("contacts.done")));
  const remove = { title: t("contacts.delete_chosen", { count }), text: t("contacts.delete_text"), submit: t("act.delete"), onYes: act(t("act.delete"), "delete") };
  const block = { title: t("contacts.block_chosen", { count }), text: t("contact.block_text"), submit: t("contact.block"), onYes: act(t("contact.block"), "block") };
  const write = () => writeTo(picked.map(({ uuid, name, urns }) => ({ uuid, name: displayName(name, urns[0]) })));
  const groupTitle = t(asks === "remove" ? "contacts.from_group" : "contacts.to_group");
  const inGroup = (/** @type {FormData} */ data) => act(groupTitle, asks === "remove" ? "remove" : "add", String(data.get("group")))();
  return html`
    <div class="bulk" role="toolbar" aria-label=${t("contacts.chosen", { count })}>
      <strong>${t("contacts.chosen", { count })}</strong>
      ${may("create_broadcast") && html`<button type="button" onClick=${write}>${t("broadcasts.write")}</button>`}
      <button type="button" onClick=${() => setAsks("add")}>${t("contacts.to_group")}</button>
      <button type="button" onClick=${() => setAsks("remove")}>${t("contacts.from_group")}</button>
      <button type="button" onClick=${() => confirmFirst(block)}>${t("contact.block")}</button>
      <button type="button" onClick=${() => now(act(t("contact.unblock"), "unblock"))}>${t("contact.unblock")}</button>
      <button type="button" onClick=${() => now(act(t("flow.interrupt"), "interrupt"))}>${t("flow.interrupt")}</button>
      <button type="button" onClick=${() => now(act(t("contacts.archive_messages"), "archive_messages"))}>${t("contacts.archive_messages")}</button>
      ${may("merge_contacts") && picked.length === 2 && html`<button type="button" onClick=${() => setAsks("merge")}>${t("contacts.merge_two")}</button>`}
      ${may("delete_contact") && html`<button type="button" class="danger" onClick=${() => confirmFirst(remove)}>${t("act.delete")}</button>`}
    </div>
    ${asks === "merge" && html`<${MergeDialog} contacts=${picked} onClose=${() => setAsks("")} onDone=${() => onDone([])} />`}
    ${(asks === "add" || asks === "remove") &&
    html`<${FormDialog} title=${groupTitle} submit=${t("act.save")} onSubmit=${inGroup} onClose=${() => setAsks("")}>
      <${Field} label=${t("contacts.group")} id="bulk-group">
        <select id="bulk-group" name="group" required>
          ${groups.filter((group) => !group.query && !group.system).map(({ uuid, name }) => html`<option key=${uuid} value=${uuid}>${name}</option>`)}
        </select>
      <//>
    <//>`}
  `;
}
