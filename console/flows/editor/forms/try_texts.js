/** How the texts of a step read for a contact: the engine says, in a conversation that nobody has. */

import { ContactPicker } from "../../../parts/contact_picker.js";
import { post } from "../../../shared/api.js";
import { explain } from "../../../shared/explain.js";
import { t, word } from "../../../shared/texts.js";
import { html, useState } from "../../../shared/ui.js";
import { newUuid, resultNames } from "../model.js";
import { fieldName, say } from "./parts.js";
import { saidIn, textsOf } from "./translating.js";

/** @typedef {{name: string, text: string}} Asked a text with what it is */
/** @typedef {Asked & {reads: string, errors: string[]}} Read */

/** The most actions of a step. */
const MOST = 100;

/** Every text with an expression in a step, in the base language or another one. @param {import("./inputs.js").Form} form @param {string} language @returns {Asked[]} */
export function textsToTry({ definition, node, parts }, language) {
  const translated = new Map(textsOf(node, parts).map((text) => [`${text.item}-${text.property}`, language ? saidIn(definition, language, text) : text.values]));
  const read = (/** @type {unknown} */ value) => (typeof value === "string" ? [value] : value && typeof value === "object" ? Object.values(value) : []);
  const ofActions = (node.actions ?? []).flatMap((action) => Object.entries(parts.actions[action.type]?.fields ?? {}).filter(([, field]) => field.is_template)
    .flatMap(([name]) => (translated.get(`${action.uuid}-${name}`) ?? read(action[name])).map((text) => ({ name: `${word("action", action.type)}: ${fieldName(action.type, name)}`, text }))));
  const ofCases = (node.router?.cases ?? []).flatMap((/** @type {any} */ { uuid, type, arguments: given }) => (translated.get(`${uuid}-arguments`) ?? given ?? []).map((/** @type {unknown} */ text) => ({ name: word("flow_test", type), text })));
  const looksAt = node.router?.operand ? [{ name: t("flows.looks_at"), text: node.router.operand }] : [];
  return [...ofActions, ...looksAt, ...ofCases].filter(({ text }) => typeof text === "string" && text.includes("@"));
}

/**
 * A flow that says each text once. Results, which nobody has yet, stand there with their names.
 * @param {import("../model.js").Definition} definition @param {Asked[]} asked
 */
function flowOf(definition, asked) {
  const saves = resultNames(definition).slice(0, MOST - asked.length).map((name) => ({ type: "set_run_result", uuid: newUuid(), name, value: `[${name}]`, category: "" }));
  const says = asked.map(({ text }) => ({ type: "send_msg", uuid: newUuid(), text }));
  const node = { uuid: newUuid(), actions: [...saves, ...says], exits: [{ uuid: newUuid() }] };
  const { spec_version, language } = definition;
  return { uuid: newUuid(), name: "Texts", spec_version, language, type: "messaging", nodes: [node] };
}

/** @param {Asked[]} asked @param {any[]} events what the engine did @returns {Read[]} */
export function readings(asked, events) {
  /** @type {Read[]} */
  const read = [];
  let errors = /** @type {string[]} */ ([]);
  for (const event of events) {
    if (event.type === "error") errors.push(event.text);
    if (event.type !== "msg_created" || read.length >= asked.length) continue;
    read.push({ ...asked[read.length], reads: event.msg.text, errors });
    errors = [];
  }
  return read;
}

/** @param {{form: import("./inputs.js").Form, language: string}} props */
export function TryTexts({ form, language }) {
  const [contact, setContact] = useState(/** @type {import("../../../parts/contact_picker.js").Contact | null} */ (null));
  const [found, setFound] = useState(/** @type {Read[] | null} */ (null));
  const [problem, setProblem] = useState("");
  const asked = textsToTry(form, language).slice(0, MOST);
  if (asked.length === 0) return null;
  const read = async (/** @type {{uuid: string} | null} */ chosen) => {
    setProblem("");
    if (!chosen) return setFound(null);
    try {
      const { events } = await post("simulations", /** @type {any} */ ({ definition: flowOf(form.definition, asked), contact: chosen.uuid }));
      setFound(readings(asked, events));
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return html`<details class="try-texts"><summary>${say("flow_form.try")}</summary>
    <${ContactPicker} id="try-contact" label=${say("flow_form.try_contact")} chosen=${contact} onPick=${(/** @type {any} */ each) => (setContact(each), read(each))} />
    ${contact && html`<p><button type="button" onClick=${() => read(contact)}>${say("flow_form.try_again")}</button></p>`}
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${found && html`<dl class="details" role="status">${found.map(({ name, reads, errors }, at) => html`<div key=${at}><dt>${name}</dt><dd dir="auto">${reads || "–"}</dd>
      ${errors.map((error) => html`<dd key=${error} class="problem">${error}</dd>`)}</div>`)}</dl>
      <p class="help">${say("flow_form.try_help")}</p>`}
  </details>`;
}
