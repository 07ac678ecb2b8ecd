/** Opens a ticket for the contact of a conversation. */

import { FormDialog } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { useAll } from "../shared/lists.js";
import { account } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";

/** @param {{contact: string, onClose: () => void}} props */
export default function TicketDialog({ contact, onClose }) {
  const topics = useAll("topics");
  const listed = useAll("users").filter(({ role }) => role !== "viewer" && role !== "surveyor");
  // Whoever opens it has it, also when the others come later.
  const users = listed.length > 0 || !account.value ? listed : [account.value.user];
  const key = useRef(newKey());
  const open = async (/** @type {FormData} */ data) => {
    const [topic, assignee, note] = ["topic", "assignee", "note"].map((name) => String(data.get(name) ?? "").trim() || null);
    await post("tickets", { contact, topic, assignee, note }, undefined, key.current);
    notify(t("ticket.is_opened"));
  };
  return html`
    <${FormDialog} title=${t("ticket.open_new")} submit=${t("ticket.open_new")} draft=${`ticket.new.${contact}`} onSubmit=${open} onClose=${onClose}>
      <${Field} label=${t("tickets.topic")} id="topic">
        <select id="topic" name="topic">${topics.map(({ uuid, name, system }) => html`<option key=${uuid} value=${uuid} selected=${system}>${name}</option>`)}</select>
      <//>
      <${Field} label=${t("tickets.assignee")} id="assignee">
        <select id="assignee" name="assignee">
          <option value="">${t("tickets.nobody")}</option>
          ${users.map(({ email, name }) => html`<option key=${email} value=${email} selected=${email === account.value?.user.email}>${name || email}</option>`)}
        </select>
      <//>
      <${Field} label=${t("tickets.note_text")} id="note"><textarea id="note" name="note" rows="4" maxlength="10000"></textarea><//>
    <//>
  `;
}
