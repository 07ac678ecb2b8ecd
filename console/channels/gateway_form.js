/** Adding a gateway, and changing how one is called: a form from what its type or its preset declares. What is right for nearly
 *  everybody is folded. */

import { CountryChoice } from "../parts/choosers.js";
import { FormDialog } from "../parts/dialog.js";
import { Field, Problem, Waiting } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { account } from "../shared/session.js";
import { t, word } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";
import { PHONE_SCHEME } from "./test_message.js";
import { helpOf, sentence, settingHelp, useTypes } from "./types.js";

/**
 * @typedef {import("./types.js").Entry} Entry
 * @typedef {import("./types.js").Type["settings"][number]} Setting
 * @typedef {import("./types.js").Preset["fields"][number]} PresetField
 * @typedef {import("../shared/contract.js").Listed<"channel_settings">} Settings
 * @typedef {import("../shared/contract.js").Sent<"channel_settings">} Changes
 */

const HIDDEN = "***";
/** A type with more schemes than these can serve nearly all: then the choice is folded. */
const FEW_SCHEMES = 4;

/** A new gateway. @param {{entry: Entry, onDone: (uuid: string) => void, onClose: () => void}} props */
export function GatewayDialog({ entry, onDone, onClose }) {
  const key = useRef(newKey());
  const made = useRef("");
  const { type, preset } = entry;
  const { schemes } = type;
  const hasNumbers = schemes.includes(PHONE_SCHEME);
  const hasFew = schemes.length <= FEW_SCHEMES;
  const save = async (/** @type {FormData} */ data) => {
    const limit = text(data, "limit");
    /** @type {Changes} */
    const wanted = { name: text(data, "name"), address: text(data, "address"), scheme: text(data, "scheme") || schemes[0], country: text(data, "country").toUpperCase() };
    if (limit) wanted.messages_per_second = Number(limit);
    const settings = preset ? { preset: preset.preset, fields: readFields(preset.fields, data) } : { type: type.type, settings: readSettings(type.settings, data) };
    made.current = (await post("channel_settings", { ...wanted, ...settings }, undefined, key.current)).uuid;
  };
  const scheme = schemes.length > 1 && html`<${Field} key="scheme" label=${t("gateway.scheme")} id="scheme">
    <select id="scheme" name="scheme">${schemes.map((each) => html`<option key=${each} value=${each} selected=${each === (hasNumbers ? PHONE_SCHEME : schemes[0])}>${each}</option>`)}</select><//>`;
  const asked = preset ? preset.fields.map((field) => ({ isFolded: !field.is_required, input: html`<${FieldInput} key=${field.name} owner=${preset.preset} field=${field} isNew />` }))
    : type.settings.map((setting) => ({ isFolded: setting.is_advanced && !setting.is_required, input: html`<${Input} key=${setting.name} owner=${type.type} setting=${setting} isNew />` }));
  return html`
    <${FormDialog} title=${t("gateway.add_one", { title: entry.title })} submit=${t("gateway.add")} draft=${`gateway.${account.value?.workspace.uuid ?? ""}.${entry.name}`}
      onSubmit=${save} onClose=${() => (made.current ? onDone(made.current) : onClose())} wide>
      <p class="help">${helpOf(entry)}</p>
      <div class="form-grid">
        <${Field} label=${t("channels.name")} id="name"><input id="name" name="name" required maxlength="64" dir="auto" defaultValue=${entry.title} /><//>
        <${Field} label=${word("address", type.type)} id="address" help=${`${sentence(word("address_help", type.type))}. ${t("gateway.address_help")}`}><input id="address" name="address" required maxlength="255" aria-describedby="address-help" /><//>
        ${hasNumbers && html`<${Field} label=${t("gateway.country")} id="country" help=${t("gateway.country_help")}><${CountryChoice} id="country" /><//>`}
        ${hasFew && scheme}
        ${asked.filter(({ isFolded }) => !isFolded).map(({ input }) => input)}
      </div>
      <${Folded}><div class="form-grid">
        ${!hasFew && scheme}
        <${LimitField} value=${null} />
        ${asked.filter(({ isFolded }) => isFolded).map(({ input }) => input)}
      </div><//>
    <//>
  `;
}

/** What can be changed of a gateway. @param {{present: Settings, onDone: () => void, onClose: () => void}} props */
export function ChangeDialog({ present, onDone, onClose }) {
  const key = useRef(newKey());
  const { types, problem, load } = useTypes();
  const type = types?.types.find((each) => each.type === present.type);
  const preset = types?.presets.find((each) => each.preset === present.preset);
  // A setting with the name of a field follows it.
  const shown = type?.settings.filter((each) => !preset?.fields.some(({ name }) => name === each.name)) ?? [];
  const isFolded = (/** @type {Setting} */ each) => !!preset || (each.is_advanced && !each.is_required && !(each.name in present.settings));
  const save = async (/** @type {FormData} */ data) => {
    if (!type) return;
    const limit = text(data, "limit");
    /** @type {Changes} */
    const changes = { name: text(data, "name"), messages_per_second: limit ? Number(limit) : null, settings: changed(readSettings(shown, data), present.settings) };
    if (preset) changes.fields = changed(readFields(preset.fields, data), present.fields);
    await post("channel_settings", changes, { uuid: present.uuid }, key.current);
    onDone();
  };
  const inputs = (/** @type {boolean} */ folded) =>
    shown.filter((each) => isFolded(each) === folded).map((setting) => html`<${Input} key=${setting.name} owner=${present.type} setting=${setting} value=${present.settings[setting.name]} />`);
  return html`
    <${FormDialog} title=${t("gateway.change")} submit=${t("act.save")} draft=${`gateway.${present.uuid}`} onSubmit=${save} onClose=${onClose} disabled=${!type} wide>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!type && !problem && html`<${Waiting} />`}
      ${type && html`
        <div class="form-grid">
          <${Field} label=${t("channels.name")} id="name"><input id="name" name="name" required maxlength="64" dir="auto" defaultValue=${present.name ?? ""} /><//>
          <${LimitField} value=${present.messages_per_second} />
          ${preset?.fields.map((field) => html`<${FieldInput} key=${field.name} owner=${preset.preset} field=${field} value=${present.fields[field.name]} />`)}
          ${inputs(false)}
        </div>
        <${Folded}><div class="form-grid">${inputs(true)}</div><//>`}
    <//>
  `;
}

/** What is folded until it is wanted, or until something in it is wrong. @param {{children?: any}} props */
const Folded = ({ children }) => html`<details class="folded"><summary>${t("gateway.more")}</summary>${children}</details>`;

/** A browser shows what is wrong with a field only where it can be seen. @param {Event} event */
const unfold = ({ target }) => {
  const folded = /** @type {HTMLElement} */ (target).closest("details");
  if (folded) folded.open = true;
};

/** @param {{value: number | null}} props */
const LimitField = ({ value }) => html`<${Field} label=${t("gateway.limit")} id="limit" help=${t("gateway.limit_help")}>
  <input id="limit" name="limit" type="number" min="0.01" max="10000" step="0.01" defaultValue=${value ?? ""} aria-describedby="limit-help" onInvalid=${unfold} /><//>`;

