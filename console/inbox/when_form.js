/** Asks for a time ahead: some that are often meant, or any other. */

import { FormDialog } from "../parts/dialog.js";
import { Field } from "../parts/small.js";
import { shortTime, t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { toLocal, toMoment } from "../shared/zone_time.js";

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

/** @param {{title: string, text: string, onChosen: (time: string) => Promise<unknown>, onClose: () => void}} props `time` is one of the API */
export function WhenForm({ title, text, onChosen, onClose }) {
  const [times] = useState(() => offered(Date.now()));
  const [chosen, setChosen] = useState(times[0][1]);
  const [own, setOwn] = useState(times[0][1]);
  const choose = (/** @type {any} */ event) => setChosen(event.target.value);
  const until = chosen === OWN ? own : chosen;
  return html`
    <${FormDialog} title=${title} submit=${title} disabled=${!until} onClose=${onClose} onSubmit=${() => onChosen(toMoment(until) ?? "")}>
      <p>${text}</p>
      <ul class="choices-list">
        ${times.map(([name, time]) => html`<li key=${name}><label><input type="radio" name="when" value=${time} checked=${chosen === time} onChange=${choose} />
          ${t(name)} <span class="muted">${shortTime(toMoment(time) ?? "")}</span></label></li>`)}
        <li><label><input type="radio" name="when" value=${OWN} checked=${chosen === OWN} onChange=${choose} /> ${t("snooze.own")}</label></li>
      </ul>
      ${chosen === OWN && html`<${Field} label=${t("snooze.time")} id="until">
        <input id="until" name="until" type="datetime-local" required min=${toLocal(Date.now())} value=${own} onInput=${(/** @type {any} */ event) => setOwn(event.target.value)} /><//>`}
    <//>
  `;
}
