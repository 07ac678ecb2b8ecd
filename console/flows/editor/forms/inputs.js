/** An input for each kind of property that actions have. */

import { ChosenContacts } from "../../../parts/contact_picker.js";
import { Icon } from "../../../parts/icons.js";
import { attempt } from "../../../parts/notices.js";
import { upload } from "../../../shared/api.js";
import { useAll } from "../../../shared/lists.js";
import { channelName } from "../../../shared/names.js";
import { countSegments } from "../../../shared/segments.js";
import { languageName, number, t, word } from "../../../shared/texts.js";
import { html, useEffect, useRef, useState } from "../../../shared/ui.js";
import { newUuid } from "../model.js";
import { ExpressionInput } from "./expression_input.js";
import { fieldHelp, fieldName, say } from "./parts.js";
import { canShow, same, shown, stored } from "./values.js";

/**
 * @typedef {import("./values.js").FieldPart} FieldPart
 * @typedef {import("./values.js").Reference} Reference
 * @typedef {import("../model.js").Asset} Asset
 * @typedef {{definition: import("../model.js").Definition, node: import("../model.js").FlowNode, workspace: import("../model.js").Workspace, parts: import("./values.js").Parts,
 *   names: import("./completing.js").Names, change: import("../model.js").OnChange}} Form what every part of a form is given
 * @typedef {import("../saving.js").Issue} Issue
 * @typedef {{id: string, form: Form, action: string, name: string, issues: Issue[], field: FieldPart, value: unknown, onInput: (input: unknown) => void, onRemove: (at: number) => void}} InputProps
 *   `onInput` gets what the input has, `onRemove` the place of an item that goes
 */

const LONG_ROWS = 4;
const MEDIA = "image/*,audio/*,video/*,application/pdf";
const MOST = 100;
/** Texts that are sent as messages, of which the parts are counted. */
const SENT = ["send_msg", "send_broadcast"];
/** Groups that contacts cannot be put into or taken out of. */
const OWN_GROUPS = ["add_contact_groups", "remove_contact_groups"];
/** Names of choices that are words of the API; others are shown as they are. */
const FAMILIES = /** @type {Record<string, string>} */ ({ status: "contact_status", scheme: "scheme", operation: "flow_operation" });

/** @param {InputProps} props one property with its name and what has to be said about it */
export function FieldInput(props) {
  const { id, action, name, field, value, issues } = props;
  if (!canShow(field, value)) return null;
  const help = fieldHelp(action, name);
  const title = fieldName(action, name);
  const helped = html`${help && html`<p class="help" id=${`${id}-help`}>${help}</p>`}
    ${issues.map(({ message, language }) => html`<p key=${language + message} class="problem" dir="auto">${language && `${languageName(language)}: `}${message}</p>`)}`;
  if (field.kind === "boolean") return html`<div class="field"><label><input type="checkbox" id=${id} checked=${!!value} onChange=${(/** @type {any} */ { target }) => props.onInput(target.checked)} /> ${title}</label>${helped}</div>`;
  const Input = INPUTS[field.refers_to === "contact" ? "contact" : field.is_list && field.kind !== "reference" ? "list" : field.is_list ? "references" : field.kind];
  if (field.refers_to === "contact") return html`<div class="field"><${Input} ...${props} />${helped}</div>`;
  const isGroup = field.is_list || ["map", "amounts", "flags"].includes(field.kind);
  if (isGroup) return html`<fieldset class="field" aria-describedby=${help ? `${id}-help` : undefined}><legend>${title}</legend><${Input} ...${props} />${helped}</fieldset>`;
  return html`<div class="field"><label for=${id}>${title}</label><${Input} ...${props} />${helped}</div>`;
}

/** @param {InputProps} props */
function TextInput({ id, form, action, name, field, value, onInput }) {
  const text = shown(field, value);
  const isLong = field.kind === "long_text";
  const help = fieldHelp(action, name) ? `${id}-help` : undefined;
  return html`<${ExpressionInput} id=${id} value=${text} names=${form.names} onInput=${onInput} rows=${isLong ? LONG_ROWS : undefined} longest=${field.longest} isPlain=${!field.is_template}
    describedby=${help} dir=${field.kind === "url" ? "ltr" : "auto"} inputmode=${field.kind === "url" ? "url" : undefined} />
    ${SENT.includes(action) && name === "text" && html`<${Segments} text=${text} />`}`;
}

