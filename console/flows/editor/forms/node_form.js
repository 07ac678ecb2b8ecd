/** The form of a step: what it does, in order, how it goes on, its texts in other languages, and how they read for a contact. */

import { Icon } from "../../../parts/icons.js";
import { Menu } from "../../../parts/menu.js";
import { Problem, Waiting } from "../../../parts/small.js";
import { workspace as present } from "../../../shared/session.js";
import { languageName, t, word } from "../../../shared/texts.js";
import { html, useMemo, useRef, useState } from "../../../shared/ui.js";
import { moveAction, removeAction } from "../model.js";
import { addNewAction, removeItem, setField } from "./changing.js";
import { namesOf } from "./completing.js";
import { FieldInput, Unknown } from "./inputs.js";
import { label, say, useParts } from "./parts.js";
import { RouterForm } from "./router_form.js";
import { languagesOf, textsOf } from "./translating.js";
import { progressText, Translations } from "./translations.js";
import { TryTexts } from "./try_texts.js";
import { unknownParts } from "./values.js";

/** @typedef {import("./inputs.js").Form} Form */

/**
 * Issues are what the service found, which is shown at the property that it is about.
 * @typedef {import("../model.js").NodeFormProps & {issues?: import("./inputs.js").Issue[]}} Props
 */

/** The actions that most steps have, before the others of their part of the palette. */
const COMMON = ["send_msg", "set_contact_field", "add_contact_groups", "set_run_result", "call_webhook"];

/** @param {Props} props */
export function NodeForm(props) {
  const { parts, problem, start } = useParts();
  if (problem) return html`<${Problem} text=${problem} onRetry=${start} />`;
  if (!parts) return html`<${Waiting} />`;
  return html`<${Whole} key=${props.node.uuid} ...${props} parts=${parts} />`;
}

/** @param {Props & {parts: import("./values.js").Parts}} props */
function Whole({ definition, node, workspace, onChange, parts, issues = [] }) {
  const [language, setLanguage] = useState("");
  const names = useMemo(() => namesOf(parts, definition, workspace), [parts, definition, workspace]);
  /** @type {Form} */
  const form = { definition, node, workspace, parts, names, change: onChange };
  const languages = languagesOf(definition, present.value?.languages ?? []);
  const isOther = languages.includes(language);
  return html`<div class="node-form">
    ${languages.length > 0 && textsOf(node, parts).length > 0 && html`<p class="field language-choice"><label for="form-language">${say("flow_form.language")}</label>
      <select id="form-language" value=${isOther ? language : ""} onChange=${(/** @type {any} */ { target }) => setLanguage(target.value)}>
        <option value="">${say("flow_form.base", { name: languageName(definition.language ?? "") })}</option>
        ${languages.map((code) => html`<option key=${code} value=${code}>${progressText(definition, [node], code, parts)}</option>`)}
      </select></p>`}
    ${isOther
      ? html`<${Translations} form=${form} texts=${textsOf(node, parts)} language=${language} />`
      : html`<${Actions} form=${form} issues=${issues} /><${RouterForm} form=${form} issues=${issues.filter((each) => !each.action_uuid && each.field.startsWith("router."))} />`}
    <${TryTexts} form=${form} language=${isOther ? language : ""} />
  </div>`;
}

/** @param {{form: Form, issues: import("./inputs.js").Issue[]}} props */
function Actions({ form, issues }) {
  const { definition, node, parts, change } = form;
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const actions = node.actions ?? [];
  const add = (/** @type {string} */ type) => {
    change(addNewAction(definition, node.uuid, type, parts), label("flow_change.action_add"));
    setTimeout(() => /** @type {HTMLElement | undefined} */ (list.current?.lastElementChild?.querySelectorAll("input, textarea, select")[0])?.focus());
  };
  return html`<section aria-label=${say("flow_form.does")}>
    <ol class="node-actions" ref=${list}>${actions.map((action, at) => html`<${ActionForm} key=${action.uuid ?? at} form=${form} action=${action} at=${at} issues=${issues.filter((each) => action.uuid && each.action_uuid === action.uuid)} />`)}</ol>
    <${Palette} form=${form} onPick=${add} />
  </section>`;
}