/** The name of a setting or field in the person's language, or made of the API's own. @param {string} name */
export const nameOf = (name) => word("setting", name, sentence(name.replaceAll("_", " ")));

/** A field of a preset. @param {{owner: string, field: PresetField, value?: string, isNew?: boolean}} props */
function FieldInput({ owner, field, value, isNew = false }) {
  const id = `field-${field.name}`;
  const common = { id, name: id, required: field.is_required && value !== HIDDEN, "aria-describedby": `${id}-help`, onInvalid: unfold, dir: "ltr", maxlength: 10000 };
  return html`<${Field} label=${nameOf(field.name)} id=${id} help=${settingHelp(owner, field)}>
    ${field.is_secret
      ? html`<${Secret} common=${common} isKept=${value === HIDDEN} />`
      : html`<input ...${common} defaultValue=${value ?? (isNew ? (field.default ?? "") : "")} placeholder=${field.example || (field.default ?? "")} />`}
  <//>`;
}

/** @param {{common: object, isKept: boolean}} props */
const Secret = ({ common, isKept }) => html`<input ...${common} type="password" autocomplete="new-password" maxlength="10000" placeholder=${isKept ? t("gateway.unchanged") : ""} />`;

/** One setting as its kind asks for it. @param {{owner: string, setting: Setting, value?: string, isNew?: boolean}} props */
function Input({ owner, setting, value, isNew = false }) {
  const id = `set-${setting.name}`;
  const given = value ?? (isNew ? (setting.default ?? "") : "");
  const help = settingHelp(owner, setting);
  const common = { id, name: id, required: setting.is_required && value !== HIDDEN, "aria-describedby": `${id}-help`, onInvalid: unfold };
  const field = (/** @type {any} */ control) => html`<${Field} label=${nameOf(setting.name)} id=${id} help=${help}>${control}<//>`;
  if (setting.kind === "flag") {
    return html`<div class="field"><label class="event-check"><input ...${common} type="checkbox" required=${false} defaultChecked=${given === "true"} /> ${nameOf(setting.name)}</label>
      <p class="help" id=${`${id}-help`}>${help}</p></div>`;
  }
  if (setting.choices) {
    return field(html`<select ...${common}>
      ${!setting.is_required && !setting.default && html`<option value="">${t("gateway.not_chosen")}</option>`}
      ${setting.choices.map((choice) => html`<option key=${choice} selected=${choice === given}>${choice}</option>`)}
    </select>`);
  }
  if (setting.kind === "number") {
    return field(html`<input ...${common} type="number" min=${setting.minimum} max=${setting.maximum} defaultValue=${given} />`);
  }
  if (setting.kind === "secret") return field(html`<${Secret} common=${common} isKept=${value === HIDDEN} />`);
  if (setting.kind === "headers") {
    return field(html`<textarea ...${common} class="masked" rows="3" maxlength="10000" dir="ltr" autocomplete="off" spellcheck="false" placeholder=${value === HIDDEN ? t("gateway.unchanged") : ""}></textarea>`);
  }
  if (setting.kind === "text") return field(html`<textarea ...${common} rows="4" maxlength="10000" dir="ltr" defaultValue=${given}></textarea>`);
  return field(html`<input ...${common} dir="ltr" inputmode=${setting.kind === "url" ? "url" : "text"} maxlength=${setting.kind === "url" ? 2048 : 255} defaultValue=${given}
    placeholder=${setting.kind === "url" && !given ? "https://sms.example.org/send?to={{to}}" : ""} />`);
}

