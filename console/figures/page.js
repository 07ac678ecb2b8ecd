/** Reports: what happened on some days by agent, team, topic, label, channel or day, as a table, as bars and as a file. */

import { Chart } from "../parts/chart.js";
import { Icon } from "../parts/icons.js";
import { saveFile, toCsv } from "../parts/save_file.js";
import { Empty, Field, Problem, Waiting } from "../parts/small.js";
import { Tabs } from "../parts/tabs.js";
import { get } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { go, link } from "../shared/router.js";
import { dayLabel, duration, number, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Found<"figures">} Figures */
/** @typedef {Figures["total"]} Row */
/** @typedef {Exclude<keyof Row, "key" | "name">} Measure */

const TICKETS = /** @type {const} */ (["tickets_opened", "tickets_replied", "first_reply_seconds", "first_reply_p90_seconds", "tickets_closed", "closing_seconds", "closing_p90_seconds", "tickets_open", "open_seconds", "open_p90_seconds"]);
const SENT = /** @type {const} */ (["messages_out", "delivered", "delivery_rate", "failed", "segments_out", "cost_out"]);
/** What is told of each, in the order of the file. @type {Record<string, readonly Measure[]>} */
const MEASURES = {
  agent: ["tickets_taken", ...TICKETS, "messages_out"],
  team: TICKETS,
  topic: TICKETS,
  label: ["messages_in"],
  channel: ["messages_in", ...SENT],
  day: ["messages_in", ...SENT, "tickets_taken", ...TICKETS],
};
/** Where there is more than fits beside each other, what stands in a table of its own. @type {Record<string, [import("../shared/texts.js").Key, (measure: Measure) => boolean][]>} */
const PARTS = { day: [["inbox.messages", (each) => !isOfTickets(each)], ["tickets.title", (each) => isOfTickets(each)]] };
const isOfTickets = (/** @type {Measure} */ measure) => measure === "tickets_taken" || TICKETS.some((each) => each === measure);
const PERIODS = ["7", "30", "90", "365"];
const OWN = "own";
const DAY_MS = 86_400_000;
const MOST_BARS = 20;

/** The day so many days ago (UTC), as YYYY-MM-DD. @param {number} ago */
const dayBefore = (ago) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);

