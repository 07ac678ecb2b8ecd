/** Fields in which somebody finds contacts by name or number. */

import { useList } from "../shared/lists.js";
import { addressOf, displayName } from "../shared/names.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { Icon } from "./icons.js";
import { Avatar, Field, Waiting } from "./small.js";

/** @typedef {import("../shared/contract.js").Listed<"contacts">} Contact */

const SEARCH_MS = 300;
const SHOWN = 6;

/** @param {{id: string, label: string, chosen: Contact | null, onPick: (contact: Contact | null) => void, without?: string}} props */
export function ContactPicker({ id, label, chosen, onPick, without }) {
  const [typed, setTyped] = useState("");
  const [sought, setSought] = useState("");
  useEffect(() => {
    const later = setTimeout(() => setSought(typed.trim()), SEARCH_MS);
    return () => clearTimeout(later);
  }, [typed]);
  const list = useList("contacts", sought ? { query: sought } : null);
  const found = list.items.filter(({ uuid }) => uuid !== without).slice(0, SHOWN);
  return html`
    <${Field} label=${label} id=${id}>
      <input id=${id} type="search" autocomplete="off" placeholder=${t("contacts.find")} value=${typed}
        onInput=${(/** @type {any} */ event) => (setTyped(event.target.value), onPick(null))} />
      ${sought && list.loading && html`<${Waiting} />`}
      ${sought && list.problem && html`<p class="problem" role="alert">${list.problem}</p>`}
      ${sought && !list.loading && !list.problem && found.length === 0 && html`<p class="help" role="status">${t("contacts.none_found")}</p>`}
      ${sought && found.length > 0 && html`<ul class="choices-list" aria-label=${label}>
        ${found.map((contact) => html`<li key=${contact.uuid}><label>
          <input type="radio" name=${`${id}-found`} value=${contact.uuid} checked=${chosen?.uuid === contact.uuid} onChange=${() => onPick(contact)} />
          <${Avatar} name=${contact.name} id=${contact.uuid} />
          <span><bdi>${displayName(contact.name, contact.urns[0])}</bdi> <bdi class="faint">${contact.name ? addressOf(contact.urns[0]) : ""}</bdi></span>
        </label></li>`)}
      </ul>`}
    <//>
  `;
}

/** @typedef {{uuid: string, name: string}} Named */

/** Several contacts: those that were chosen, and a field that finds more. @param {{id: string, label: string, contacts: Named[], onChange: (contacts: Named[]) => void}} props */
export function ChosenContacts({ id, label, contacts, onChange }) {
  const add = (/** @type {Contact | null} */ contact) => {
    if (!contact || contacts.some(({ uuid }) => uuid === contact.uuid)) return;
    onChange([...contacts, { uuid: contact.uuid, name: displayName(contact.name, contact.urns[0]) }]);
  };
  return html`
    <${ContactPicker} id=${id} label=${label} chosen=${null} onPick=${add} />
    ${contacts.length > 0 && html`<ul class="files">
      ${contacts.map(({ uuid, name }) => html`<li key=${uuid}><bdi>${name}</bdi>
        <button type="button" class="quiet tiny" aria-label=${t("reply.remove_file", { name })}
          onClick=${() => onChange(contacts.filter((other) => other.uuid !== uuid))}><${Icon} name="close" size=${14} /></button></li>`)}
    </ul>`}
  `;
}
