/** Makes two contacts one, once somebody has read what that means. */

import { ContactPicker } from "../parts/contact_picker.js";
import { FormDialog } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { newKey, post } from "../shared/api.js";
import { addressOf, displayName } from "../shared/names.js";
import { t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/** @typedef {import("./contact_list.js").Contact} Contact */
/** @typedef {Pick<Contact, "uuid" | "name" | "urns">} Person */

/**
 * With two contacts somebody chooses which one stays; with one, the other is looked for.
 * @param {{contacts: Person[], onClose: () => void, onDone: (kept: Contact) => void}} props
 */
export function MergeDialog({ contacts, onClose, onDone }) {
  const [kept, setKept] = useState(contacts[0]);
  const [found, setFound] = useState(/** @type {Contact | null} */ (null));
  const key = useRef(newKey());
  const other = contacts.length > 1 ? contacts.find(({ uuid }) => uuid !== kept.uuid) : found;
  const name = nameOf(kept);
  const merge = async () => {
    if (!other) return;
    const written = await post("contact_merges", { contact: kept.uuid, other: other.uuid }, undefined, key.current);
    notify(t("contacts.merged"));
    onDone(/** @type {Contact} */ (written));
  };
  return html`
    <${FormDialog} title=${t("contacts.merge")} submit=${t("contacts.merge_two")} danger disabled=${!other} onSubmit=${merge} onClose=${onClose}>
      ${contacts.length > 1
        ? html`<fieldset class="field"><legend>${t("contacts.merge_keep")}</legend>
            <ul class="choices-list">${contacts.map((contact) => html`<li key=${contact.uuid}><label>
              <input type="radio" name="kept" checked=${contact.uuid === kept.uuid} onChange=${() => setKept(contact)} />
              <span>${nameOf(contact)} <bdi class="faint">${addressOf(contact.urns[0])}</bdi></span></label></li>`)}</ul></fieldset>`
        : html`<${ContactPicker} id="merge-other" label=${t("contacts.merge_other")} chosen=${found} onPick=${setFound} without=${kept.uuid} />`}
      <p>${t("contacts.merge_text", { name })}</p>
    <//>
  `;
}

const nameOf = (/** @type {Person} */ contact) => displayName(contact.name, contact.urns[0]);
