/** Texts of a flow beside what they say in another language, and how far each language is. */

import { languages as allLanguages } from "../../../parts/choosers.js";
import { Field, Problem, Waiting } from "../../../parts/small.js";
import { workspace as present } from "../../../shared/session.js";
import { languageName, languageTag, number, t, word } from "../../../shared/texts.js";
import { html, useMemo, useState } from "../../../shared/ui.js";
import { namesOf } from "./completing.js";
import { ExpressionInput } from "./expression_input.js";
import { Segments } from "./inputs.js";
import { fieldName, label, say, useParts } from "./parts.js";
import { languagesOf, progressOf, saidIn, setSaid, textsOf } from "./translating.js";
import { TranslationFiles } from "./translation_files.js";

/** @typedef {import("./translating.js").Translatable} Translatable */

const LONG_ROWS = 3;
/** More texts than these are slow to draw. */
const SHOWN = 100;

/** A language and how far it is. @param {import("../model.js").Definition} definition @param {import("../model.js").FlowNode[]} nodes @param {string} code @param {import("./values.js").Parts} parts */
export function progressText(definition, nodes, code, parts) {
  const { done, total } = progressOf(definition, nodes, code, parts);
  return say("flow_form.progress", { name: languageName(code), done: number(done), total: number(total) });
}

/** What a text is, in a line. @param {Translatable} text */
const textName = ({ of, property }) => (of === "category" ? say("flow_form.category") : property === "arguments" ? word("flow_test", of) : `${word("action", of)}: ${fieldName(of, property)}`);

/**
 * The base language first, then the other one.
 * @param {{form: Pick<import("./inputs.js").Form, "definition" | "names" | "change">, texts: Translatable[], language: string}} props
 */
export function Translations({ form, texts, language }) {
  const { definition, names, change } = form;
  return html`<ul class="translations">${texts.map((text) => {
    const said = saidIn(definition, language, text);
    const id = `${text.item}-${text.property}`;
    return html`<li key=${id} aria-label=${textName(text)}><h3>${textName(text)}</h3>
      ${said.map((each, at) => html`<div key=${at} class="two-texts">
        <p class="base-text" dir="auto" lang=${languageTag(definition.language)}>${text.values[at] ?? ""}</p>
        <div><${ExpressionInput} id=${`${id}-${at}`} label=${`${textName(text)} (${languageName(language)})${said.length > 1 ? ` ${number(at + 1)}` : ""}`} value=${each} names=${names} lang=${languageTag(language)} rows=${text.kind === "long_text" ? LONG_ROWS : undefined}
          isPlain=${text.of === "category"} onInput=${(/** @type {string} */ typed) => change(setSaid(definition, language, text, at, typed), label("flow_change.translate"), `${language}-${id}-${at}`)} />
          ${text.property === "text" && text.of.startsWith("send_") && html`<${Segments} text=${each} />`}</div>
      </div>`)}
    </li>`;
  })}</ul>`;
}

/**
 * All texts of a flow: a language is chosen, with how far each is; on wish only what it does not have yet.
 * @param {{definition: import("../model.js").Definition, workspace: import("../model.js").Workspace, stored: import("./translation_files.js").Stored, onChange: import("../model.js").OnChange}} props
 */
export function FlowTranslations({ definition, workspace, stored, onChange }) {
  const { parts, problem, start } = useParts();
  if (problem) return html`<${Problem} text=${problem} onRetry=${start} />`;
  if (!parts) return html`<${Waiting} />`;
  return html`<${Table} definition=${definition} workspace=${workspace} stored=${stored} onChange=${onChange} parts=${parts} />`;
}

/** @param {{definition: import("../model.js").Definition, workspace: import("../model.js").Workspace, stored: import("./translation_files.js").Stored, onChange: import("../model.js").OnChange, parts: import("./values.js").Parts}} props */
function Table({ definition, workspace, stored, onChange, parts }) {
  const [added, setAdded] = useState(/** @type {string[]} */ ([]));
  const languages = languagesOf(definition, [...(present.value?.languages ?? []), ...added]);
  const [chosen, setChosen] = useState("");
  const language = languages.includes(chosen) ? chosen : (languages[0] ?? "");
  const [wanted, setWanted] = useState(/** @type {Set<string> | null} */ (null));
  const [typed, setTyped] = useState("");
  const [known] = useState(allLanguages);
  const words = typed.trim().toLowerCase();
  const code = known.find(([, name]) => name.toLowerCase() === words)?.[0] ?? words;
  const names = useMemo(() => namesOf(parts, definition, workspace), [parts, definition, workspace]);
  const all = useMemo(() => definition.nodes.flatMap((node) => textsOf(node, parts)), [definition, parts]);
  const keyOf = (/** @type {Translatable} */ { item, property }) => `${item}-${property}`;
  const missing = () => new Set(all.filter((text) => !saidIn(definition, language, text).some((each) => each.trim())).map(keyOf));
  // What was missing when it was asked for stays while somebody writes it.
  const texts = wanted ? all.filter((text) => wanted.has(keyOf(text))) : all;
  const isCode = /^[a-z]{3}$/.test(code) && code !== definition.language;
  const choose = (/** @type {string} */ each) => (setChosen(each), setWanted(null));
  return html`<div class="node-form">
    <div class="rows language-choice">
      ${languages.length > 0 && html`<${Field} id="flow-language" label=${say("flow_form.language")}><select id="flow-language" value=${language} onChange=${(/** @type {any} */ { target }) => choose(target.value)}>
        ${languages.map((each) => html`<option key=${each} value=${each}>${progressText(definition, definition.nodes, each, parts)}</option>`)}</select><//>`}
      <${Field} id="flow-new-language" label=${say("flow_form.new_language")} help=${isCode ? languageName(code) : say("flow_form.new_language_help")}>
        <span class="duration"><input id="flow-new-language" type="text" list="flow-languages" maxlength="64" autocapitalize="off" aria-describedby="flow-new-language-help" value=${typed} onInput=${(/** @type {any} */ { target }) => setTyped(target.value)} />
        <datalist id="flow-languages">${known.map(([each, name]) => html`<option key=${each} value=${name}></option>`)}</datalist>
        <button type="button" disabled=${!isCode} onClick=${() => (setAdded([...added, code]), choose(code), setTyped(""))}>${t("gateway.add")}</button></span><//>
    </div>
    ${language && html`
      <${TranslationFiles} ...${stored} definition=${definition} language=${language} onChange=${onChange} />
      <progress max=${all.length} value=${progressOf(definition, definition.nodes, language, parts).done} aria-label=${progressText(definition, definition.nodes, language, parts)}></progress>
      <p><label><input type="checkbox" checked=${!!wanted} onChange=${(/** @type {any} */ { target }) => setWanted(target.checked ? missing() : null)} /> ${say("flow_form.only_missing")}</label></p>
      <${Translations} form=${{ definition, names, change: onChange }} texts=${texts.slice(0, SHOWN)} language=${language} />
      ${texts.length > SHOWN && html`<p class="help">${say("flow_form.shown_of", { shown: number(SHOWN), total: number(texts.length) })}</p>`}`}
  </div>`;
}
