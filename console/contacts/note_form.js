/** Writes a note about a contact; "@" names colleagues, who are told. */

import { useKeptForm } from "../parts/kept_form.js";
import { attempt } from "../parts/notices.js";
import { newKey, post } from "../shared/api.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";
import { MentionInput, mentionsIn, useColleagues } from "./mention_input.js";

/** @param {{contact: string, onWritten: () => unknown}} props */
export function NoteForm({ contact, onWritten }) {
  const { form, keep, drop } = useKeptForm(`note.${contact}`);
  const colleagues = useColleagues(may("create_contact_note"));
  // Not by a disabled button: whoever pressed it by the keyboard would lose the focus.
  const isBusy = useRef(false);
  const sent = useRef({ text: "", key: "" });
  const write = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (isBusy.current) return;
    const input = /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (event.target).elements.namedItem("text"));
    const text = input.value;
    // A note of which nobody knows whether it was saved keeps its key; after one that was, the next may say the same.
    if (sent.current.text !== text) sent.current = { text, key: newKey() };
    isBusy.current = true;
    if (await attempt(() => post("contact_notes", { contact, text, ...mentionsIn(text, colleagues) }, undefined, sent.current.key))) {
      sent.current = { text: "", key: "" };
      drop();
      // What was typed meanwhile is not saved yet.
      if (input.value.startsWith(text)) input.value = input.value.slice(text.length).trimStart();
      if (input.value) keep({ target: input });
    }
    isBusy.current = false;
    await onWritten();
  };
  return may("create_contact_note") && html`
    <form class="note-form" onSubmit=${write} onInputCapture=${keep} ref=${form}>
      <${MentionInput} name="text" list=${`colleagues-${contact}`} colleagues=${colleagues} aria-label=${t("contact.note")} placeholder=${t("contact.note")} />
      <button type="submit">${t("act.save")}</button>
    </form>
  `;
}
