/** The part of a team's form that says when it works, what others are told at another time, and how soon it replies. */

import { Field } from "../parts/small.js";
import { t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { dayNames, DAYS as LETTERS } from "../shared/weekdays.js";

/** @typedef {import("../shared/contract.js").Listed<"teams">} Team */

/** @type {Team["hours"][number]["day"][]} */
const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MOST_HOLIDAYS = 100;
const NONE = /** @type {string[]} */ ([]);

/** What the fields of the form say. @param {FormData} data */
export function readHours(data) {
  const field = (/** @type {string} */ name) => String(data.get(name) ?? "");
  const spans = DAYS.map((day) => ({ day, opens: field(`opens_${day}`), closes: field(`closes_${day}`) }));
  return {
    hours: spans.filter(({ opens, closes }) => opens || closes),
    holidays: Array.from({ length: MOST_HOLIDAYS }, (_, at) => field(`holiday_${at}`)).filter(Boolean),
    closed_text: field("closed_text"),
    reply_minutes: Number(field("reply_minutes") || 0),
  };
}

/** @param {{team: Partial<Team>}} props */
export function TeamHours({ team }) {
  const spans = new Map(team.hours?.map((span) => [span.day, span]));
  const names = dayNames(LETTERS);
  return html`
    <fieldset class="field"><legend>${t("team.hours")}</legend>
      <p class="help">${t("team.hours_help")}</p>
      <ul class="week-hours">${DAYS.map((day, at) => html`<${Day} key=${day} day=${day} name=${names[at]} span=${spans.get(day)} />`)}</ul>
    </fieldset>
    <${Holidays} days=${team.holidays ?? NONE} />
    <${Field} label=${t("team.closed_text")} id="closed_text" help=${t("team.closed_text_help")}>
      <textarea id="closed_text" name="closed_text" rows="2" maxlength="640" dir="auto" aria-describedby="closed_text-help" defaultValue=${team.closed_text ?? ""}></textarea><//>
    <${Field} label=${t("team.reply_minutes")} id="reply_minutes" help=${t("team.reply_minutes_help")}>
      <input id="reply_minutes" name="reply_minutes" type="number" inputmode="numeric" min="0" max="10080" aria-describedby="reply_minutes-help" defaultValue=${team.reply_minutes || ""} /><//>
  `;
}

/** Who gives one of the two times gives both. @param {{day: string, name: string, span: {opens: string, closes: string} | undefined}} props */
function Day({ day, name, span }) {
  const check = (/** @type {Event} */ { currentTarget }) => {
    const [opens, closes] = /** @type {HTMLElement} */ (currentTarget).querySelectorAll("input");
    opens.required = !!closes.value;
    closes.required = !!opens.value;
  };
  return html`<li onInput=${check} onChange=${check}>
    <span>${name}</span>
    <input type="time" name=${`opens_${day}`} aria-label=${t("team.from", { day: name })} defaultValue=${span?.opens ?? ""} />
    <span aria-hidden="true">–</span>
    <input type="time" name=${`closes_${day}`} aria-label=${t("team.until", { day: name })} defaultValue=${span?.closes ?? ""} />
  </li>`;
}

/** There is always an empty one. @param {{days: string[]}} props */
function Holidays({ days }) {
  const [shown, setShown] = useState(days.length + 1);
  const grow = (/** @type {number} */ at, /** @type {string} */ value) => value && at === shown - 1 && at + 1 < MOST_HOLIDAYS && setShown(shown + 1);
  return html`<fieldset class="field"><legend>${t("team.holidays")}</legend>
    <div class="holidays">${Array.from({ length: shown }, (_, at) => html`<input key=${at} type="date" name=${`holiday_${at}`} aria-label=${t("team.holiday", { number: at + 1 })}
      defaultValue=${days[at] ?? ""} onChange=${(/** @type {any} */ { target }) => grow(at, target.value)} />`)}</div>
  </fieldset>`;
}
