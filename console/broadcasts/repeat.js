/** How a message to many repeats: in a form, and in words. */

import { Field } from "../parts/small.js";
import { dateText, number, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { dayNames, DAYS } from "../shared/weekdays.js";

/**
 * @typedef {import("./page.js").Broadcast} Broadcast
 * @typedef {import("../shared/texts.js").Key} Key
 * @typedef {"never" | "daily" | "weekly" | "monthly"} How
 * @typedef {{how: How, days: string, ends: "never" | "until" | "times", until: string, times: number}} Repeat
 */

/** @type {How[]} */
const HOW = ["never", "daily", "weekly", "monthly"];
/** @type {Record<Repeat["ends"], Key>} */
const ENDS = { never: "broadcasts.ends_never", until: "broadcasts.ends_until", times: "broadcasts.ends_times" };
const MOST = 1000;
const NOON = "T12:00:00Z";

/** @type {Repeat} */
export const ONCE = { how: "never", days: "", ends: "never", until: "", times: 2 };

/** How it repeats from another first time on: a monthly one has the day of that. @param {Repeat} repeat @returns {Repeat} */
export const afresh = (repeat) => (repeat.how === "monthly" ? { ...repeat, days: "" } : repeat);

/** The days of a weekly message, at least that on which it begins. @param {Repeat} repeat @param {string} when */
const daysOf = ({ days }, when) => days || DAYS[(new Date(`${when.slice(0, 10)}${NOON}`).getUTCDay() + 6) % 7];

/** What a request says of it; a message that goes at once does not repeat. @param {Repeat} repeat @param {string} when */
export function toTimes(repeat, when) {
  const how = when ? repeat.how : "never";
  return {
    repeat: how,
    days: how === "weekly" ? daysOf(repeat, when) : (how === "monthly" && repeat.days) || null,
    repeat_until: how !== "never" && repeat.ends === "until" ? repeat.until || null : null,
    repeat_times: how !== "never" && repeat.ends === "times" ? repeat.times : null,
  };
}

/** How a broadcast repeats, for the form. @param {Broadcast} broadcast @returns {Repeat} */
export const readRepeat = ({ repeat, days, repeat_until, repeat_times }) => ({
  how: repeat ?? "never",
  days: days ?? "",
  ends: repeat_until ? "until" : repeat_times ? "times" : "never",
  until: repeat_until ?? "",
  times: repeat_times ?? ONCE.times,
});

/** How a broadcast repeats and ends, in words. @param {Broadcast} broadcast */
export function repeatText({ repeat, days, repeat_until, repeat_times }) {
  if (!repeat || repeat === "never") return "";
  const on = repeat === "weekly" ? dayNames(days ?? "").join(", ") : repeat === "monthly" ? t("broadcasts.on_day", { day: number(Number(days)) }) : "";
  const how = [word("repeat", repeat), on].filter(Boolean).join(": ");
  const end = repeat_until ? t("broadcasts.until", { day: dateText(`${repeat_until}${NOON}`) }) : repeat_times ? t("broadcasts.times_in_all", { count: number(repeat_times) }) : "";
  return end ? `${how} · ${end}` : how;
}

/** @param {{repeat: Repeat, when: string, onChange: (repeat: Repeat) => void}} props `when` is the first time */
export function RepeatFields({ repeat, when, onChange }) {
  const set = (/** @type {Partial<Repeat>} */ part) => onChange({ ...repeat, ...part });
  const chosen = daysOf(repeat, when);
  const toggle = (/** @type {string} */ letter) => {
    const days = [...DAYS].filter((each) => (each === letter) !== chosen.includes(each)).join("");
    set({ days });
  };
  return html`
    <${Field} label=${t("broadcasts.repeat")} id="repeat" help=${t("broadcasts.repeat_help")}>
      <select id="repeat" value=${repeat.how} aria-describedby="repeat-help" onChange=${(/** @type {any} */ event) => set({ how: event.target.value, days: "" })}>
        ${HOW.map((how) => html`<option key=${how} value=${how}>${word("repeat", how)}</option>`)}
      </select>
    <//>
    ${repeat.how === "weekly" && html`<fieldset class="field">
      <legend>${t("broadcasts.on_days")}</legend>
      <ul class="choices-list two-columns">
        ${[...DAYS].map((letter) => html`<li key=${letter}><label><input type="checkbox" checked=${chosen.includes(letter)} onChange=${() => toggle(letter)} /> ${dayNames(letter)}</label></li>`)}
      </ul>
    </fieldset>`}
    ${repeat.how !== "never" && html`
      <${Field} label=${t("broadcasts.ends")} id="ends">
        <select id="ends" value=${repeat.ends} onChange=${(/** @type {any} */ event) => set({ ends: event.target.value })}>
          ${Object.entries(ENDS).map(([ends, name]) => html`<option key=${ends} value=${ends}>${t(name)}</option>`)}
        </select>
      <//>
      ${repeat.ends === "until" && html`<${Field} label=${t("broadcasts.last_day")} id="until">
        <input id="until" type="date" required min=${when.slice(0, 10)} value=${repeat.until} onInput=${(/** @type {any} */ event) => set({ until: event.target.value })} />
      <//>`}
      ${repeat.ends === "times" && html`<${Field} label=${t("broadcasts.how_often")} id="times">
        <input id="times" type="number" required min="1" max=${MOST} value=${repeat.times} onInput=${(/** @type {any} */ event) => set({ times: Number(event.target.value) })} />
      <//>`}`}
  `;
}
