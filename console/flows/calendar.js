/** What happens by itself in the coming weeks: schedules, campaigns and messages that wait for their time. */

import { Icon } from "../parts/icons.js";
import { Empty, Problem, Waiting } from "../parts/small.js";
import { get } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { clock, dayKey, dayLabel, language, number, t } from "../shared/texts.js";
import { classes, html, useEffect, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Found<"calendar">} Calendar */
/** @typedef {Calendar["items"][number]} Item */

const WEEKS = 5;
const DAY_MS = 86_400_000;
/** @type {Record<string, string>} */
const ICONS = { schedule: "clock", campaign_event: "campaign", broadcast: "send" };

export function CalendarPage() {
  const [calendar, setCalendar] = useState(/** @type {Calendar | null} */ (null));
  const [problem, setProblem] = useState("");
  const days = listDays();
  const load = useInTurn(() => get("calendar", { days: WEEKS * 7 }).then((found) => (setCalendar(found), setProblem("")), (error) => setProblem(explain(error))));
  useEffect(() => void load(), []);
  useChanges(["broadcast"], load);
  const today = dayKey(new Date().toISOString());
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["flows"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t("calendar.title")}</h1>
      </header>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!calendar && !problem && html`<${Waiting} />`}
      ${calendar?.items.length === 0 && html`<${Empty} icon="campaign" title=${t("calendar.empty")} text=${t("calendar.empty_text")}>
        ${may("create_broadcast") && html`<a class="button primary" href=${link(["broadcasts", "new"])}><${Icon} name="send" size=${18} /> ${t("broadcasts.write")}</a>`}
        ${may("write_campaign") && html`<a class="button" href=${link(["campaigns"])}><${Icon} name="campaign" size=${18} /> ${t("campaigns.title")}</a>`}
        ${may("write_trigger") && html`<a class="button" href=${link(["triggers"])}><${Icon} name="flow" size=${18} /> ${t("triggers.title")}</a>`}<//>`}
      ${calendar && calendar.items.length > 0 && html`
        <div class="calendar" role="list" aria-label=${t("calendar.title")}>
          ${days.slice(0, 7).map((day) => html`<p key=${day} class="weekday" aria-hidden="true">${weekday(day)}</p>`)}
          ${days.map((day) => html`<${Day} key=${day} day=${day} isPast=${day < today} isToday=${day === today} items=${calendar.items.filter(({ time }) => dayKey(time) === day)} />`)}
        </div>
        ${!calendar.is_exact && html`<p class="help">${t("calendar.not_exact")}</p>`}`}
    </main>
  `;
}

/** The days of the weeks that are shown, from Monday of this week on. */
function listDays() {
  const today = Date.parse(dayKey(new Date().toISOString()));
  const monday = today - ((new Date(today).getUTCDay() + 6) % 7) * DAY_MS;
  return Array.from({ length: WEEKS * 7 }, (_, at) => new Date(monday + at * DAY_MS).toISOString().slice(0, 10));
}

/** @param {string} day */
const weekday = (day) => new Intl.DateTimeFormat(language.value, { weekday: "short", timeZone: "UTC" }).format(new Date(day));

/** @param {{day: string, isPast: boolean, isToday: boolean, items: Item[]}} props */
const Day = ({ day, isPast, isToday, items }) => html`
  <section role="listitem" class=${classes("calendar-day", isPast && "past", isToday && "today", items.length === 0 && "free")}>
    <h2><span class="only-list">${weekday(day)} </span>${dayLabel(day)}</h2>
    <ul>${items.map((item) => html`<li key=${item.type + item.uuid + item.time}><${Due} item=${item} /></li>`)}</ul>
  </section>
`;

/** @param {{item: Item}} props */
function Due({ item: { type, uuid, time, flow, name, contacts } }) {
  const title = [name, flow?.name].filter(Boolean).join(": ") || t("calendar.message");
  const href = type === "broadcast" ? link(["broadcasts", uuid]) : flow ? link(["flows", flow.uuid]) : undefined;
  const text = html`<${Icon} name=${ICONS[type]} size=${14} /> <time datetime=${time}>${clock(time)}</time> <span dir="auto">${title}</span>
    ${contacts !== null && html` <strong>${t("calendar.contacts", { count: number(contacts) })}</strong>`}`;
  return href ? html`<a class=${`due ${type}`} href=${href}>${text}</a>` : html`<span class=${`due ${type}`}>${text}</span>`;
}
