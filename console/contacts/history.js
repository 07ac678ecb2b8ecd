/** Everything that happened with a contact, newest first. */

import { Icon } from "../parts/icons.js";
import { Empty, Problem, Waiting } from "../parts/small.js";
import { iconOf, textOf } from "../inbox/event_line.js";
import { useThread } from "../inbox/thread_data.js";
import { authorName, useAuthors } from "../shared/authors.js";
import { dayKey, dayName, clock, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { NoteForm } from "./note_form.js";

/** @param {{contact: string}} props */
export function History({ contact }) {
  const thread = useThread(contact);
  useAuthors();
  const all = thread.items.toReversed().map((item) => ({
    time: item.time,
    icon: item.message ? (item.message.direction === "in" ? "inbox" : "reply") : iconOf(item),
    writer: item.message ? item.message.direction === "in" ? t("inbox.they") : `${authorName(item.message)}:` : "",
    isOut: item.message?.direction === "out",
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
        <span>${entry.writer && html`<span class=${entry.isOut ? "faint" : "hidden"}><bdi>${entry.writer}</bdi></span> `}<bdi>${entry.text}</bdi></span><span class="note">${entry.note}</span>
      </li>
    `;
  });
  return html`
    <section class="card history" aria-label=${t("contact.history")}>
      <h2>${t("contact.history")}</h2>
      <${NoteForm} contact=${contact} onWritten=${thread.refresh} />
      ${thread.problem && html`<${Problem} text=${thread.problem} onRetry=${thread.refresh} />`}
      ${thread.loading && html`<${Waiting} />`}
      ${!thread.loading && !thread.problem && all.length === 0 && html`<${Empty} icon="inbox" title=${t("inbox.empty")} />`}
      <ol>${lines}</ol>
      ${thread.hasOlder && html`<button type="button" onClick=${thread.older}>${t("inbox.older")}</button>`}
    </section>
  `;
}
