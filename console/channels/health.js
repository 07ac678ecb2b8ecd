/** What waits for a channel, when it worked last, what is wrong with it, its errors by day, and the battery of a phone. */

import { Chart } from "../parts/chart.js";
import { Badge, Problem } from "../parts/small.js";
import { useFigures } from "../overview/figures.js";
import { get } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { duration, fullTime, number, t, word } from "../shared/texts.js";
import { html, useEffect, useMemo, useState } from "../shared/ui.js";
import { Time } from "./alarms.js";

/**
 * @typedef {import("../shared/contract.js").Found<"channel_health">} Health
 * @typedef {import("../overview/figures.js").Figures} Figures
 */

const DAYS = 30;

/** @param {{uuid: string}} props */
export function HealthCard({ uuid }) {
  const [health, setHealth] = useState(/** @type {Health | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = useInTurn(() => get("channel_health", { uuid }).then((found) => (setHealth(found), setProblem("")), (error) => setProblem(explain(error))));
  useEffect(() => void load(), [uuid]);
  useChanges(["channel", "message"], load);
  const { figures } = useFigures(DAYS);
  const plotted = useMemo(() => figures && bySeries(figures, uuid), [figures, uuid]);
  const today = figures?.channels.find(({ channel }) => channel.uuid === uuid)?.days[0];
  if (problem) return html`<${Problem} text=${problem} onRetry=${load} />`;
  const battery = health && powerByDay(health.hours);
  return html`
    <div class="charts">
      ${health && html`<section class="card whole-row" aria-labelledby="health-title">
        <header><h2 id="health-title">${t("channels.health")}</h2></header>
        <dl class="facts in-columns">
          <div><dt>${t("channels.pending")}</dt><dd>${number(health.pending)}</dd></div>
          ${health.oldest_pending_on && html`<div><dt>${t("channels.oldest")}</dt><dd>${duration((Date.now() - Date.parse(health.oldest_pending_on)) / 1000)}</dd></div>`}
          <${Moment} title=${t("channels.last_sent")} time=${health.last_sent_on} />
          <${Moment} title=${t("channels.last_received")} time=${health.last_received_on} />
          ${health.connection && html`<div><dt>${t("channels.connection")}</dt><dd><${Connection} of=${health.connection} /></dd></div>`}
          ${health.failing_since && html`<div><dt>${t("channels.failing")}</dt><dd><${Badge} tone="bad"><${Time} time=${health.failing_since} /><//></dd></div>`}
          ${health.last_error && html`<div><dt>${t("channels.last_error")}</dt><dd><${Time} time=${health.last_error.created_on} />: <bdi>${health.last_error.error ?? t("channels.error_status", { status: number(health.last_error.status ?? 0) })}</bdi></dd></div>`}
          ${today && html`<div><dt>${t("channels.today")}</dt><dd>${t("channels.today_counts", { in: number(today.messages_in), out: number(today.messages_out), segments: number(today.segments_out) })}</dd></div>`}
          ${health.uncertain > 0 && html`<div><dt>${t("channels.uncertain")}</dt><dd>${number(health.uncertain)}</dd></div>`}
        </dl>
        ${health.alarms.length === 0
          ? html`<p><${Badge} tone="good">${t("alarms.none")}<//></p>`
          : html`<ul class="open-alarms">${health.alarms.map(({ kind, opened_on }) => html`<li key=${kind}><${Badge} tone="bad">${word("alarm_kind", kind)}<//> ${t("alarms.since", { time: fullTime(opened_on) })}
              <p class="help">${word("alarm_help", kind)}</p></li>`)}</ul>`}
      </section>`}
      ${plotted && html`
        <${Chart} title=${t("broadcasts.messages")} days=${plotted.days} series=${plotted.messages} />
        ${plotted.costs[0].values.some(Boolean) && html`<${Chart} title=${t("channels.costs")} days=${plotted.days} series=${plotted.costs} kind="bars" format=${(/** @type {number} */ cost) => number(cost, { maximumFractionDigits: 6 })} />`}
        <${Chart} title=${t("channels.errors")} days=${plotted.days} series=${plotted.errors} kind="bars" />`}
      ${battery && battery.days.length > 1 && html`<${Chart} title=${t("channels.power_by_day")} days=${battery.days} series=${battery.series} isMean format=${(/** @type {number} */ level) => number(level / 100, { style: "percent" })} />`}
    </div>
  `;
}

/** The connection that the service keeps to a provider. @param {{of: NonNullable<Health["connection"]>}} props */
export const Connection = ({ of: { state, reason, changed_on } }) => html`
  <${Badge} tone=${state === "bound" ? "good" : state === "failed" ? "bad" : "calm"}>${word("connection_state", state)}<//> <${Time} time=${changed_on} />${reason && html`: <bdi>${reason}</bdi>`}
`;

/** @param {{title: string, time: string | null}} props */
const Moment = ({ title, time }) => html`<div><dt>${title}</dt><dd>${time ? html`<${Time} time=${time} />` : "–"}</dd></div>`;

/** @param {Figures} figures @param {string} uuid */
function bySeries(figures, uuid) {
  const days = figures.days.map(({ day }) => day).reverse();
  const counts = new Map(figures.channels.find(({ channel }) => channel.uuid === uuid)?.days.map((each) => [each.day, each]));
  const values = (/** @type {"messages_in" | "messages_out" | "segments_out" | "cost_out" | "errors"} */ what) => days.map((day) => counts.get(day)?.[what] ?? 0);
  return {
    days,
    messages: [{ name: t("channels.in"), values: values("messages_in") }, { name: t("channels.out"), values: values("messages_out") }, { name: t("channels.segments"), values: values("segments_out") }],
    costs: [{ name: t("channels.costs"), values: values("cost_out") }],
    errors: [{ name: t("channels.failed_attempts"), values: values("errors") }],
  };
}

/** The lowest level of each day (UTC), the oldest day first. @param {Health["hours"]} hours */
function powerByDay(hours) {
  /** @type {Map<string, number>} */
  const lowest = new Map();
  for (const { hour, power_level } of hours) {
    const day = hour.slice(0, 10);
    if (power_level >= 0) lowest.set(day, Math.min(power_level, lowest.get(day) ?? power_level));
  }
  const days = [...lowest.keys()].sort();
  return { days, series: [{ name: t("channels.lowest"), values: days.map((day) => lowest.get(day) ?? null) }] };
}
