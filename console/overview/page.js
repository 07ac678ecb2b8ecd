/** The overview: what a manager wants to know in ten seconds. */

import { Chart } from "../parts/chart.js";
import { Icon } from "../parts/icons.js";
import { Problem, Waiting } from "../parts/small.js";
import { useChannelNames } from "../shared/names.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { duration, language, number, t } from "../shared/texts.js";
import { html, useMemo } from "../shared/ui.js";
import { useFigures } from "./figures.js";
import { Steps } from "./steps.js";
import { Troubles } from "./troubles.js";

/**
 * @typedef {import("./figures.js").Figures} Figures
 * @typedef {ReturnType<typeof useChannelNames>} NameOf
 */

const PERIODS = ["7", "30", "90"];

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Overview({ place }) {
  const period = PERIODS.includes(place.query.days) ? place.query.days : "30";
  const { figures, problem, load } = useFigures(Number(period));
  const nameOf = useChannelNames(figures ? [...figures.channels, ...figures.silent_phones, ...figures.failing_webhooks].map(({ channel }) => channel) : []);
  return html`
    <main id="main" class="page overview" tabindex="-1">
      <header class="page-header">
        <h1>${t("overview.title")}</h1><span class="grows"></span>
        ${may("read_figures") && html`<a class="button wide-only" href=${link(["figures"])}><${Icon} name="report" size=${16} /> ${t("figures.title")}</a>`}
        <select aria-label=${t("overview.period")} onChange=${(/** @type {any} */ event) => go(["overview"], { days: event.target.value })}>
          ${PERIODS.map((days) => html`<option key=${days} value=${days} selected=${days === period}>${t("overview.days", { days: number(Number(days)) })}</option>`)}
        </select>
      </header>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!figures && !problem && html`<${Waiting} />`}
      ${figures && html`<${Steps} isYoung=${!isBusy(figures.period_before)} /><${Tiles} figures=${figures} /><${Troubles} figures=${figures} nameOf=${nameOf} /><${Plots} figures=${figures} nameOf=${nameOf} />`}
    </main>
  `;
}

/** Whether there were messages. @param {Figures["period"]} period */
const isBusy = ({ messages_in, messages_out }) => messages_in + messages_out > 0;

/** @param {number} part @param {number} whole null for none */
const share = (part, whole) => (whole > 0 ? part / whole : null);
const percent = (/** @type {number} */ value) => number(value, { style: "percent", maximumFractionDigits: 1 });

/** What is told of a period, and how: null for what there was none of. @type {[import("../shared/texts.js").Key, (period: Figures["period"]) => number | null, (value: number) => string][]} */
const TILES = [
  ["overview.in", (period) => (isBusy(period) ? period.messages_in : null), number],
  ["overview.out", (period) => (isBusy(period) ? period.messages_out : null), number],
  ["overview.answered", ({ answered, questions }) => share(answered, questions), percent],
  ["overview.first_reply", ({ reply_seconds }) => reply_seconds, duration],
  ["overview.failed", ({ failed, messages_out }) => share(failed, messages_out), percent],
  ["overview.cost", ({ cost_out }) => cost_out || null, (value) => number(value, { maximumFractionDigits: 2 })],
];

/** What the period tells beside the one before, and what waits: what there is nothing to say of is left out. @param {{figures: Figures}} props */
function Tiles({ figures }) {
  const { period, period_before, days } = figures;
  const age = (/** @type {string | null} */ since) => since && duration((Date.now() - Date.parse(since)) / 1000);
  /** @type {[import("../shared/texts.js").Key, string | null][]} */
  const now = [
    ["overview.active_today", days[0].active_contacts ? number(days[0].active_contacts) : null],
    ["overview.in_flows", figures.runs_in_progress ? number(figures.runs_in_progress) : null],
    ["overview.unhandled", age(figures.oldest_unhandled_on)],
    ["overview.unsent", age(figures.oldest_unsent_on)],
    ["overview.undelivered", age(figures.oldest_delivery_on)],
  ];
  return html`<dl class="tiles">
    ${TILES.map(([text, read, write]) => {
      const [value, before] = [read(period), isBusy(period_before) ? read(period_before) : null];
      if (value === null) return null;
      const isPart = !period.is_exact && (text === "overview.answered" || text === "overview.first_reply");
      return html`<div key=${text} class="card tile"><dt>${t(text)}</dt><dd>${write(value)}</dd>
        ${before !== null && html`<dd class="before">${before > 0 && before !== value && html`<strong>${number(value / before - 1, { style: "percent", signDisplay: "exceptZero" })}</strong> `}${t("overview.before", { value: write(before) })}</dd>`}
        ${isPart && html`<dd class="before">${t("overview.newest", { count: number(1000) })}</dd>`}</div>`;
    })}
    ${now.map(([text, value]) => value && html`<div key=${text} class="card tile"><dt>${t(text)}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** @param {{figures: Figures, nameOf: NameOf}} props */
function Plots({ figures, nameOf }) {
  const { days, arrived, left, active } = useMemo(() => bySeries(figures, nameOf), [figures, nameOf, language.value]);
  return html`
    <div class="charts">
      <${Chart} title=${t("overview.messages_in")} days=${days} series=${arrived} />
      <${Chart} title=${t("overview.messages_out")} days=${days} series=${left} />
      <${Chart} title=${t("overview.active")} days=${days} series=${active} kind="bars" />
    </div>
  `;
}

/** What is plotted, the oldest day first. Messages of channels that are gone, or of none, are a series of their own. @param {Figures} figures @param {NameOf} nameOf */
function bySeries(figures, nameOf) {
  const days = figures.days.map(({ day }) => day).reverse();
  const series = (/** @type {"messages_in" | "messages_out"} */ what) => {
    const named = figures.channels.map(({ channel, days: counts }) => {
      const byDay = new Map(counts.map((each) => [each.day, each[what]]));
      return { name: nameOf(channel), values: days.map((day) => byDay.get(day) ?? 0) };
    });
    const total = figures.days.map((each) => each[what]).reverse();
    const others = total.map((all, at) => all - named.reduce((sum, { values }) => sum + values[at], 0));
    return others.some((count) => count > 0) || named.length === 0 ? [...named, { name: t("overview.no_channel"), values: others }] : named;
  };
  const active = [{ name: t("overview.contacts"), values: figures.days.map(({ active_contacts }) => active_contacts).reverse() }];
  return { days, arrived: series("messages_in"), left: series("messages_out"), active };
}
