/** Texts of a flow as a file for translators, and what comes back from them: seen before it is taken, and undone as any change. */

import { FormDialog } from "../../../parts/dialog.js";
import { Icon } from "../../../parts/icons.js";
import { Menu } from "../../../parts/menu.js";
import { attempt, notify } from "../../../parts/notices.js";
import { saveFile } from "../../../parts/save_file.js";
import { Badge } from "../../../parts/small.js";
import { get, post } from "../../../shared/api.js";
import { may } from "../../../shared/session.js";
import { languageTag, number, word } from "../../../shared/texts.js";
import { html, useRef, useState } from "../../../shared/ui.js";
import { label, say } from "./parts.js";
import { applyTexts } from "./translating.js";

/**
 * @typedef {import("../../../shared/contract.js").Written<"flow_texts">} Read
 * @typedef {{flow: {uuid: string, name: string}, base: Pick<import("../saving.js").Base, "number" | "draft">, isSaved: boolean}} Stored which flow it is, and what the service has of it: files are made of that
 */

const FORMATS = /** @type {const} */ (["po", "xlsx", "csv"]);
const MOST_BYTES = 3_000_000;
const TAKEN = ["new", "changed"];
/** More rows than these are slow to draw. */
const SHOWN = 200;

/** @param {Blob} file @returns {Promise<string>} */
const toBase64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = Object.assign(new FileReader(), { onload: () => resolve(String(reader.result).split(",")[1] ?? ""), onerror: () => reject(reader.error) });
    reader.readAsDataURL(file);
  });

/** @param {Stored & {definition: import("../model.js").Definition, language: string, onChange: import("../model.js").OnChange}} props */
export function TranslationFiles({ flow, base, isSaved, definition, language, onChange }) {
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [read, setRead] = useState(/** @type {{name: string, answer: Read} | null} */ (null));
  const [busy, setBusy] = useState(false);
  const save = (/** @type {typeof FORMATS[number]} */ format) =>
    attempt(async () => {
      const { file } = await get("flow_texts", { uuid: flow.uuid, language, format });
      saveFile(`${flow.name}.${language}.${format}`, "application/octet-stream", Uint8Array.from(atob(file ?? ""), (letter) => letter.charCodeAt(0)));
    });
  const take = (/** @type {File | undefined} */ file) =>
    file &&
    attempt(async () => {
      const format = FORMATS.find((each) => file.name.toLowerCase().endsWith(`.${each}`));
      if (!format || file.size > MOST_BYTES) return void notify(say(format ? "flow_form.file_too_large" : "flow_form.file_unknown", { name: file.name }), true);
      setBusy(true);
      try {
        const begun = { language, based_on: base.number, based_on_draft: base.draft };
        const answer = await post("flow_texts", { ...begun, format, file: await toBase64(file), dry_run: true }, { uuid: flow.uuid });
        setRead({ name: file.name, answer });
      } finally {
        setBusy(false);
      }
    });
  if (!may("write_flow_texts")) return null;
  return html`<div class="rows">
    <${Menu} label=${say("flow_form.export")} className="" text=${html`<${Icon} name="download" size=${18} /> ${say("flow_form.export")}`}
      items=${FORMATS.map((format) => ({ id: format, text: word("flow_file", format), onPick: () => void save(format) }))} />
    <input ref=${picker} type="file" hidden accept=${FORMATS.map((each) => `.${each}`).join()} tabindex="-1" onChange=${(/** @type {any} */ { target }) => (void take(target.files[0]), (target.value = ""))} />
    <button type="button" disabled=${busy || !isSaved} onClick=${() => picker.current?.click()}><${Icon} name="attach" size=${18} /> ${say("flow_form.import")}</button>
    ${read && html`<${Changes} name=${read.name} answer=${read.answer} language=${language} base=${definition.language} onClose=${() => setRead(null)}
      onTake=${(/** @type {Read["changes"]} */ taken) => onChange(applyTexts(definition, language, taken), label("flow_change.translations"))} />`}
  </div>`;
}

/** What a file changes, and what of it is left out and why. @param {{name: string, answer: Read, language: string, base: string, onTake: (taken: Read["changes"]) => void, onClose: () => void}} props */
function Changes({ name, answer: { changes, untranslated }, language, base, onTake, onClose }) {
  const taken = changes.filter(({ result }) => TAKEN.includes(result));
  const shown = [...taken, ...changes.filter(({ result }) => !TAKEN.includes(result))];
  return html`<${FormDialog} title=${say("flow_form.file_changes", { name })} submit=${say("flow_form.take", { count: number(taken.length) })} disabled=${taken.length === 0} wide
    onSubmit=${async () => onTake(taken)} onClose=${onClose}>
    <p class="help">${changes.length === 0 ? say("flow_form.nothing_new") : say("flow_form.untranslated", { count: number(untranslated) })}</p>
    <ul class="translations">${shown.slice(0, SHOWN).map(({ key, text, before, translation, result }) => html`<li key=${key}>
      <${Badge} tone=${TAKEN.includes(result) ? "good" : "warn"}>${word("flow_text_result", result)}<//>
      <div class="two-texts"><p class="base-text" dir="auto" lang=${languageTag(base)}>${text}</p>
        <p dir="auto" lang=${languageTag(language)}>${before && html`<del>${before}</del> `}${translation}</p></div></li>`)}</ul>
    ${shown.length > SHOWN && html`<p class="help">${say("flow_form.shown_of", { shown: number(SHOWN), total: number(shown.length) })}</p>`}
  <//>`;
}
