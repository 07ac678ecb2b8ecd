/** Short lists of named records: labels, topics, groups, fields, globals and saved replies. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Empty, Field, ListEnd } from "../parts/small.js";
import { request } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

/**
 * @typedef {import("../shared/texts.js").Key} Key
 * @typedef {Parameters<typeof may>[0]} Permission
 * @typedef {{name: "labels" | "topics" | "groups" | "fields" | "globals" | "saved_replies", title: Key, list: Permission,
 *   write: Permission, id: "uuid" | "key", more?: "value" | "text", types?: string[], canDelete: boolean,
 *   note: (record: any) => string}} Kind
 */

/** @type {Kind[]} */
export const KINDS = [
  { name: "labels", title: "settings.labels", list: "list_labels", write: "write_label", id: "uuid", canDelete: true, note: ({ count }) => number(count) },
  { name: "topics", title: "settings.topics", list: "list_topics", write: "write_topic", id: "uuid", canDelete: false, note: ({ counts }) => `${t("tickets.open")}: ${number(counts.open)}` },
  { name: "groups", title: "contact.groups", list: "list_groups", write: "write_group", id: "uuid", canDelete: true, note: ({ query, count }) => [query, number(count)].filter(Boolean).join(" · ") },
  { name: "fields", title: "contact.fields", list: "list_fields", write: "write_field", id: "key", types: ["text", "number", "datetime", "state", "district", "ward"], canDelete: true, note: ({ key, type }) => `${key} · ${word("field_type", type)}` },
  { name: "globals", title: "settings.globals", list: "list_globals", write: "write_global", id: "key", more: "value", canDelete: true, note: ({ value }) => value },
  { name: "saved_replies", title: "reply.saved", list: "list_conversations", write: "write_saved_reply", id: "uuid", more: "text", canDelete: true, note: ({ text }) => text },
];

/** @param {{kind: Kind}} props */
export function Records({ kind }) {
  const list = useList(kind.name, {});
  const [edited, setEdited] = useState(/** @type {any} */ (null));
  const path = `v2/${kind.name}.json`;
  const items = /** @type {any[]} */ (list.items);
  const drop = (/** @type {any} */ record) =>
    confirmFirst({
      title: t("settings.delete", { name: record.name }),
      text: t("settings.delete_text"),
      submit: t("act.delete"),
      onYes: async () => (await request("DELETE", path, { query: { [kind.id]: record[kind.id] } }), list.reload()),
    });
  const save = async (/** @type {FormData} */ data) => {
    const body = Object.fromEntries([...data].map(([name, value]) => [name, String(value).trim()]));
    await request("POST", path, { query: edited[kind.id] ? { [kind.id]: edited[kind.id] } : {}, body });
    list.reload();
  };
  const canWrite = may(kind.write);
  return html`
    <section class="card" aria-label=${t(kind.title)}>
      <header class="page-header">
        <h2>${t(kind.title)}</h2><span class="grows"></span>
        ${canWrite && html`<button type="button" class="primary" onClick=${() => setEdited({})}><${Icon} name="plus" size=${18} /> ${t("settings.add")}</button>`}
      </header>
      ${items.length === 0 && !list.loading && html`<${Empty} icon="label" title=${t("settings.none")} />`}
      <ul class="records">
        ${items.map((record) => html`
          <li key=${record[kind.id]}>
            <strong>${record.name}</strong><span class="note" dir="auto">${kind.note(record)}</span>
            ${canWrite && !record.system && html`<button type="button" class="quiet" onClick=${() => setEdited(record)}>${t("act.edit")}</button>`}
            ${canWrite && kind.canDelete && !record.system && html`<button type="button" class="quiet icon-only" aria-label=${t("settings.delete", { name: record.name })} onClick=${() => drop(record)}><${Icon} name="trash" size=${18} /></button>`}
          </li>
        `)}
      </ul>
      <${ListEnd} list=${list} />
      ${edited &&
      html`<${FormDialog} title=${edited.name ?? t("settings.add")} submit=${t("act.save")} onSubmit=${save} onClose=${() => setEdited(null)}>
        <${Field} label=${t("contact.name")} id="record-name"><input id="record-name" name="name" required maxlength="64" defaultValue=${edited.name ?? ""} /><//>
        ${kind.more && html`<${Field} label=${t("settings.text")} id="record-more"><textarea id="record-more" name=${kind.more} rows="3" required defaultValue=${edited[kind.more] ?? ""}></textarea><//>`}
        ${kind.types && html`<${Field} label=${t("channels.type")} id="record-type"><select id="record-type" name="type">
          ${kind.types.map((type) => html`<option key=${type} value=${type} selected=${type === edited.type}>${word("field_type", type)}</option>`)}
        </select><//>`}
      <//>`}
    </section>
  `;
}
