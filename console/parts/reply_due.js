/** Until when the first reply to a ticket is due, in words that follow the clock. */

import { now } from "../shared/clock.js";
import { duration, fullTime, t } from "../shared/texts.js";
import { classes, html } from "../shared/ui.js";
import { Icon } from "./icons.js";

/** @param {{due: string | null | undefined}} props */
export function ReplyDue({ due }) {
  if (!due) return null;
  const seconds = (Date.parse(due) - now.value) / 1000;
  // What is due in less than a minute is due in one: it is not late yet.
  const time = duration(Math.max(60, Math.abs(seconds)));
  return html`<time class=${classes("reply-due", seconds < 0 && "is-late")} datetime=${due} title=${fullTime(due)}><${Icon} name="clock" size=${13} /> ${t(seconds < 0 ? "ticket.overdue_by" : "ticket.due_in", { time })}</time>`;
}
