/** Puts conversations away until a time: the dialog that asks for it, and what an open conversation says of it. */

import { Icon } from "../parts/icons.js";
import { attempt, notify } from "../parts/notices.js";
import { get, post } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { may } from "../shared/session.js";
import { shortTime, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { snoozeText } from "./conversation_list.js";
import { WhenForm } from "./when_form.js";

/** @param {{onChosen: (until: string) => Promise<unknown>, onClose: () => void}} props */
export const SnoozeForm = (props) => html`<${WhenForm} title=${t("snooze.title")} text=${t("snooze.text")} ...${props} />`;

/** Snoozes one conversation. @param {{contact: string, onClose: () => void}} props */
export default function SnoozeDialog({ contact, onClose }) {
  const snooze = async (/** @type {string} */ until) => {
    const undo = () => post("conversations", { contacts: [contact], action: "unsnooze" });
    // The dialog shows what the service refuses.
    await post("conversations", { contacts: [contact], action: "snooze", until });
    notify(t("snooze.done", { time: shortTime(until) }), false, undo);
  };
  return html`<${SnoozeForm} onChosen=${snooze} onClose=${onClose} />`;
}

/** @param {{contact: string}} props */
export function Snoozed({ contact }) {
  const [found, setFound] = useState(/** @type {Pick<import("../shared/contract.js").Records["conversation"], "folder" | "snoozed_until" | "snoozed_by"> | undefined} */ (undefined));
  const load = () => get("conversations", { contact, fields: ["folder", "snoozed_until", "snoozed_by"] }).then(({ results }) => setFound(results[0]), () => {});
  useEffect(() => void load(), [contact]);
  // Most changes, such as that somebody read it, say nothing of this.
  const isOther = (/** @type {NonNullable<typeof found>} */ told) => told.folder !== found?.folder || told.snoozed_until !== found?.snoozed_until;
  useChanges(["conversation", "message"], load, (record) => ("snoozed_until" in record ? record.uuid === contact && isOther(record) : record.contact?.uuid === contact && !!found?.snoozed_until));
  if (!found?.snoozed_until) return null;
  const { folder, snoozed_until: until, snoozed_by: by } = found;
  // Whoever is not told by the stream now sees it all the same.
  const end = () => post("conversations", { contacts: [contact], action: "unsnooze" }).then(load);
  const again = () => post("conversations", { contacts: [contact], action: "snooze", until }).then(load);
  return html`<div class="thread-bar snoozed" role="status">
    <span><${Icon} name="clock" size=${16} /> ${snoozeText(until, folder, by?.name || by?.email)}</span>
    ${may("act_on_conversations") && html`<button type="button" onClick=${() => attempt(end, t("snooze.ended"), folder === "snoozed" ? again : undefined)}>${t("snooze.end")}</button>`}
  </div>`;
}
