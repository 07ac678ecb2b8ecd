/** A template that a gateway has approved: which one, what stands for its variables, and how it reads with them. */

import { t } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { Field } from "./small.js";

/**
 * @typedef {{uuid: string, name: string, content: string, variable_count: number}} Template
 * @typedef {{template: string, variables: string[]}} Chosen `template` is its UUID; empty for none
 */

/** @type {Chosen} */
export const NO_TEMPLATE = { template: "", variables: [] };

const VARIABLE = /\{\{\s*(\d+)\s*\}\}/g;
const MOST = 1024;

/** How a template reads; what has no value yet stays a place. @param {Template} template @param {string[]} values */
export const filled = ({ content }, values) => content.replace(VARIABLE, (place, number) => values[Number(number) - 1]?.trim() || place);

/** Whether each variable has a value. @param {Template} template @param {string[]} values */
export const isFilled = ({ variable_count }, values) => Array.from({ length: variable_count }, (_, at) => values[at]).every((value) => value?.trim());

/** The values of the variables, without those of another template. @param {Template} template @param {string[]} values */
export const valuesOf = ({ variable_count }, values) => values.slice(0, variable_count).map((value) => value.trim());

/**
 * @param {{id: string, label: string, help?: string, none: string, templates: Template[], chosen: Chosen, onChange: (chosen: Chosen) => void}} props
 *   `none` is what stands for no template
 */
export function TemplateFields({ id, label, help, none, templates, chosen, onChange }) {
  const template = templates.find(({ uuid }) => uuid === chosen.template);
  const set = (/** @type {number} */ at, /** @type {string} */ value) => {
    const variables = Array.from({ length: template?.variable_count ?? 0 }, (_, place) => (place === at ? value : (chosen.variables[place] ?? "")));
    onChange({ template: chosen.template, variables });
  };
  return html`
    <${Field} id=${id} label=${label} help=${help}>
      <select id=${id} value=${template?.uuid ?? ""} aria-describedby=${help ? `${id}-help` : undefined}
        onChange=${(/** @type {any} */ event) => onChange({ template: event.target.value, variables: chosen.variables })}>
        <option value="">${none}</option>
        ${templates.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid}>${name}</option>`)}
      </select>
    <//>
    ${template && html`
      ${Array.from({ length: template.variable_count }, (_, at) => html`<${Field} key=${at} id=${`${id}-${at}`} label=${t("template.variable", { number: at + 1 })}>
        <input id=${`${id}-${at}`} type="text" dir="auto" required maxlength=${MOST} value=${chosen.variables[at] ?? ""}
          onInput=${(/** @type {any} */ event) => set(at, event.target.value)} />
      <//>`)}
      <div class="bubble out preview-bubble" role="group" aria-label=${t("template.reads")}><p class="text" dir="auto">${filled(template, chosen.variables)}</p></div>`}
  `;
}
