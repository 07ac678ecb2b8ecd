/** Writes a note about a contact; "@" names colleagues, who are told. */

import { useKeptForm } from "../parts/kept_form.js";
import { attempt } from "../parts/notices.js";
import { newKey, post } from "../shared/api.js";
import { useAll } from "../shared/lists.js";
import { account, may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"users">} User */

const ANSWERING = ["administrator", "editor", "agent"];
const MOST_FOUND = 6;
/** What the API takes. */
const MOST_MENTIONS = 20;

const nameOf = (/** @type {User} */ { name, email }) => name || email;

/** @param {{contact: string, onWritten: () => unknown}} props */
export function NoteForm({ contact, onWritten }) {
  const { form, keep, drop } = useKeptForm(`note.${contact}`);
  const [sought, setSought] = useState(/** @type {string | null} */ (null));
  const [at, setAt] = useState(0);
  const colleagues = useAll(may("create_contact_note") ? "users" : null).filter(({ role, email }) => ANSWERING.includes(role) && email !== account.value?.user.email);
  // Not by a disabled button: whoever pressed it by the keyboard would lose the focus.
  const isBusy = useRef(false);
  const sent = useRef({ text: "", key: "" });
  const write = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (isBusy.current) return;
    const input = /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (event.target).elements.namedItem("text"));
    const text = input.value;
    const mentions = mentioned(text, colleagues).slice(0, MOST_MENTIONS);
    // A note of which nobody knows whether it was saved keeps its key; after one that was, the next may say the same.
    if (sent.current.text !== text) sent.current = { text, key: newKey() };
    isBusy.current = true;
    if (await attempt(() => post("contact_notes", { contact, text, ...(mentions.length > 0 ? { mentions } : {}) }, undefined, sent.current.key))) {
      sent.current = { text: "", key: "" };
      drop();
      // What was typed meanwhile is not saved yet.
      if (input.value.startsWith(text)) input.value = input.value.slice(text.length).trimStart();
      if (input.value) keep({ target: input });
    }
    isBusy.current = false;
    await onWritten();
  };
  const found = sought === null ? [] : colleagues.filter((each) => nameOf(each).toLowerCase().includes(sought.toLowerCase())).slice(0, MOST_FOUND);
  const typed = (/** @type {Event} */ event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    setSought(/(?:^|\s)@([^@]*)$/.exec(input.value.slice(0, input.selectionStart ?? 0))?.[1] ?? null);
    setAt(0);
    keep(event);
  };
  const pick = (/** @type {User} */ colleague) => {
    const input = /** @type {HTMLInputElement | null | undefined} */ (form.current?.elements.namedItem("text"));
    if (!input) return;
    const end = input.selectionStart ?? input.value.length;
    input.setRangeText(`@${nameOf(colleague)} `, input.value.lastIndexOf("@", end - 1), end, "end");
    setSought(null);
    input.focus();
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (found.length === 0) return;
    if (event.key === "ArrowDown") setAt((at + 1) % found.length);
    else if (event.key === "ArrowUp") setAt((at - 1 + found.length) % found.length);
    else if (event.key === "Enter" || event.key === "Tab") pick(found[at]);
    else if (event.key === "Escape") setSought(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const list = `colleagues-${contact}`;
  return may("create_contact_note") && html`
    <form class="note-form" onSubmit=${write} onInput=${typed} ref=${form}>
      <input name="text" required maxlength="10000" aria-label=${t("contact.note")} placeholder=${t("contact.note")} autocomplete="off" onKeyDown=${pressed} onBlur=${() => setSought(null)}
        role="combobox" aria-autocomplete="list" aria-expanded=${found.length > 0} aria-controls=${found.length > 0 ? list : undefined} aria-activedescendant=${found[at] ? `${list}-${at}` : undefined} />
      <button type="submit">${t("act.save")}</button>
      ${found.length > 0 && html`<div class="found-replies colleagues" id=${list} role="listbox" aria-label=${t("mention.colleagues")}>
        ${found.map((each, place) => html`<div key=${each.email} id=${`${list}-${place}`} role="option" aria-selected=${place === at} class=${place === at ? "palette-entry is-present" : "palette-entry"}
          onMouseDown=${(/** @type {Event} */ event) => (event.preventDefault(), pick(each))}><bdi>${nameOf(each)}</bdi></div>`)}
      </div>`}
    </form>
  `;
}

/** The addresses of those whom a text names; a name that begins with that of another is theirs alone. @param {string} text @param {User[]} colleagues */
function mentioned(text, colleagues) {
  let rest = text;
  return colleagues.toSorted((a, b) => nameOf(b).length - nameOf(a).length).flatMap((each) => {
    const isNamed = rest.includes(`@${nameOf(each)}`);
    rest = rest.replaceAll(`@${nameOf(each)}`, " ");
    return isNamed ? [each.email] : [];
  });
}
