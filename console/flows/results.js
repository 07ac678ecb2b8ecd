/** What contacts answered: shares, by day, by group or field, and the same as files. */

import { Chart } from "../parts/chart.js";
import { Icon } from "../parts/icons.js";
import { saveFile, toCsv } from "../parts/save_file.js";
import { Empty, Problem, Waiting } from "../parts/small.js";
import { get } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { useAll } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { number, t } from "../shared/texts.js";
import { html, useEffect, useMemo, useState } from "../shared/ui.js";

/** @typedef {import("./flow.js").TabProps} TabProps */
/** @typedef {import("../shared/contract.js").Found<"flow_results">} Crossed */

const DAY_MS = 86_400_000;
const BY_GROUP = "";

/** @param {TabProps} props the query says whether all days are summed (`sums`), and what is crossed: `cross` a result, `by` a field */
export function Results({ flow, figures, days, query }) {
  const listed = useMemo(() => Array.from({ length: days }, (_, at) => new Date(Date.now() - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10)), [days, figures]);
  if (flow.results.length === 0) return html`<${Empty} icon="chart" title=${t("flows.no_results")} />`;
  const isAll = query.sums === "all";
  const save = () => saveFile(`${flow.name}.csv`, "text/csv", toCsv(isAll
    ? [["result", "category", "count"], ...figures.totals.map(({ key, category, count }) => [key, category, String(count)])]
    : [["day", "result", "category", "count"], ...figures.results.map(({ day, key, category, count }) => [day, key, category, String(count)])]));
  const ask = (/** @type {Record<string, string>} */ changed) => go(["flows", flow.uuid, "results"], { ...query, ...changed });
  return html`
    <div class="list-tools">
      <nav class="views" aria-label=${t("flow_results.sums")}>
        <a href=${link(["flows", flow.uuid, "results"], { ...query, sums: "" })} aria-current=${isAll ? undefined : "true"}>${t("overview.days", { days: number(days) })}</a>
        <a href=${link(["flows", flow.uuid, "results"], { ...query, sums: "all" })} aria-current=${isAll ? "true" : undefined}>${t("flow_results.all_days")}</a>
      </nav>
      <button type="button" onClick=${save} disabled=${(isAll ? figures.totals : figures.results).length === 0}><${Icon} name="download" size=${16} /> ${t("flows.csv")}</button>
    </div>
    <div class="charts">${flow.results.map((result) => html`<${Shares} key=${result.key} flow=${flow} result=${result} counts=${isAll ? figures.totals : figures.results} />`)}</div>
    ${may("list_runs") && html`<${Crossing} flow=${flow} days=${isAll ? undefined : days} query=${query} onAsk=${ask} />`}
    ${!isAll && html`<h2 class="over-time">${t("flow_results.over_time")}</h2>
    <div class="charts">
      ${flow.results.map(({ key, name, categories }) => html`<${Chart} key=${key} title=${name} level="h3" days=${listed} series=${series(figures, key, categories, listed)} />`)}
    </div>`}
  `;
}

/** How the answers to a question are shared among its categories. @param {{flow: TabProps["flow"], result: TabProps["flow"]["results"][number], counts: {key: string, category: string, count: number}[]}} props */
function Shares({ flow, result, counts }) {
  const sums = new Map(result.categories.filter(Boolean).map((category) => [category, 0]));
  for (const { key, category, count } of counts) if (key === result.key) sums.set(category, (sums.get(category) ?? 0) + count);
  const total = [...sums.values()].reduce((all, count) => all + count, 0);
  const rows = [...sums].sort(([, one], [, other]) => other - one);
  return html`
    <section class="card share-card" aria-label=${result.name}>
      <header><h2><bdi>${result.name}</bdi></h2><p class="faint">${t("flow_results.answers", { count: number(total) })}</p></header>
      <ul class="share-bars">${rows.map(([category, count]) => html`<li key=${category} title=${`${category}: ${number(count)} (${share(count, total)})`}>
        <span class="share-name">${may("list_runs") ? html`<a href=${link(["flows", flow.uuid, "runs"], { result: result.key, category })}><bdi>${category}</bdi></a>` : html`<bdi>${category}</bdi>`}</span>
        <span class="share-bar" aria-hidden="true"><span style=${{ inlineSize: `${total ? (100 * count) / total : 0}%` }}></span></span>
        <span class="share-count"><strong>${share(count, total)}</strong> ${number(count)}</span></li>`)}</ul>
    </section>
  `;
}

