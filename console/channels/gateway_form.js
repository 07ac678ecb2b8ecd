/** Adding a gateway, and changing how one is called: a form from what its type declares. */

import { FormDialog } from "../parts/dialog.js";
import { Field, Problem, Waiting } from "../parts/small.js";
import { get, newKey, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { t, word } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {import("../shared/contract.js").Found<"channel_types">["types"][number]} Type
 * @typedef {Type["settings"][number]} Setting
 * @typedef {import("../shared/contract.js").Listed<"channel_settings">} Settings
 * @typedef {import("../shared/contract.js").Sent<"channel_settings">} Changes
 */

const HIDDEN = "***";

/** Without `present` a new gateway. @param {{present?: Settings, onDone: (uuid: string) => void, onClose: () => void}} props */
export function GatewayDialog({ present, onDone, onClose }) {
  const [types, setTypes] = useState(/** @type {Type[] | null} */ (null));
  const [chosen, setChosen] = useState(present?.type ?? "");
  const [problem, setProblem] = useState("");
  const key = useRef(newKey());
  const load = () => get("channel_types").then((found) => (setTypes(found.types.filter((each) => !each.is_phone)), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void load(), []);
  const type = types?.find((each) => each.type === chosen) ?? types?.[0];
  const save = async (/** @type {FormData} */ data) => {
    if (!type) return;
    const limit = String(data.get("limit")).trim();
    const changes = { name: text(data, "name"), messages_per_second: limit ? Number(limit) : null, settings: readSettings(type.settings, data) };
    /** @type {Changes} */
    const made = { ...changes, type: type.type, address: text(data, "address"), scheme: text(data, "scheme"), country: text(data, "country").toUpperCase() };
    const saved = await post("channel_settings", present ? changes : made, present && { uuid: present.uuid }, key.current);
    onDone(saved.uuid);
  };
  return html`
    <${FormDialog} title=${present ? t("gateway.change") : t("gateway.add")} submit=${present ? t("act.save") : t("gateway.add")}
      draft=${`gateway.${present?.uuid ?? ""}`} onSubmit=${save} onClose=${onClose} disabled=${!type} wide>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!type && !problem && html`<${Waiting} />`}
      ${type && html`
        ${!present && html`<p class="help">${t("gateway.help")}</p>`}
        <div class="form-grid">
          ${!present && types && types.length > 1 && html`<${Field} label=${t("channels.type")} id="type">
            <select id="type" name="type" onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>
              ${types.map((each) => html`<option key=${each.type} value=${each.type} selected=${each === type}>${each.type}</option>`)}
            </select><//>`}
          <${Field} label=${t("channels.name")} id="name"><input id="name" name="name" required maxlength="64" defaultValue=${present?.name ?? ""} /><//>
          ${!present && html`
            <${Field} label=${t("gateway.address")} id="address" help=${t("gateway.address_help")}><input id="address" name="address" required maxlength="255" aria-describedby="address-help" /><//>
            <${Field} label=${t("gateway.country")} id="country" help=${t("gateway.country_help")}><input id="country" name="country" maxlength="2" pattern="[A-Za-z]{2}" autocapitalize="characters" aria-describedby="country-help" /><//>
            <${Field} label=${t("gateway.scheme")} id="scheme"><select id="scheme" name="scheme">
              ${type.schemes.map((scheme) => html`<option key=${scheme} selected=${scheme === "tel"}>${scheme}</option>`)}
            </select><//>`}
          <${Field} label=${t("gateway.limit")} id="limit" help=${t("gateway.limit_help")}><input id="limit" name="limit" type="number" min="0.01" max="10000" step="0.01" defaultValue=${present?.messages_per_second ?? ""} aria-describedby="limit-help" /><//>
        </div>
        <fieldset class="boxed" key=${type.type}><legend>${t("gateway.settings")}</legend>
          ${type.settings.map((setting) => html`<${Input} key=${setting.name} setting=${setting} value=${present?.settings[setting.name]} isNew=${!present} />`)}
        </fieldset>
      `}
    <//>
  `;
}

/** The text of a setting in the person's language, or the API's own. @param {Setting} setting */
export const nameOf = (setting) => word("gateway_setting", setting.name);

/** @param {Setting} setting */
function helpOf(setting) {
  const told = word("gateway_help", setting.name);
  return told === setting.name.replaceAll("_", " ") ? setting.help : told;
}

/** One setting as its kind asks for it. @param {{setting: Setting, value?: string, isNew: boolean}} props */
function Input({ setting, value, isNew }) {
  const id = `set-${setting.name}`;
  const given = value ?? (isNew ? (setting.default ?? "") : "");
  const common = { id, name: id, required: setting.is_required, "aria-describedby": `${id}-help` };
  const field = (/** @type {any} */ control) => html`<${Field} label=${nameOf(setting)} id=${id} help=${helpOf(setting)}>${control}<//>`;
  if (setting.kind === "flag") {
    return html`<div class="field"><label class="event-check"><input ...${common} type="checkbox" defaultChecked=${given === "true"} /> ${nameOf(setting)}</label>
      <p class="help" id=${`${id}-help`}>${helpOf(setting)}</p></div>`;
  }
  if (setting.choices) {
    return field(html`<select ...${common}>${setting.choices.map((choice) => html`<option key=${choice} selected=${choice === given}>${choice}</option>`)}</select>`);
  }
  if (setting.kind === "number") {
    return field(html`<input ...${common} type="number" min=${setting.minimum} max=${setting.maximum} defaultValue=${given} />`);
  }
  if (setting.kind === "secret") {
    return field(html`<input ...${common} type="password" autocomplete="new-password" maxlength="10000" placeholder=${value === HIDDEN ? t("gateway.unchanged") : ""} />`);
  }
  if (setting.kind === "text") return field(html`<textarea ...${common} rows="4" maxlength="10000" dir="ltr" defaultValue=${given}></textarea>`);
  return field(html`<input ...${common} dir="ltr" inputmode=${setting.kind === "url" ? "url" : "text"} maxlength=${setting.kind === "url" ? 2048 : 255} defaultValue=${given}
    placeholder=${setting.kind === "url" ? "https://sms.example.org/send?to={{to}}" : ""} />`);
}

/** @param {Setting[]} settings @param {FormData} data @returns {Record<string, string | null>} */
function readSettings(settings, data) {
  /** @type {Record<string, string | null>} */
  const read = {};
  for (const setting of settings) {
    const value = text(data, `set-${setting.name}`);
    if (setting.kind === "flag") read[setting.name] = String(data.has(`set-${setting.name}`));
    else if (setting.kind !== "secret" || value) read[setting.name] = value || null;
  }
  return read;
}

/** @param {FormData} data @param {string} name */
const text = (data, name) => String(data.get(name) ?? "").trim();
