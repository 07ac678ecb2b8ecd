/** Short lists of named records: labels, topics, groups, fields, opt-ins, globals and saved replies. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { Empty, Field, ListEnd } from "../parts/small.js";
import { findUsages, UsagesDialog } from "../parts/usages.js";
import { request } from "../shared/api.js";
import { useAll, useList, withChosen } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { useReturn } from "./returning.js";

/**
 * @typedef {import("../shared/texts.js").Key} Key
 * @typedef {Parameters<typeof may>[0]} Permission
 * @typedef {{name: "labels" | "topics" | "groups" | "fields" | "globals" | "saved_replies" | "optins", title: Key, help: Key,
 *   list: Permission, write: Permission, id: "uuid" | "key", icon: string, longest: number, more?: "value" | "text",
 *   types?: string[], access?: string[], query?: boolean, deeds?: boolean, usedAs?: (record: any) => string, note: (record: any) => string}} Kind
 */

/** @type {Kind[]} */
export const KINDS = [
  { name: "labels", title: "settings.labels", help: "settings.labels_help", icon: "label", list: "list_labels", write: "write_label", id: "uuid", longest: 64, usedAs: ({ uuid }) => uuid, note: ({ count }) => number(count) },
  { name: "topics", title: "settings.topics", help: "settings.topics_help", icon: "ticket", list: "list_topics", write: "write_topic", id: "uuid", longest: 64, usedAs: ({ uuid }) => uuid, note: ({ counts }) => `${t("tickets.open")}: ${number(counts.open)}` },
  { name: "groups", title: "contact.groups", help: "settings.groups_help", icon: "contacts", list: "list_groups", write: "write_group", id: "uuid", longest: 64, query: true, usedAs: ({ uuid }) => uuid, note: ({ query, count }) => [query, number(count)].filter(Boolean).join(" · ") },
  { name: "fields", title: "contact.fields", help: "settings.fields_help", icon: "person", list: "list_fields", write: "write_field", id: "key", longest: 36, types: ["text", "number", "datetime", "state", "district", "ward"], access: ["view", "edit", "none"], usedAs: ({ key }) => `fields.${key}`,
    note: ({ key, type, agent_access }) => [key, word("field_type", type), word("agent_access", agent_access)].join(" · ") },
  { name: "optins", title: "settings.optins", help: "settings.optins_help", icon: "check", list: "list_optins", write: "create_optin", id: "uuid", longest: 64, note: ({ created_on }) => listTime(created_on) },
  { name: "saved_replies", title: "reply.saved", help: "settings.saved_replies_help", icon: "reply", list: "list_conversations", write: "write_saved_reply", id: "uuid", longest: 64, more: "text", deeds: true, note: ({ text, label, closes_ticket }) => [text, label?.name, closes_ticket && t("reply.then_close")].filter(Boolean).join(" · ") },
  { name: "globals", title: "settings.globals", help: "settings.globals_help", icon: "flow", list: "list_globals", write: "write_global", id: "key", longest: 36, more: "value", usedAs: ({ key }) => `globals.${key}`, note: ({ key, value }) => `@globals.${key} · ${value}` },
];

