/** A ticket and what can be done with it, beside its conversation. */

import { MentionInput, mentionsIn, useColleagues } from "../contacts/mention_input.js";
import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { ReplyDue } from "../parts/reply_due.js";
import { Badge, Field } from "../parts/small.js";
import { get, post, Refused } from "../shared/api.js";
import { useCached, revalidateOnFocus, withChosen } from "../shared/lists.js";
import { account, may } from "../shared/session.js";
import { duration, t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/** @param {import("./page.js").Ticket} ticket */
const topicOf = (ticket) => ticket.topic.uuid;

/** @param {import("./page.js").Ticket} ticket */
const assigneeOf = (ticket) => ticket.assignee?.email ?? "";

/** @param {{email: string, name?: string}} user */
const nameOf = ({ email, name }) => name || email;

/** @param {string} uuid */
const isOpenNow = async (uuid) => (await get("tickets", { uuid, fields: ["status"] })).results[0]?.status === "open";

/** @param {{ticket: import("./page.js").Ticket, topics: any[], canReopen: boolean, onDone: () => void}} props one that is closed cannot be reopened while the contact has an open one */
export function TicketCard({ ticket, topics, canReopen, onDone }) {
  const [noting, setNoting] = useState(false);
  // Who left the workspace or has another role now is in no list, and still has the ticket.
  const users = withChosen(useCached(may("act_on_tickets") ? "users" : null).filter(({ role }) => role !== "viewer" && role !== "surveyor"), [ticket.assignee], "email");
  const colleagues = useColleagues(noting);
  const tickets = [ticket.uuid];
  const present = useRef(ticket);
  present.current = ticket;
  const act = (/** @type {any} */ body, /** @type {string} */ done, /** @type {any} */ inverse) => {
    const run = async (/** @type {any} */ deed) => {
      const told = await post("ticket_actions", { tickets, ...deed });
      onDone();
      if (deed.action === "reopen" && told?.failures.length && !(await isOpenNow(ticket.uuid))) throw new Refused(409, t("ticket.not_reopened"), {});
    };
    return attempt(() => run(body), done, () => run(inverse));
  };
  const assign = (/** @type {string} */ email) => ({ action: "assign", assignee: email || null });
  const turn = (/** @type {boolean} */ isOpen) => ({ action: isOpen ? "reopen" : "close" });
  // Nothing draws a choice anew that was refused: the ticket is as it was.
  const choose = async (/** @type {HTMLSelectElement} */ select, /** @type {(value: string) => any} */ bodyOf, /** @type {string} */ done, /** @type {(ticket: import("./page.js").Ticket) => string} */ valueOf) => {
    if (!(await act(bodyOf(select.value), done, bodyOf(valueOf(ticket))))) select.value = valueOf(present.current);
  };
  const mine = account.value?.user.email ?? "";
  const isOpen = ticket.status === "open";
  const note = async (/** @type {FormData} */ data) => {
    const text = String(data.get("note"));
    await post("ticket_actions", { tickets, action: "add_note", note: text, ...mentionsIn(text, colleagues) });
    onDone();
  };
  const seconds = ticket.closed_on ? (Date.parse(ticket.closed_on) - Date.parse(ticket.opened_on)) / 1000 : 0;
  return html`
    <div class="ticket-card">
      <${Icon} name="ticket" size=${18} />
      <${Badge} tone=${isOpen ? "warn" : "good"}>${isOpen ? t("ticket.open") : t("ticket.closed_after", { time: duration(seconds) })}<//>
      <${ReplyDue} due=${ticket.reply_due} />
      ${may("act_on_tickets")
        ? html`
            <select aria-label=${t("tickets.topic")} ...${revalidateOnFocus("topics")} onChange=${(/** @type {any} */ event) => choose(event.target, (topic) => ({ action: "change_topic", topic }), t("ticket.topic_changed"), topicOf)}>
              ${withChosen(topics, [ticket.topic]).map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === topicOf(ticket)}>${name}</option>`)}
            </select>
            <select aria-label=${t("tickets.assignee")} ...${revalidateOnFocus("users")} onChange=${(/** @type {any} */ event) => choose(event.target, assign, t("ticket.is_assigned"), assigneeOf)}>
              <option value="" selected=${!ticket.assignee}>${t("tickets.nobody")}</option>
              ${users.map(({ email, name }) => html`<option key=${email} value=${email} selected=${email === assigneeOf(ticket)}>${name || email}</option>`)}
            </select>
            ${ticket.assignee?.email !== mine && html`<button type="button" onClick=${() => act(assign(mine), t("ticket.is_assigned"), assign(assigneeOf(ticket)))}>${t("tickets.take")}</button>`}
            <button type="button" onClick=${() => setNoting(true)}>${t("tickets.note")}</button>
            ${(isOpen || canReopen) && html`<button type="button" class=${isOpen ? "primary" : ""} onClick=${() => act(turn(!isOpen), t(isOpen ? "ticket.is_closed" : "ticket.is_reopened"), turn(isOpen))}>${t(isOpen ? "tickets.close" : "tickets.reopen")}</button>`}
          `
        : html`<span>${ticket.topic.name}</span><span>${ticket.assignee ? nameOf(ticket.assignee) : t("tickets.nobody")}</span>`}
      ${noting &&
      html`<${FormDialog} title=${t("tickets.note")} submit=${t("act.save")} draft=${`ticket.note.${ticket.uuid}`} onSubmit=${note} onClose=${() => setNoting(false)}>
        <${Field} label=${t("tickets.note_text")} id="note"><${MentionInput} as="textarea" id="note" name="note" rows="4" list=${`colleagues-${ticket.uuid}`} colleagues=${colleagues} /><//>
      <//>`}
    </div>
  `;
}