/** How many SMS a text is; with expressions it can be more. @param {{text: string}} props */
export function Segments({ text }) {
  const { characters, segments } = countSegments(text);
  return html`<p class="help">${t("reply.count", { characters: number(characters), segments: number(segments) })}${text.includes("@") ? ` ${say("flow_form.at_least")}` : ""}</p>`;
}

/** @param {InputProps} props several texts: quick replies, addresses, attachments */
function ListInput({ id, form, action, name, field, value, onInput, onRemove }) {
  const items = /** @type {string[]} */ (shown(field, value));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const add = (/** @type {string} */ text) => {
    onInput([...items, text]);
    setTimeout(() => /** @type {HTMLElement | undefined} */ ([...(list.current?.querySelectorAll("input[type=text]") ?? [])].at(-1))?.focus());
  };
  const called = fieldName(action, name);
  return html`
    <ul class="rows" ref=${list}>${items.map((text, at) => html`<li key=${at}>
      <${ExpressionInput} id=${`${id}-${at}`} value=${text} names=${form.names} label=${`${called} ${number(at + 1)}`} longest=${field.longest} isPlain=${!field.is_template} dir=${field.kind === "attachment" ? "ltr" : "auto"}
        onInput=${(/** @type {string} */ typed) => onInput(items.map((each, place) => (place === at ? typed : each)))} />
      <${RemoveButton} name=${`${called} ${number(at + 1)}`} onClick=${() => onRemove(at)} />
    </li>`)}</ul>
    <p class="row-buttons">
      <button type="button" id=${id} disabled=${items.length >= (field.most ?? MOST)} onClick=${() => add("")}><${Icon} name="plus" size=${16} /> ${t("gateway.add")}</button>
      ${field.kind === "attachment" && html`<${UploadButton} onUpload=${add} isFull=${items.length >= (field.most ?? MOST)} />`}
    </p>`;
}

/** @param {{onUpload: (attachment: string) => void, isFull: boolean}} props */
function UploadButton({ onUpload, isFull }) {
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [busy, setBusy] = useState(false);
  const send = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    setBusy(true);
    await attempt(async () => {
      const { url, content_type: type } = /** @type {any} */ (await upload(file));
      onUpload(`${type}:${url}`);
    });
    setBusy(false);
  };
  return html`<input ref=${picker} type="file" hidden accept=${MEDIA} tabindex="-1" onChange=${(/** @type {any} */ { target }) => (send(target.files[0]), (target.value = ""))} />
    <button type="button" disabled=${busy || isFull} onClick=${() => picker.current?.click()}><${Icon} name="attach" size=${16} /> ${t(busy ? "reply.uploading" : "reply.attach")}</button>`;
}

/** @param {{name: string, onClick: () => void}} props */
export const RemoveButton = ({ name, onClick }) => html`<button type="button" class="quiet icon-only" aria-label=${t("reply.remove_file", { name })} title=${t("act.remove")} onClick=${onClick}><${Icon} name="close" size=${16} /></button>`;

/** @param {InputProps} props */
function ChoiceInput({ id, name, field, value, onInput }) {
  const choices = [...new Set([...(field.choices ?? []), ...(value ? [String(value)] : [])])];
  return html`<select id=${id} value=${value ?? ""} onChange=${(/** @type {any} */ { target }) => onInput(target.value)}>
    ${!value && html`<option value="">${t("gateway.not_chosen")}</option>`}
    ${choices.map((each) => html`<option key=${each} value=${each}>${FAMILIES[name] ? word(FAMILIES[name], each) : each}</option>`)}
  </select>`;
}

/** @param {InputProps} props */
const FlagsInput = ({ id, field, value, onInput }) => html`${(field.choices ?? []).map((flag) => html`<label key=${flag}><input type="checkbox" id=${`${id}-${flag}`} checked=${shown(field, value).includes(flag)}
  onChange=${(/** @type {any} */ { target }) => onInput([...shown(field, value).filter((/** @type {string} */ each) => each !== flag), ...(target.checked ? [flag] : [])])} /> ${word("flow_flag", flag)}</label>`)}`;