/** What is asked for, from the address of the page. @param {Record<string, string>} query */
function read({ by, days, after, before }) {
  const period = after && before ? OWN : PERIODS.includes(days) ? days : "30";
  const span = period === OWN ? { after, before } : { after: dayBefore(Number(period) - 1), before: dayBefore(0) };
  return { by: by in MEASURES ? by : "agent", period, ...span };
}

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Reports({ place }) {
  const { by, period, after, before } = read(place.query);
  const { figures, problem, load } = useReport(by, after, before);
  const query = period === OWN ? { after, before } : { days: period };
  const show = (/** @type {object} */ change) => go(["figures"], { by, ...query, ...change });
  const choose = (/** @type {string} */ chosen) => go(["figures"], { by, ...(chosen === OWN ? { after, before } : { days: chosen }) });
  const tabs = Object.keys(MEASURES).map((name) => ({ name, text: word("figures_by", name), address: link(["figures"], { by: name, ...query }) }));
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <h1>${t("figures.title")}</h1><span class="grows"></span>
        <select aria-label=${t("overview.period")} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
          ${PERIODS.map((days) => html`<option key=${days} value=${days} selected=${days === period}>${t("overview.days", { days: number(Number(days)) })}</option>`)}
          <option value=${OWN} selected=${period === OWN}>${t("figures.own_days")}</option>
        </select>
        ${figures && html`<button type="button" onClick=${() => saveFile(`${word("figures_by", by)} ${after} ${before}.csv`, "text/csv", toCsv(asRows(figures)))}><${Icon} name="download" size=${16} /> ${t("figures.save")}</button>`}
      </header>
      ${period === OWN && html`<form class="list-tools report-days" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
        <${Field} label=${t("figures.first_day")} id="after"><input id="after" type="date" required max=${before} value=${after} onChange=${(/** @type {any} */ event) => event.target.value && show({ after: event.target.value })} /><//>
        <${Field} label=${t("figures.last_day")} id="before"><input id="before" type="date" required min=${after} value=${before} onChange=${(/** @type {any} */ event) => event.target.value && show({ before: event.target.value })} /><//>
      </form>`}
      <${Tabs} label=${t("figures.by")} tabs=${tabs} chosen=${by} onChoose=${(/** @type {string} */ name) => show({ by: name })}>
        ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
        ${!figures && !problem && html`<${Waiting} />`}
        ${figures && html`<${Report} figures=${figures} />`}
      <//>
    </main>
  `;
}

/** @param {string} by @param {string} after @param {string} before */
function useReport(by, after, before) {
  const [figures, setFigures] = useState(/** @type {Figures | null} */ (null));
  const [problem, setProblem] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setFigures(null);
    setProblem("");
    get("figures", { by: /** @type {Figures["by"]} */ (by), after, before }, stop.signal).then(setFigures, (error) => stop.signal.aborted || setProblem(explain(error)));
    return () => stop.abort();
  }, [by, after, before, turn]);
  return { figures, problem, load: () => setTurn(turn + 1) };
}

/** @param {{figures: Figures}} props */
function Report({ figures }) {
  const measures = MEASURES[figures.by];
  const [chosen, setChosen] = useState(measures[0]);
  const measure = measures.includes(chosen) ? chosen : measures[0];
  if (figures.rows.length === 0) return html`<${Empty} icon="chart" title=${t("figures.empty")} text=${t("figures.empty_text")} />`;
  return html`<div class="report">
    <div class="list-tools"><label>${t("figures.drawn")} <select onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>
      ${measures.map((each) => html`<option key=${each} value=${each} selected=${each === measure}>${word("figure", each)}</option>`)}</select></label></div>
    ${figures.by === "day" ? html`<${Days} figures=${figures} measure=${measure} />` : html`<${Bars} figures=${figures} measure=${measure} />`}
    ${PARTS[figures.by]?.map(([title, fits]) => html`<h2 key=${title}>${t(title)}</h2><${Table} figures=${figures} measures=${measures.filter(fits)} title=${t(title)} />`)
      ?? html`<${Table} figures=${figures} measures=${measures} title=${t("figures.title")} />`}
    ${!figures.is_exact && html`<p class="help">${t("figures.newest", { count: number(100_000) })}</p>`}
    <p class="help">${t("figures.days_are_utc")}</p>
  </div>`;
}

/** A number as people read it; a dash for none. @param {Measure} measure @param {number | null} value */
function told(measure, value) {
  if (value === null) return "–";
  if (measure.endsWith("_seconds")) return duration(value);
  if (measure === "delivery_rate") return number(value, { style: "percent", maximumFractionDigits: 1 });
  return number(value, { maximumFractionDigits: 2 });
}

/** What a row is called: of what is nobody's or gone, that. @param {Figures} figures @param {Row} row */
function nameOf({ by }, { key, name }) {
  if (by === "day") return dayLabel(key ?? "");
  if (key === null) return t(by === "agent" ? "tickets.nobody" : "figures.none");
  return name || (by === "agent" ? key : t("contact.unnamed"));
}

/** @param {{figures: Figures, measure: Measure}} props */
function Days({ figures, measure }) {
  const listed = [...figures.rows].reverse();
  const series = [{ name: word("figure", measure), values: listed.map((row) => row[measure]) }];
  return html`<${Chart} title=${word("figure", measure)} days=${listed.map(({ key }) => key)} series=${series} kind="bars" format=${(/** @type {number} */ value) => told(measure, value)}
    isMean=${measure.endsWith("_seconds") || measure === "delivery_rate"} />`;
}

/** The rows with the most. @param {{figures: Figures, measure: Measure}} props */
function Bars({ figures, measure }) {
  const rows = [...figures.rows].sort((a, b) => (b[measure] ?? 0) - (a[measure] ?? 0)).slice(0, MOST_BARS);
  const most = Math.max(...rows.map((row) => row[measure] ?? 0));
  return html`
    <section class="card share-card report-bars" aria-labelledby="bars-title">
      <header><h2 id="bars-title">${word("figure", measure)}</h2></header>
      <ul class="share-bars">${rows.map((row) => html`<li key=${row.key}>
        <bdi class="share-name">${nameOf(figures, row)}</bdi>
        <span class="share-bar" aria-hidden="true"><span style=${{ inlineSize: `${most ? (100 * (row[measure] ?? 0)) / most : 0}%` }}></span></span>
        <span class="share-count"><strong>${told(measure, row[measure])}</strong></span></li>`)}</ul>
    </section>
  `;
}

/** @param {{figures: Figures, measures: readonly Measure[], title: string}} props */
const Table = ({ figures, measures, title }) => html`
  <div class="table-box report-table" tabindex="0" role="region" aria-label=${title}>
    <table class="table">
      <thead><tr><th scope="col">${word("figures_by", figures.by)}</th>${measures.map((each) => html`<th key=${each} scope="col" class="number">${word("figure", each)}</th>`)}</tr></thead>
      <tbody>${figures.rows.map((row) => html`<tr key=${row.key}><th scope="row"><bdi>${nameOf(figures, row)}</bdi></th>
        ${measures.map((each) => html`<td key=${each} class="number">${told(each, row[each])}</td>`)}</tr>`)}</tbody>
      <tfoot><tr><th scope="row">${t("figures.total")}</th>${measures.map((each) => html`<td key=${each} class="number">${told(each, figures.total[each])}</td>`)}</tr></tfoot>
    </table>
  </div>
`;

/** The table for a file: times in seconds, days and numbers as programs read them. @param {Figures} figures */
function asRows(figures) {
  const measures = MEASURES[figures.by];
  const cells = (/** @type {string} */ name, /** @type {Row} */ row) => [name, ...measures.map((each) => (row[each] === null ? "" : String(row[each])))];
  return [
    [word("figures_by", figures.by), ...measures.map((each) => word("figure", each))],
    ...figures.rows.map((row) => cells(figures.by === "day" ? (row.key ?? "") : nameOf(figures, row), row)),
    cells(t("figures.total"), figures.total),
  ];
}
