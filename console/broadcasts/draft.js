/** What is written of a message to many before it is sent. */

import { NO_TEMPLATE } from "../parts/template_fields.js";
import { displayName } from "../shared/names.js";
import { t } from "../shared/texts.js";
import { toLocal, toMoment } from "../shared/zone_time.js";
import { ONCE, readRepeat, toTimes } from "./repeat.js";

/**
 * @typedef {{uuid: string, name: string}} Named
 * @typedef {{texts: Record<string, string>, groups: string[], contacts: Named[], query: string, files: Named[], when: string, made: import("../parts/template_fields.js").Chosen, repeat: import("./repeat.js").Repeat, urns: string[], otherFiles: Record<string, string[]>}} Draft
 *   `urns` and `otherFiles`, by language, were given by the API and stay
 */

/** @type {Draft} */
export const NOTHING = { texts: {}, groups: [], contacts: [], query: "", files: [], when: "", made: NO_TEMPLATE, repeat: ONCE, urns: [], otherFiles: {} };
/** The name under which it is kept. */
export const DRAFT = "broadcast.form";

/** The request that stores what is written, now or later. @param {Draft} draft @param {string} base */
export const toBody = ({ texts, groups, contacts, query, files, made, when, repeat, otherFiles }, base) => ({
  text: Object.fromEntries(Object.entries(texts).filter(([, written]) => written.trim())),
  base_language: base,
  groups,
  contacts: contacts.map(({ uuid }) => uuid),
  query: query.trim() || null,
  template: made.template || null,
  template_variables: made.template ? made.variables.map((value) => value.trim()) : [],
  attachments: { ...otherFiles, ...(files.length ? { [base]: files.map(({ uuid }) => uuid) } : {}) },
  scheduled_on: toMoment(when) ?? null,
  ...toTimes(repeat, when),
});

/** Whether there is somebody to whom it goes. @param {Draft} draft */
export const hasAudience = ({ groups, contacts, query, urns }) => groups.length > 0 || contacts.length > 0 || urns.length > 0 || !!query.trim();

/**
 * What was written of a broadcast that has not begun.
 * @param {import("./page.js").Broadcast} broadcast
 * @param {string | null} query
 * @returns {Draft}
 */
export function readBroadcast(broadcast, query) {
  const base = broadcast.base_language ?? "";
  const { [base]: files = [], ...others } = broadcast.attachments ?? {};
  return {
    texts: broadcast.text,
    groups: broadcast.groups.map(({ uuid }) => uuid),
    contacts: broadcast.contacts.map(({ uuid, name }) => ({ uuid, name: displayName(name, undefined) })),
    query: query ?? "",
    files: files.map((uuid, at) => ({ uuid, name: t("broadcasts.file", { number: at + 1 }) })),
    when: broadcast.scheduled_on ? toLocal(Date.parse(broadcast.scheduled_on)) : "",
    made: broadcast.template ? { template: broadcast.template.uuid, variables: broadcast.template.variables } : NO_TEMPLATE,
    repeat: readRepeat(broadcast),
    urns: broadcast.urns,
    otherFiles: Object.fromEntries(Object.entries(others).filter(([, uuids]) => uuids.length > 0)),
  };
}
