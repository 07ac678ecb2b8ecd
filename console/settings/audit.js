/** The audit log: who changed what, when, and how it was before. */

import { Icon } from "../parts/icons.js";
import { Badge, Empty, Field, ListEnd } from "../parts/small.js";
import { useList } from "../shared/lists.js";
import { go, place } from "../shared/router.js";
import { fullTime, shortTime, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { useReturn } from "./returning.js";

/** @typedef {import("../shared/contract.js").Listed<"audit_events">} Event */

const RESOURCES = [
  "users", "account", "sessions", "tokens", "invitations", "workspace", "channels", "webhook_receivers", "flows", "triggers", "campaigns", "campaign_events",
  "contacts", "contact_imports", "contact_jobs", "exports", "data_requests", "broadcasts", "flow_starts", "messages", "media", "groups", "fields", "labels", "topics", "teams", "globals", "optins", "resthooks", "resthook_subscribers", "classifiers", "ticketers",
  "templates",
];
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const ACTIONS = ["created", "changed", "deleted", "merged", "read", "failed"];
/** @type {Record<string, "good" | "bad" | "calm">} */
const TONES = { created: "good", deleted: "bad", failed: "bad" };

export function AuditLog() {
  const { resource = "", action = "", user = "", record = "" } = place.value.query;
  const list = useList("audit_events", { resource, action, user, record: record || undefined });
  useReturn(list.refresh);
  const choose = (/** @type {Event & any} */ event) => {
    const form = /** @type {HTMLFormElement} */ (event.target.form ?? event.target);
    const data = new FormData(form);
    const given = (/** @type {string} */ name) => String(data.get(name) ?? "").trim();
    go(["settings", "audit"], { resource: given("resource"), action: given("action"), user: given("user") });
  };
  const send = (/** @type {SubmitEvent} */ event) => (event.preventDefault(), choose(/** @type {any} */ (event)));
  const options = (/** @type {string[]} */ words, /** @type {string} */ family, /** @type {string} */ chosen) => html`
    <option value="">${t("settings.all")}</option>
    ${words.map((each) => html`<option key=${each} value=${each} selected=${each === chosen}>${word(family, each)}</option>`)}`;
  const isFiltered = !!(resource || action || user || record);
  return html`
    <section class="card" aria-label=${t("settings.audit")}>
      <h2>${t("settings.audit")}</h2>
      <form class="form-grid audit-filters" role="search" onSubmit=${send}>
        <${Field} label=${t("settings.what")} id="audit-resource"><select id="audit-resource" name="resource" onChange=${choose}>${options(RESOURCES, "resource", resource)}</select><//>
        <${Field} label=${t("settings.change")} id="audit-action"><select id="audit-action" name="action" onChange=${choose}>${options(ACTIONS, "audit_action", action)}</select><//>
        <${Field} label=${t("settings.who")} id="audit-user"><input id="audit-user" name="user" type="search" placeholder=${t("sign_in.email")} defaultValue=${user} onChange=${choose} /><//>
      </form>
      ${record && html`<p><button type="button" onClick=${() => go(["settings", "audit"])}>${t("settings.show_all")}</button></p>`}
      ${list.items.length === 0 && !list.loading && !list.problem &&
      html`<${Empty} icon="search" title=${t("settings.none")} text=${t(isFiltered ? "settings.audit_none" : "settings.audit_empty")} />`}
      <ul class="records audit">${list.items.map((event) => html`<${Line} key=${event.uuid} event=${event} />`)}</ul>
      <${ListEnd} list=${list} />
    </section>
  `;
}

/** @param {{event: Event}} props */
function Line({ event }) {
  const { record, changes } = event;
  const name = html`<bdi>${record.name || "–"}</bdi>`;
  const filter = () => record.uuid && go(["settings", "audit"], { record: record.uuid });
  return html`<li>
    <${Badge} tone=${TONES[event.action] ?? "calm"}>${word("audit_action", event.action)}<//>
    <div class="grows">
      <p><span class="faint">${word("resource", event.resource)}</span> <strong>${record.uuid ? html`<button type="button" class="link" onClick=${filter}>${name}</button>` : name}</strong></p>
      ${changes && html`<ul class="changes">${Object.entries(changes).map(([field, [former, present]]) => html`<li key=${field}>
        <span class="faint">${word("audit_field", field, event.resource === "teams" ? word("team", field) : undefined)}:</span>
        ${event.action === "changed" && html` <s><bdi>${shown(field, former)}</bdi></s> <${Icon} name="forward" size=${12} />`} <bdi>${shown(field, event.action === "deleted" ? former : present)}</bdi></li>`)}</ul>`}
    </div>
    <p class="who-when"><span>${actor(event)}</span> <time class="faint" dateTime=${event.created_on} title=${fullTime(event.created_on)}>${shortTime(event.created_on)}</time></p>
  </li>`;
}

/** What the values of a field are called. @type {Record<string, string>} */
const FAMILIES = { method: "session_method", role: "role" };

/** @param {string} field @param {unknown} value */
function shown(field, value) {
  if (value === null || value === undefined || value === "") return "–";
  if (value === "hidden") return t("settings.hidden");
  if (Array.isArray(value)) return value.map(partText).join(", ") || "–";
  if (typeof value === "object") return JSON.stringify(value);
  if (FAMILIES[field]) return word(FAMILIES[field], String(value));
  return TIME.test(String(value)) ? shortTime(String(value)) : String(value);
}

/** A part of a list, such as the hours of a day. @param {unknown} part */
const partText = (part) => (part && typeof part === "object" ? Object.values(part).join(" ") : String(part));

/** @param {Event} event */
function actor({ user, token, command }) {
  if (command) return t("settings.by_command", { command });
  return token ? t("settings.by_token", { user: user ?? "–", token }) : (user ?? "–");
}
