/** Everything that happened with a contact, newest first. */

import { Icon } from "../parts/icons.js";
import { useKeptForm } from "../parts/kept_form.js";
import { attempt } from "../parts/notices.js";
import { Empty, Problem, Waiting } from "../parts/small.js";
import { iconOf, textOf } from "../inbox/event_line.js";
import { useThread } from "../inbox/thread_data.js";
import { newKey, post } from "../shared/api.js";
import { may } from "../shared/session.js";
import { dayKey, dayName, clock, t, word } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";

/** @param {{contact: string}} props */
export function History({ contact }) {
  const thread = useThread(contact);
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
    await thread.refresh();
  };
  const all = thread.items.toReversed().map((item) => ({
    time: item.time,
    icon: item.message ? (item.message.direction === "in" ? "inbox" : "reply") : iconOf(item),
    writer: item.message ? t(item.message.direction === "in" ? "inbox.they" : "inbox.you") : "",
    text: item.message ? item.message.text || t("inbox.file") : textOf(item),
    note: item.message?.direction === "out" ? word("state", item.message.status) : "",
  }));
  let day = "";
  const lines = all.map((entry) => {
    const isNew = dayKey(entry.time) !== day;
    day = dayKey(entry.time);
    return html`
      ${isNew && html`<li class="day"><span>${dayName(entry.time)}</span></li>`}
      <li class="history-line">
        <${Icon} name=${entry.icon} size=${16} /><time datetime=${entry.time}>${clock(entry.time)}</time>
        ${entry.writer && html`<span class="hidden">${entry.writer}</span>`}<span dir="auto">${entry.text}</span><span class="note">${entry.note}</span>
      </li>
    `;
  });
  return html`
    <section class="card history" aria-label=${t("contact.history")}>
      <h2>${t("contact.history")}</h2>
      ${may("create_contact_note") && html`<form class="note-form" onSubmit=${write} onInput=${keep} ref=${form}>
        <input name="text" required maxlength="10000" aria-label=${t("contact.note")} placeholder=${t("contact.note")} autocomplete="off" />
        <button type="submit">${t("act.save")}</button>
      </form>`}
      ${thread.problem && html`<${Problem} text=${thread.problem} onRetry=${thread.refresh} />`}
      ${thread.loading && html`<${Waiting} />`}
      ${!thread.loading && !thread.problem && all.length === 0 && html`<${Empty} icon="inbox" title=${t("inbox.empty")} />`}
      <ol>${lines}</ol>
      ${thread.hasOlder && html`<button type="button" onClick=${thread.older}>${t("inbox.older")}</button>`}
    </section>
  `;
}
