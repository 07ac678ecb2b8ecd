/** The form of a contact, new or known. */

import { FormDialog } from "../parts/dialog.js";
import { Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { hasTime } from "../shared/field_values.js";
import { useAll } from "../shared/lists.js";
import { addressOf } from "../shared/names.js";
import { account, workspace } from "../shared/session.js";
import { languageName, t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

/** @type {Partial<Record<FieldType, string>>} */
const INPUTS = { number: "number", datetime: "date" };

/** @typedef {import("../shared/field_values.js").FieldType} FieldType */

/** The type of the input for a field with this value. @param {FieldType} type @param {string | null | undefined} value */
const inputFor = (type, value) => (type === "datetime" && hasTime(value) ? "datetime-local" : (INPUTS[type] ?? "text"));

/**
 * @param {{contact?: import("./contact_list.js").Contact, groups: import("./contact_list.js").Group[], onClose: () => void,
 *   onDone: (contact: import("./contact_list.js").Contact) => void}} props
 */
export function ContactDialog({ contact, groups, onClose, onDone }) {
  const fields = useAll("fields");
  // The form shows and compares with what it was opened with: changes made elsewhere neither move what is typed nor are undone.
  const [opened] = useState(contact);
  const isTel = !opened || opened.urns.every((urn) => urn.startsWith("tel:"));
  const urnsText = (opened?.urns ?? []).map((urn) => (isTel ? addressOf(urn) : urn)).join("\n");
  const manual = groups.filter(isManual);
  const save = async (/** @type {FormData} */ data) => {
    const urns = urnsIn(String(data.get("urns")));
    const [name, language] = [String(data.get("name")).trim() || null, String(data.get("language")) || null];
    const isNew = (/** @type {unknown} */ typed, /** @type {unknown} */ before) => !opened || typed !== before;
    const values = Object.fromEntries(fields.filter(isOpen).flatMap(({ key, type }) => {
      const [old, typed] = [shown(opened?.fields[key ?? ""], type), String(data.get(`field-${key}`) ?? "").trim()];
      return key && typed !== old ? [[key, typed || null]] : [];
    }));
    const body = {
      ...(isNew(name, opened?.name) ? { name } : {}),
      ...(isNew(language, opened?.language) ? { language } : {}),
      ...groupsOf(opened, contact, groups, data),
      fields: values,
      ...(!isMasked(opened) && isNew(urns.join(), urnsIn(urnsText).join()) ? { urns } : {}),
    };
    const written = await post("contacts", body, contact ? { uuid: contact.uuid } : undefined);
    onDone(/** @type {any} */ (written));
  };
  return html`
    <${FormDialog} title=${t(contact ? "contacts.edit" : "contacts.add")} submit=${t("act.save")} draft=${`contact.${contact?.uuid ?? ""}`} onSubmit=${save} onClose=${onClose} wide>
      <div class="form-grid">
        <${Field} label=${t("contact.name")} id="name"><input id="name" name="name" maxlength="64" defaultValue=${opened?.name ?? ""} /><//>
        <${Field} label=${t("contact.language")} id="language">
          <select id="language" name="language">
            <option value="">–</option>
            ${languages(opened).map((code) => html`<option key=${code} value=${code} selected=${code === opened?.language}>${languageName(code)}</option>`)}
          </select>
        <//>
        <${Field} label=${t("contact.address")} id="urns" help=${t("contacts.urns_help")}>
          <textarea id="urns" name="urns" rows="2" disabled=${isMasked(opened)} aria-describedby="urns-help"
            defaultValue=${urnsText}></textarea>
        <//>
        <fieldset class="field">
          <legend>${t("contact.groups")}</legend>
          <ul class="choices-list">
            ${manual.map(({ uuid, name }) => html`<li key=${uuid}><label><input type="checkbox" name=${`group-${uuid}`}
              defaultChecked=${opened?.groups.some((group) => group.uuid === uuid)} /> ${name}</label></li>`)}
          </ul>
        </fieldset>
        ${fields.map((field) => html`
          <${Field} key=${field.key} label=${field.name} id=${`field-${field.key}`}>
            <input id=${`field-${field.key}`} name=${`field-${field.key}`} type=${inputFor(field.type, opened?.fields[field.key ?? ""])} step=${field.type === "number" ? "any" : undefined} disabled=${!isOpen(field)}
              defaultValue=${shown(opened?.fields[field.key ?? ""], field.type)} />
          <//>`)}
      </div>
    <//>
  `;
}

/** The addresses that somebody typed; a number alone is a phone. @param {string} typed */
const urnsIn = (typed) =>
  typed.split(/[\n,;]+/).map((text) => text.trim()).filter(Boolean).map((text) => (text.includes(":") ? text : `tel:${text}`));

/** @param {import("./contact_list.js").Group} group */
const isManual = ({ query, system }) => !query && !system;

/**
 * The groups to send: only if a tick changed since the form was opened. Those that the list of groups did not bring stay, and
 * so does what was changed elsewhere.
 * @param {import("./contact_list.js").Contact | undefined} opened
 * @param {import("./contact_list.js").Contact | undefined} contact as it is now
 * @param {import("./contact_list.js").Group[]} groups
 * @param {FormData} data
 */
function groupsOf(opened, contact, groups, data) {
  const before = new Set(opened?.groups.map(({ uuid }) => uuid));
  const after = new Set(contact?.groups.map(({ uuid }) => uuid));
  let isChanged = false;
  for (const group of groups) {
    if (!isManual(group)) after.delete(group.uuid);
    const isTicked = data.has(`group-${group.uuid}`);
    if (!isManual(group) || isTicked === before.has(group.uuid)) continue;
    isChanged = true;
    if (isTicked) after.add(group.uuid);
    else after.delete(group.uuid);
  }
  return isChanged ? { groups: [...after] } : {};
}

/** Whether the API would take a value: one that it refuses takes the other changes with it. @param {import("../shared/contract.js").Listed<"fields">} field */
const isOpen = ({ agent_access: access }) => account.value?.workspace.role !== "agent" || access === "edit";

/** A value as its input shows it. @param {string | null | undefined} value @param {FieldType} type */
const shown = (value, type) => (type === "datetime" ? (value ?? "").slice(0, hasTime(value) ? 16 : 10) : (value ?? ""));

/** Whether addresses are hidden from people. @param {import("./contact_list.js").Contact | undefined} contact */
const isMasked = (contact) => !!contact?.urns.some((urn) => urn.includes("***"));

/** @param {import("./contact_list.js").Contact | undefined} contact */
const languages = (contact) => [...new Set([...(workspace.value?.languages ?? []), contact?.language ?? ""])].filter(Boolean);
