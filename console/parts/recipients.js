/** Whom a message or a flow is for: groups, contacts, and those that a query finds. */

import { useAll } from "../shared/lists.js";
import { completions, useQueryWords } from "../shared/query_words.js";
import { number, t } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { ChosenContacts } from "./contact_picker.js";
import { Field } from "./small.js";

/**
 * @typedef {{groups: string[], contacts: import("./contact_picker.js").Named[], query: string}} Chosen
 * @param {{draft: Chosen, onChange: (part: Partial<Chosen>) => void}} props
 */
export function Recipients({ draft, onChange }) {
  const groups = useAll("groups").filter(({ status }) => status === "ready");
  const words = useQueryWords();
  const toggle = (/** @type {string} */ uuid) =>
    onChange({ groups: draft.groups.includes(uuid) ? draft.groups.filter((other) => other !== uuid) : [...draft.groups, uuid] });
  return html`
    <fieldset class="field">
      <legend>${t("broadcasts.to")}</legend>
      <ul class="choices-list two-columns">
        ${groups.map(({ uuid, name, count }) => html`<li key=${uuid}><label><input type="checkbox" checked=${draft.groups.includes(uuid)} onChange=${() => toggle(uuid)} /> ${name} (${number(count)})</label></li>`)}
      </ul>
    </fieldset>
    <${ChosenContacts} id="to-contact" label=${t("broadcasts.to_contact")} contacts=${draft.contacts} onChange=${(/** @type {import("./contact_picker.js").Named[]} */ contacts) => onChange({ contacts })} />
    <${Field} label=${t("broadcasts.to_query")} id="to-query" help=${t("broadcasts.to_query_help")}>
      <input id="to-query" type="search" list="to-query-words" maxlength="1000" autocomplete="off" autocapitalize="off" spellcheck="false" value=${draft.query}
        aria-describedby="to-query-help" onInput=${(/** @type {any} */ event) => onChange({ query: event.target.value })} />
      <datalist id="to-query-words">${completions(draft.query, words).map((text) => html`<option key=${text} value=${text}></option>`)}</datalist>
    <//>
  `;
}