/** @param {InputProps} props names with texts or amounts; rows are kept here while two of them have the same name */
function RowsInput({ id, form, action, name, field, value, onInput }) {
  const [rows, setRows] = useState(/** @type {import("./values.js").Rows} */ (shown(field, value)));
  useEffect(() => {
    if (!same(stored(field, rows, undefined) ?? {}, value ?? {})) setRows(shown(field, value));
  }, [value]);
  const set = (/** @type {import("./values.js").Rows} */ changed) => (setRows(changed), onInput(changed));
  const called = fieldName(action, name);
  const isMoney = field.kind === "amounts";
  return html`
    <ul class="rows">${rows.map(([key, text], at) => html`<li key=${at}>
      <input type="text" class="row-name" dir="ltr" aria-label=${`${called} ${number(at + 1)}: ${say(isMoney ? "flow_form.currency" : "flow_form.row_name")}`} placeholder=${isMoney ? "RWF" : "Authorization"} value=${key}
        onInput=${(/** @type {any} */ { target }) => set(rows.map((row, place) => (place === at ? [target.value, row[1]] : row)))} />
      <${ExpressionInput} id=${`${id}-${at}`} label=${`${called} ${number(at + 1)}: ${say(isMoney ? "flow_form.amount" : "flow_form.row_value")}`} value=${text} names=${form.names} isPlain=${isMoney} inputmode=${isMoney ? "decimal" : undefined} longest=${field.longest}
        onInput=${(/** @type {string} */ typed) => set(rows.map((row, place) => (place === at ? [row[0], typed] : row)))} />
      <${RemoveButton} name=${key || `${called} ${number(at + 1)}`} onClick=${() => set(rows.filter((_, place) => place !== at))} />
    </li>`)}</ul>
    <p class="row-buttons"><button type="button" id=${id} disabled=${rows.length >= (field.most ?? MOST)} onClick=${() => setRows([...rows, ["", ""]])}><${Icon} name="plus" size=${16} /> ${t("gateway.add")}</button></p>`;
}

/** Characters of a name. */
const LONGEST_NAME = 64;

/** @param {Asset} asset */
const keyOf = (asset) => String(asset.uuid ?? asset.key ?? "");
/** @param {Asset} asset */
const titleOf = (asset) => String(asset.name || asset.name_match || asset.email_match || asset.email || asset.key || asset.uuid || "");

/**
 * What the workspace has of a kind, sorted by name, as references.
 * @param {string} kind @param {Form} form @param {string} action
 * @returns {Reference[] | null} null if nobody lists them
 */
export function useAssets(kind, form, action) {
  const classifiers = useAll(kind === "classifier" ? "classifiers" : null);
  const listed = kind === "classifier" ? classifiers : form.workspace[/** @type {keyof import("../model.js").Workspace} */ (`${kind}s`)];
  if (!listed) return null;
  const isFit = (/** @type {Asset} */ asset) => (kind === "flow" ? !asset.archived : kind === "group" && OWN_GROUPS.includes(action) ? !asset.query : true);
  const refer = (/** @type {Asset} */ asset) => {
    if (kind === "field") return { key: asset.key, name: asset.name };
    if (kind === "channel") return { uuid: asset.uuid, name: channelName(/** @type {any} */ (asset)) };
    return { uuid: asset.uuid, ...(kind === "user" ? { email: asset.email } : {}), name: asset.name };
  };
  return /** @type {Asset[]} */ (listed).filter(isFit).map(refer).sort((one, other) => titleOf(one).localeCompare(titleOf(other)));
}

/** @param {InputProps} props one of something that the workspace has */
function ReferenceInput({ id, form, action, field, value, onInput }) {
  const assets = useAssets(field.refers_to ?? "", form, action);
  const chosen = /** @type {Reference | null} */ (shown(field, value));
  if (field.refers_to === "llm") return html`<${ModelInput} id=${id} form=${form} chosen=${chosen} onInput=${onInput} />`;
  if (!assets) return html`<input id=${id} type="text" readonly value=${chosen ? titleOf(chosen) : ""} />`;
  const isKnown = !chosen || assets.some((each) => keyOf(each) === keyOf(chosen));
  return html`<select id=${id} value=${chosen ? keyOf(chosen) || "matched" : ""}
    onChange=${(/** @type {any} */ { target }) => onInput(target.value === "" ? null : (assets.find((each) => keyOf(each) === target.value) ?? chosen))}>
    ${(!field.is_required || !chosen) && html`<option value="">${t("gateway.not_chosen")}</option>`}
    ${!isKnown && chosen && html`<option value=${keyOf(chosen) || "matched"}>${keyOf(chosen) ? say("flow_form.missing", { name: titleOf(chosen) }) : titleOf(chosen)}</option>`}
    ${assets.map((each) => html`<option key=${keyOf(each)} value=${keyOf(each)}>${titleOf(each)}</option>`)}
  </select>`;
}