/** @param {{form: Form, action: import("../model.js").Action, at: number, issues: import("./inputs.js").Issue[]}} props */
function ActionForm({ form, action, at, issues }) {
  const { definition, node, parts, change } = form;
  const part = parts.actions[action.type];
  const title = word("action", action.type);
  const id = action.uuid ?? "";
  const fields = Object.entries(part?.fields ?? {}).filter(([name, field]) => isAsked(action, name, field, definition));
  const isSaid = (/** @type {string} */ name) => ![undefined, null, "", false].includes(action[name]) && !(Array.isArray(action[name]) && action[name].length === 0);
  const input = (/** @type {[string, import("./values.js").FieldPart]} */ [name, field]) => html`<${FieldInput} key=${name} id=${`${id}-${name}`} form=${form} action=${action.type} name=${name} field=${field} value=${action[name]} issues=${issues.filter((each) => propertyOf(each) === name)}
    onInput=${(/** @type {unknown} */ typed) => change(setField(definition, node.uuid, action, name, field, typed), label("flow_change.action"), `${id}-${name}`)}
    onRemove=${(/** @type {number} */ place) => change(removeItem(definition, node.uuid, action, name, field, place), label("flow_change.action"))} />`;
  const more = fields.filter(([, field]) => field.is_more);
  const ofAction = issues.filter((each) => !fields.some(([name]) => name === propertyOf(each)));
  const move = (/** @type {number} */ to) => change(moveAction(definition, node.uuid, id, to), label("flow_change.action_move"));
  const last = (node.actions ?? []).length - 1;
  return html`<li class="node-action" aria-label=${title}>
    <header><h3>${title}</h3><span class="grows"></span>
      <${Menu} label=${say("flow_form.more_of", { name: title })} items=${[
        at > 0 && { text: say("flow_form.up"), onPick: () => move(at - 1) },
        at < last && { text: say("flow_form.down"), onPick: () => move(at + 1) },
        { text: t("act.remove"), icon: "trash", danger: true, onPick: () => change(removeAction(definition, node.uuid, id), label("flow_change.action_remove")) },
      ]} /></header>
    ${part && !part.allowed_in.includes(String(definition.type)) && html`<p class="problem">${say("flow_form.not_allowed")}</p>`}
    ${ofAction.map(({ message, field }) => html`<p key=${field + message} class="problem" dir="auto">${message}</p>`)}
    ${fields.filter(([, field]) => !field.is_more).map(input)}
    ${more.length > 0 && html`<details open=${more.some(([name]) => isSaid(name) || issues.some((each) => propertyOf(each) === name))}><summary>${say("flow_form.more")}</summary>${more.map(input)}</details>`}
    <${Unknown} value=${unknownParts(action, part)} />
  </li>`;
}

/** The property that an issue is about; its path may begin with the place of the action. @param {import("./inputs.js").Issue} issue */
const propertyOf = ({ field }) => field.replace(/^actions\[\d+\]\./, "").split(/[.[]/)[0];

/** Whether a property is asked for. What only old generations have is asked for where it is said. @param {any} action @param {string} name @param {import("./values.js").FieldPart} field @param {import("../model.js").Definition} definition */
function isAsked(action, name, { kind }, { spec_version: version }) {
  if (kind === "json") return false;
  const isOnlyOld = name === "all_urns" || (action.type === "open_ticket" && ["body", "result_name"].includes(name)) || (action.type === "transfer_airtime" && name === "result_name");
  const isOnlyNew = action.type === "open_ticket" && name === "note";
  const isOld = String(version ?? "").startsWith("13");
  return action[name] !== undefined || !(isOld ? isOnlyNew : isOnlyOld);
}

/** All types of actions that the flow may use, as people look for them. @param {{form: Form, onPick: (type: string) => void}} props */
function Palette({ form, onPick }) {
  const box = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const { parts, definition } = form;
  const rank = (/** @type {[string, unknown]} */ [type]) => (COMMON.includes(type) ? COMMON.indexOf(type) : COMMON.length);
  const types = Object.entries(parts.actions).filter(([, { allowed_in }]) => allowed_in.includes(String(definition.type))).sort((one, other) => rank(one) - rank(other));
  const pick = (/** @type {string} */ type) => {
    if (box.current) box.current.open = false;
    onPick(type);
  };
  return html`<details class="palette" ref=${box}>
    <summary class="button"><${Icon} name="plus" size=${16} /> ${say("flow_form.add_action")}</summary>
    <div class="card">${parts.palette.map((group) => {
      const listed = types.filter(([, { palette }]) => palette === group).map(([type]) => type);
      return listed.length > 0 && html`<section key=${group}><h3>${word("flow_palette", group)}</h3>
        <ul>${listed.map((type) => html`<li key=${type}><button type="button" class="quiet" title=${type} onClick=${() => pick(type)}>${word("action", type)}</button></li>`)}</ul></section>`;
    })}</div>
  </details>`;
}
