/** What happened besides messages, in a line. */

import { Icon } from "../parts/icons.js";
import { clock, fullTime, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @typedef {import("./thread_data.js").Item} Item */

/** @type {Record<string, string>} */
const ICONS = { channel_event: "call", run_started: "flow", run_ended: "flow", ticket_event: "ticket", note: "bookmark", created: "person" };

/** @param {Item} item */
export const iconOf = ({ type }) => ICONS[type] ?? "info";

/** @param {{email: string, name?: string} | null | undefined} user */
export const whoIs = (user) => user?.name || user?.email || "";

/** The item in words. @param {Item} item */
export function textOf({ type, channel_event, run, ticket_event, note }) {
  if (channel_event) return word("channel_event", channel_event.type ?? "");
  if (run) return `${run.flow.name}: ${type === "run_started" ? t("flow.started") : word("flow", run.status)}`;
  if (note) return `${whoIs(note.user)}: ${note.text}`;
  if (ticket_event) {
    const what = word("ticket_event", ticket_event.type);
    const more = ticket_event.note ?? (ticket_event.type === "assigned" ? (whoIs(ticket_event.assignee) || t("tickets.nobody")) : ticket_event.topic?.name);
    return [whoIs(ticket_event.user), what, more].filter(Boolean).join(" · ");
  }
  return t("contact.created");
}

/** @param {{item: Item}} props */
export const EventLine = ({ item }) => html`
  <li class=${item.note || item.ticket_event?.note ? "event note" : "event"}>
    <${Icon} name=${iconOf(item)} size=${16} />
    <span dir="auto">${textOf(item)}</span>
    <time datetime=${item.time} title=${fullTime(item.time)}>${clock(item.time)}</time>
  </li>
`;
