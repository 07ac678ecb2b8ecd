/** What contacts answered, by day, and the same as a file. */

import { Chart } from "../parts/chart.js";
import { Icon } from "../parts/icons.js";
import { saveFile } from "../parts/save_file.js";
import { Empty } from "../parts/small.js";
import { t } from "../shared/texts.js";
import { html, useMemo } from "../shared/ui.js";

const DAY_MS = 86_400_000;

/** @param {import("./flow.js").TabProps} props */
export function Results({ flow, figures, days }) {
  const listed = useMemo(() => Array.from({ length: days }, (_, at) => new Date(Date.now() - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10)), [days, figures]);
  if (flow.results.length === 0) return html`<${Empty} icon="chart" title=${t("flows.no_results")} />`;
  const save = () => saveFile(`${flow.name}.csv`, "text/csv", toCsv([["day", "result", "category", "count"], ...figures.results.map(({ day, key, category, count }) => [day, key, category, String(count)])]));
  return html`
    <header class="page-header results-header"><h2>${t("flows.results")}</h2><span class="grows"></span>
      <button type="button" onClick=${save} disabled=${figures.results.length === 0}><${Icon} name="download" size=${16} /> ${t("flows.csv")}</button></header>
    <div class="charts">
      ${flow.results.map(({ key, name, categories }) => html`<${Chart} key=${key} title=${name} level="h3" days=${listed} series=${series(figures, key, categories, listed)} />`)}
    </div>
  `;
}

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

/** What spreadsheets take for a formula: a sign in whatever width, perhaps after characters that cannot be seen. The service has the same rule. */
const FORMULA = /^(?:[\t\r]|[\s\p{Cc}\p{Cf}\uFE00-\uFE0F]*[=+\-@\u2212])/u;

/** Rows as CSV; a text that a spreadsheet would take for a formula is quoted by an apostrophe. @param {string[][]} rows */
export const toCsv = (rows) =>
  rows.map((row) => row.map((text) => `"${(FORMULA.test(text.normalize("NFKC")) ? `'${text}` : text).replaceAll('"', '""')}"`).join(",")).join("\r\n") + "\r\n";