/** What stands in the form; a secret that nobody typed is left as it is. @param {Setting[]} settings @param {FormData} data @returns {Record<string, string | null>} */
function readSettings(settings, data) {
  /** @type {Record<string, string | null>} */
  const read = {};
  for (const setting of settings) {
    const value = text(data, `set-${setting.name}`);
    if (setting.kind === "flag") read[setting.name] = String(data.has(`set-${setting.name}`));
    else if (!setting.is_secret || value) read[setting.name] = value || null;
  }
  return read;
}

/** @param {PresetField[]} fields @param {FormData} data @returns {Record<string, string | null>} */
const readFields = (fields, data) =>
  Object.fromEntries(fields.map((field) => [field.name, text(data, `field-${field.name}`) || null, field.is_secret]).filter(([, value, isSecret]) => value || !isSecret).map(([name, value]) => [name, value]));

/** Only what differs: the settings of a preset follow its fields, and one that is sent stays as it is. @param {Record<string, string | null>} wanted @param {Record<string, string>} present */
const changed = (wanted, present) =>
  Object.fromEntries(Object.entries(wanted).filter(([name, value]) => (value ?? "") !== (present[name] ?? "") && !(value === "false" && !(name in present))));

/** @param {FormData} data @param {string} name */
const text = (data, name) => String(data.get(name) ?? "").trim();