/** A language model by name: the service asks the one of its settings, whatever its name. @param {{id: string, form: Form, chosen: Reference | null, onInput: (value: any) => void}} props */
function ModelInput({ id, form, chosen, onInput }) {
  const used = form.definition.nodes.flatMap(({ actions }) => (actions ?? []).map(({ llm }) => llm)).filter((llm) => llm?.uuid && llm.name);
  const models = [...new Map(used.map((llm) => [llm.name, llm])).values()];
  const set = (/** @type {string} */ name) => onInput(models.find((llm) => llm.name === name && llm.uuid !== chosen?.uuid) ?? { ...chosen, uuid: chosen?.uuid ?? newUuid(), name });
  return html`<input id=${id} type="text" dir="auto" maxlength=${LONGEST_NAME} list=${`${id}-known`} value=${chosen ? titleOf(chosen) : ""} onChange=${(/** @type {any} */ { target }) => target.value.trim() && set(target.value.trim())} />
    <datalist id=${`${id}-known`}>${models.map(({ name }) => html`<option key=${name} value=${name} />`)}</datalist>`;
}

/** @param {InputProps} props several of something that the workspace has, or by a name that an expression says */
function ReferencesInput({ id, form, action, name, field, value, onInput, onRemove }) {
  const assets = useAssets(field.refers_to ?? "", form, action) ?? [];
  const chosen = /** @type {Reference[]} */ (shown(field, value));
  const [typed, setTyped] = useState("");
  const free = assets.filter((each) => !chosen.some((other) => keyOf(other) === keyOf(each)));
  const [match] = field.match ?? [];
  const called = fieldName(action, name);
  const pick = (/** @type {any} */ { target }) => {
    const found = free.find((each) => keyOf(each) === target.value);
    target.value = "";
    if (found) onInput([...chosen, found]);
  };
  const addMatch = () => {
    if (typed.trim()) onInput([...chosen, { [match]: typed.trim() }]);
    setTyped("");
  };
  return html`
    ${chosen.length > 0 && html`<ul class="files">${chosen.map((each, at) => html`<li key=${`${keyOf(each)}${at}`}><bdi>${keyOf(each) && !assets.some((other) => keyOf(other) === keyOf(each)) ? say("flow_form.missing", { name: titleOf(each) }) : titleOf(each)}</bdi>
      <button type="button" class="quiet tiny" aria-label=${t("reply.remove_file", { name: titleOf(each) })} onClick=${() => onRemove(at)}><${Icon} name="close" size=${14} /></button></li>`)}</ul>`}
    <select id=${id} aria-label=${say("flow_form.add_to", { name: called })} value="" onChange=${pick}>
      <option value="">${say("flow_form.choose_more")}</option>
      ${free.map((each) => html`<option key=${keyOf(each)} value=${keyOf(each)}>${titleOf(each)}</option>`)}
    </select>
    ${match && html`<details><summary>${say("flow_form.by_expression")}</summary><div class="rows"><${ExpressionInput} id=${`${id}-match`} label=${say("flow_form.by_expression")} value=${typed} names=${form.names} onInput=${setTyped} />
      <button type="button" onClick=${addMatch}>${t("gateway.add")}</button></div></details>`}`;
}

/** @param {InputProps} props */
const ContactsInput = ({ id, action, name, field, value, onInput }) =>
  html`<${ChosenContacts} id=${id} label=${fieldName(action, name)} contacts=${shown(field, value)} onChange=${onInput} />`;

/** What the form does not know, which stays as it is. @param {{value: Record<string, unknown>}} props */
export const Unknown = ({ value }) =>
  Object.keys(value).length > 0 && html`<details class="unknown"><summary>${say("flow_form.unknown")}</summary><p class="help">${say("flow_form.unknown_help")}</p><pre dir="ltr" tabindex="0">${JSON.stringify(value, null, 2)}</pre></details>`;

/** @type {Record<string, (props: InputProps) => any>} */
const INPUTS = {
  text: TextInput, long_text: TextInput, url: TextInput, choice: ChoiceInput, flags: FlagsInput, map: RowsInput, amounts: RowsInput,
  reference: ReferenceInput, references: ReferencesInput, contact: ContactsInput, list: ListInput,
};
