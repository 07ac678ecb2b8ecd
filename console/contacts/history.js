/** Everything that happened with a contact, newest first. */

import { Icon } from "../parts/icons.js";
import { Empty, Problem, Waiting } from "../parts/small.js";
import { useThread } from "../inbox/thread_data.js";
import { dayKey, dayName, clock, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @param {{contact: string}} props */
export function History({ contact }) {
  const thread = useThread(contact);
  const all = [
    ...thread.messages.map((message) => ({ time: message.created_on, icon: message.direction === "in" ? "inbox" : "reply", text: message.text || t("inbox.file"), note: message.direction === "out" ? word("state", message.status) : "" })),
    ...thread.events.map((event) => ({ time: event.time, icon: event.kind, text: `${event.name ? `${event.name}: ` : ""}${word(event.kind, event.word)}`, note: "" })),
  ].sort((a, b) => (a.time < b.time ? 1 : -1));
  let day = "";
  const lines = all.map((entry) => {
    const isNew = dayKey(entry.time) !== day;
    day = dayKey(entry.time);
    return html`
      ${isNew && html`<li class="day"><span>${dayName(entry.time)}</span></li>`}
      <li class="history-line">
        <${Icon} name=${entry.icon} size=${16} /><time datetime=${entry.time}>${clock(entry.time)}</time>
        <span dir="auto">${entry.text}</span><span class="note">${entry.note}</span>
      </li>
    `;
  });
  return html`
    <section class="card history" aria-label=${t("contact.history")}>
      <h2>${t("contact.history")}</h2>
      ${thread.problem && html`<${Problem} text=${thread.problem} onRetry=${thread.refresh} />`}
      ${thread.loading && html`<${Waiting} />`}
      ${!thread.loading && all.length === 0 && html`<${Empty} icon="inbox" title=${t("inbox.empty")} />`}
      <ol>${lines}</ol>
      ${thread.hasOlder && html`<button type="button" onClick=${thread.older}>${t("inbox.older")}</button>`}
    </section>
  `;
}