/** A table of a result by groups, or by the values of a field. @param {{flow: TabProps["flow"], days: number | undefined, query: Record<string, string>, onAsk: (changed: Record<string, string>) => void}} props */
function Crossing({ flow, days, query, onAsk }) {
  const { by = BY_GROUP } = query;
  const cross = query.cross ?? (flow.results.length === 1 ? flow.results[0].key : "");
  const fields = useAll("fields");
  const [found, setFound] = useState(/** @type {Crossed | null} */ (null));
  const [problem, setProblem] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!cross) return setFound(null);
    const stop = new AbortController();
    const load = async () => {
      try {
        setFound(await get("flow_results", { uuid: flow.uuid, result: cross, field: by || undefined, days }, stop.signal));
        setProblem("");
      } catch (error) {
        if (!stop.signal.aborted) setProblem(explain(error));
      }
    };
    void load();
    return () => stop.abort();
  }, [flow.uuid, cross, by, days, turn]);
  return html`
    <section class="card crossing" aria-labelledby="crossing-title">
      <h2 id="crossing-title">${t("flow_results.cross")}</h2>
      <div class="list-tools">
        <select aria-label=${t("flow_results.result")} onChange=${(/** @type {any} */ event) => onAsk({ cross: event.target.value })}>
          <option value="">${t("flow_results.choose")}</option>
          ${flow.results.map(({ key, name }) => html`<option key=${key} value=${key} selected=${key === cross}>${name}</option>`)}
        </select>
        <select aria-label=${t("flow_results.by")} onChange=${(/** @type {any} */ event) => onAsk({ by: event.target.value })}>
          <option value=${BY_GROUP}>${t("flow_results.by_group")}</option>
          ${fields.map(({ key, name }) => html`<option key=${key} value=${key} selected=${key === by}>${name}</option>`)}
        </select>
        ${found && html`<button type="button" onClick=${() => saveFile(`${flow.name} ${cross}.csv`, "text/csv", toCsv(asRows(found)))}><${Icon} name="download" size=${16} /> ${t("flow_results.save_table")}</button>`}
      </div>
      ${problem ? html`<${Problem} text=${problem} onRetry=${() => setTurn(turn + 1)} />` : cross && !found ? html`<${Waiting} />` : found && html`<${CrossTable} found=${found} isByGroup=${by === BY_GROUP} />`}
    </section>
  `;
}

/** @param {{found: Crossed, isByGroup: boolean}} props */
function CrossTable({ found, isByGroup }) {
  if (found.answered === 0) return html`<p class="help" role="status">${t("flow_results.nothing")}</p>`;
  const hasOthers = found.categories.some(({ others }) => others > 0);
  const cell = (/** @type {number} */ count, /** @type {number} */ total) => html`<td class="number" title=${share(count, total)}>${number(count)} <span class="faint">${share(count, total)}</span></td>`;
  return html`
    <p class="help" role="status">${t(found.is_exact ? "flow_results.of_runs" : "flow_results.of_last_runs", { count: number(found.answered) })}${" "}${t(isByGroup ? "flow_results.now_groups" : "flow_results.now_field")}</p>
    <div class="table-box" tabindex="0" role="region" aria-labelledby="crossing-title">
      <table class="table">
        <thead><tr><th scope="col">${t("flow_results.category")}</th>
          ${found.values.map(({ value, group, count }) => html`<th key=${group?.uuid ?? value} scope="col" class="number"><bdi>${value}</bdi> <span class="faint">${number(count)}</span></th>`)}
          ${hasOthers && html`<th scope="col" class="number">${t("chart.others")}</th>`}<th scope="col" class="number">${t("flow_results.none")}</th><th scope="col" class="number">${t("flow_results.all")}</th></tr></thead>
        <tbody>${found.categories.map(({ category, count, counts, others, none }) => html`<tr key=${category}><th scope="row"><bdi>${category ?? t("flow_results.no_category")}</bdi></th>
          ${counts.map((each) => cell(each, count))}${hasOthers && cell(others, count)}${cell(none, count)}<td class="number">${number(count)}</td></tr>`)}</tbody>
      </table>
    </div>
  `;
}

/** The table as it is shown, for a file. @param {Crossed} found */
const asRows = ({ values, categories }) => [
  ["category", ...values.map(({ value }) => value), "others", "none", "all"],
  ...categories.map(({ category, counts, others, none, count }) => [category ?? "", ...[...counts, others, none, count].map(String)]),
];

/** @param {number} count @param {number} total */
const share = (count, total) => number(total ? count / total : 0, { style: "percent", maximumFractionDigits: 1 });

/**
 * Each category over time: those that the flow has now, and others that were given before.
 * @param {import("./drawing.js").Figures} figures @param {string} key @param {string[]} categories @param {string[]} days
 */
function series(figures, key, categories, days) {
  const mine = figures.results.filter((each) => each.key === key);
  const names = [...new Set([...categories, ...mine.map(({ category }) => category)])].filter(Boolean);
  const counts = new Map(mine.map(({ category, day, count }) => [`${day} ${category}`, count]));
  return names.map((name) => ({ name, values: days.map((day) => counts.get(`${day} ${name}`) ?? 0) }));
}
