/** Puts conversations away until a time: the dialog that asks for it, and what an open conversation says of it. */

import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt, notify } from "../parts/notices.js";
import { Field } from "../parts/small.js";
import { get, post } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { may } from "../shared/session.js";
import { shortTime, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { toLocal, toMoment } from "../shared/zone_time.js";
import { snoozeText } from "./conversation_list.js";

const HOUR_MS = 3_600_000;
const LATER_HOURS = 3;
const MORNING = "09:00";
const OWN = "own";

/** The times that are offered, in the time zone of the workspace: text and local time. @param {number} now @returns {[import("../shared/texts.js").Key, string][]} */
function offered(now) {
  const today = toLocal(now).slice(0, 10);
  const dayAfter = (/** @type {number} */ days) => new Date(Date.parse(`${today}T00:00Z`) + days * 24 * HOUR_MS).toISOString().slice(0, 10);
  const later = toLocal(Math.ceil(now / HOUR_MS) * HOUR_MS + (LATER_HOURS - 1) * HOUR_MS);
  const weekday = new Date(`${today}T00:00Z`).getUTCDay();
  return [
    ...(later.startsWith(today) ? [/** @type {[import("../shared/texts.js").Key, string]} */ (["snooze.later", later])] : []),
    ["snooze.tomorrow", `${dayAfter(1)}T${MORNING}`],
    // The next Monday that is not tomorrow.
    ["snooze.week", `${dayAfter(weekday === 0 ? 8 : 8 - weekday)}T${MORNING}`],
  ];
}

/** @param {{onChosen: (until: string) => Promise<unknown>, onClose: () => void}} props */
export function SnoozeForm({ onChosen, onClose }) {
  const [times] = useState(() => offered(Date.now()));
  const [chosen, setChosen] = useState(times[0][1]);
  const [own, setOwn] = useState(times[0][1]);
  const choose = (/** @type {any} */ event) => setChosen(event.target.value);
  const until = chosen === OWN ? own : chosen;
  return html`
    <${FormDialog} title=${t("snooze.title")} submit=${t("snooze.title")} disabled=${!until} onClose=${onClose} onSubmit=${() => onChosen(toMoment(until) ?? "")}>
      <p>${t("snooze.text")}</p>
      <ul class="choices-list">
        ${times.map(([text, time]) => html`<li key=${text}><label><input type="radio" name="when" value=${time} checked=${chosen === time} onChange=${choose} />
          ${t(text)} <span class="muted">${shortTime(toMoment(time) ?? "")}</span></label></li>`)}
        <li><label><input type="radio" name="when" value=${OWN} checked=${chosen === OWN} onChange=${choose} /> ${t("snooze.own")}</label></li>
      </ul>
      ${chosen === OWN && html`<${Field} label=${t("snooze.time")} id="until">
        <input id="until" name="until" type="datetime-local" required min=${toLocal(Date.now())} value=${own} onInput=${(/** @type {any} */ event) => setOwn(event.target.value)} /><//>`}
    <//>
  `;
}

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
  useChanges(["conversation", "message"], load, (record) => ("contact" in record ? record.contact?.uuid : record.uuid) === contact && (!("contact" in record) || !!found?.snoozed_until));
  if (!found?.snoozed_until) return null;
  const { folder, snoozed_until: until, snoozed_by: by } = found;
  const end = () => post("conversations", { contacts: [contact], action: "unsnooze" });
  const again = () => post("conversations", { contacts: [contact], action: "snooze", until });
  return html`<div class="thread-bar snoozed" role="status">
    <span><${Icon} name="clock" size=${16} /> ${snoozeText(until, folder, by?.name || by?.email)}</span>
    ${may("act_on_conversations") && html`<button type="button" onClick=${() => attempt(end, t("snooze.ended"), folder === "snoozed" ? again : undefined)}>${t("snooze.end")}</button>`}
  </div>`;
}
