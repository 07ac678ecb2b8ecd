/** Writes a note about a contact. */

import { useKeptForm } from "../parts/kept_form.js";
import { attempt } from "../parts/notices.js";
import { newKey, post } from "../shared/api.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";

/** @param {{contact: string, onWritten: () => unknown}} props */
export function NoteForm({ contact, onWritten }) {
  const { form, keep, drop } = useKeptForm(`note.${contact}`);
  // Not by a disabled button: whoever pressed it by the keyboard would lose the focus.
  const isBusy = useRef(false);
  const sent = useRef({ text: "", key: "" });
  const write = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (isBusy.current) return;
    const written = /** @type {HTMLFormElement} */ (event.target);
    const text = String(new FormData(written).get("text"));
    // A note of which nobody knows whether it was saved keeps its key; after one that was, the next may say the same.
    if (sent.current.text !== text) sent.current = { text, key: newKey() };
    isBusy.current = true;
    if (await attempt(() => post("contact_notes", { contact, text }, undefined, sent.current.key))) {
      sent.current = { text: "", key: "" };
      drop(), written.reset();
    }
    isBusy.current = false;
    await onWritten();
  };
  return may("create_contact_note") && html`
    <form class="note-form" onSubmit=${write} onInput=${keep} ref=${form}>
      <input name="text" required maxlength="10000" aria-label=${t("contact.note")} placeholder=${t("contact.note")} autocomplete="off" />
      <button type="submit">${t("act.save")}</button>
    </form>
  `;
}
