/** Who the contact is, beside the conversation. */

import { Icon } from "../parts/icons.js";
import { Badge } from "../parts/small.js";
import { fieldText } from "../shared/field_values.js";
import { useAll } from "../shared/lists.js";
import { fullTime, languageName, listTime, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { addressOf, displayName } from "../shared/names.js";

/** @param {{contact: import("./thread.js").Contact, onClose: () => void}} props */
export function Person({ contact, onClose }) {
  const fields = useAll("fields").filter(({ key }) => contact.fields[key ?? ""]);
  return html`
    <aside class="person-panel" aria-label=${t("contact.details")}>
      <header>
        <h2><bdi>${displayName(contact.name, contact.urns[0])}</bdi></h2>
        <button type="button" class="quiet icon-only" aria-label=${t("act.close")} onClick=${onClose}><${Icon} name="close" /></button>
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
      ${contact.groups.length > 0 && html`<h3>${t("contact.groups")}</h3><p class="tags">${contact.groups.map(({ uuid, name }) => html`<span key=${uuid} class="tag">${name}</span>`)}</p>`}
    </aside>
  `;
}