/** @param {{kind: Kind}} props */
export function Records({ kind }) {
  const list = useList(kind.name, {});
  const [edited, setEdited] = useState(/** @type {any} */ (null));
  const [used, setUsed] = useState(/** @type {{name: string, usages: import("../parts/usages.js").Usage[]} | null} */ (null));
  useReturn(list.refresh);
  const path = `v2/${kind.name}.json`;
  const items = /** @type {any[]} */ (list.items);
  const askToDrop = (/** @type {any} */ record) =>
    attempt(async () => {
      const usages = kind.usedAs ? (await findUsages(kind.usedAs(record))).filter(({ archived }) => !archived) : [];
      if (usages.length > 0) setUsed({ name: record.name, usages });
      else drop(record);
    });
  const drop = (/** @type {any} */ record) =>
    confirmFirst({
      title: t("settings.delete", { name: record.name }),
      text: t("settings.delete_text"),
      submit: t("act.delete"),
      onYes: async () => (await request("DELETE", path, { query: { [kind.id]: record[kind.id] } }), list.reload()),
    });
  const save = async (/** @type {FormData} */ data) => {
    const given = [...data].map(([name, value]) => [name, String(value).trim()]);
    const body = Object.fromEntries(given.filter(([name, value]) => value || name !== "query"));
    if (kind.deeds) Object.assign(body, { label: body.label || null, closes_ticket: body.closes_ticket === "yes" });
    await request("POST", path, { query: edited[kind.id] ? { [kind.id]: edited[kind.id] } : {}, body });
    list.reload();
  };
  const canWrite = may(kind.write);
  const isEmpty = items.length === 0 && !list.loading && !list.problem;
  const add = canWrite && html`<button type="button" class="primary" onClick=${() => setEdited({})}><${Icon} name="plus" size=${18} /> ${t("settings.add")}</button>`;
  return html`
    <section class="card" aria-label=${t(kind.title)}>
      <header class="page-header"><h2>${t(kind.title)}</h2><span class="grows"></span>${!isEmpty && add}</header>
      ${isEmpty ? html`<${Empty} icon=${kind.icon} title=${t("settings.none")} text=${t(kind.help)}>${add}<//>` : html`<p class="help">${t(kind.help)}</p>`}
      <ul class="records">
        ${items.map((record) => html`
          <li key=${record[kind.id]}>
            <strong><bdi>${record.name}</bdi></strong><span class="note" dir="auto">${kind.note(record)}</span>
            ${canWrite && !record.system && html`<button type="button" class="quiet" aria-label=${t("settings.edit_name", { name: record.name })} onClick=${() => setEdited(record)}>${t("act.edit")}</button>`}
            ${canWrite && !record.system && html`<button type="button" class="quiet icon-only" aria-label=${t("settings.delete", { name: record.name })} onClick=${() => askToDrop(record)}><${Icon} name="trash" size=${18} /></button>`}
            ${record.error && html`<p class="problem" dir="auto">${record.error}</p>`}
          </li>
        `)}
      </ul>
      <${ListEnd} list=${list} />
      ${edited && html`<${RecordDialog} kind=${kind} record=${edited} onSubmit=${save} onClose=${() => setEdited(null)} />`}
      ${used && html`<${UsagesDialog} name=${used.name} usages=${used.usages} onClose=${() => setUsed(null)} />`}
    </section>
  `;
}

/** @param {{kind: Kind, record: any, onSubmit: (data: FormData) => Promise<unknown>, onClose: () => void}} props */
const RecordDialog = ({ kind, record, onSubmit, onClose }) => html`
  <${FormDialog} title=${record.name ?? t("settings.add")} submit=${t("act.save")} draft=${`settings.${kind.name}.${record[kind.id] ?? ""}`} onSubmit=${onSubmit} onClose=${onClose}>
    <${Field} label=${t("contact.name")} id="record-name"><input id="record-name" name="name" required maxlength=${kind.longest} defaultValue=${record.name ?? ""} /><//>
    ${kind.more && html`<${Field} label=${t("settings.text")} id="record-more"><textarea id="record-more" name=${kind.more} rows="3" required defaultValue=${record[kind.more] ?? ""}></textarea><//>`}
    ${kind.query && (!record.uuid || record.query) && html`<${Field} label=${t("settings.group_query")} id="record-query" help=${t("settings.group_query_help")}>
      <input id="record-query" name="query" maxlength="1000" dir="ltr" autocapitalize="off" spellcheck="false" required=${!!record.query} defaultValue=${record.query ?? ""} aria-describedby="record-query-help" /><//>`}
    ${kind.deeds && html`<${Deeds} record=${record} />`}
    ${kind.types && html`<${Choice} label=${t("channels.type")} name="type" family="field_type" words=${kind.types} chosen=${record.type} />`}
    ${kind.access && html`<${Choice} label=${t("settings.agent_access")} name="agent_access" family="agent_access" words=${kind.access} chosen=${record.agent_access} />`}
  <//>
`;

/** What is done when a saved reply is sent. Its label stays for those who may not list labels. @param {{record: any}} props */
function Deeds({ record }) {
  const labels = withChosen(useAll(may("list_labels") ? "labels" : null), [record.label]);
  return html`
    <${Field} label=${t("settings.reply_label")} id="record-label"><select id="record-label" name="label">
      <option value="">${t("settings.reply_no_label")}</option>
      ${labels.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === record.label?.uuid}>${name}</option>`)}
    </select><//>
    <${Field} label=${t("settings.reply_closes")} id="record-closes"><select id="record-closes" name="closes_ticket">
      <option value="">${t("settings.reply_stays_open")}</option>
      <option value="yes" selected=${!!record.closes_ticket}>${t("settings.reply_is_closed")}</option>
    </select><//>
  `;
}

/** @param {{label: string, name: string, family: string, words: string[], chosen: string | undefined}} props */
const Choice = ({ label, name, family, words, chosen }) => html`
  <${Field} label=${label} id=${`record-${name}`}><select id=${`record-${name}`} name=${name}>
    ${words.map((each) => html`<option key=${each} value=${each} selected=${each === chosen}>${word(family, each)}</option>`)}
  </select><//>
`;
