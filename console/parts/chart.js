/** A plot by day, with the numbers as a table behind it. */

import { dayLabel, number, t } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {{name: string, values: (number | null)[]}} Series one value for each day, null for none
 * @typedef {{title: string, days: string[], series: Series[], kind?: "bars" | "lines", format?: (value: number) => string, level?: "h2" | "h3"}} Props
 *   the days are those of UTC as YYYY-MM-DD, the oldest first
 */

const HEIGHT = 190;
const COLORS = 6;
const DAY_SECONDS = 86_400;

/** The series that are drawn: with more than there are colors, the smaller ones together. @param {Series[]} series */
export function withColors(series) {
  if (series.length <= COLORS) return series;
  const sum = (/** @type {Series} */ { values }) => values.reduce((/** @type {number} */ total, value) => total + (value ?? 0), 0);
  const sorted = [...series].sort((a, b) => sum(b) - sum(a));
  const rest = sorted.slice(COLORS - 1);
  const others = rest[0].values.map((_, at) => rest.reduce((/** @type {number} */ total, { values }) => total + (values[at] ?? 0), 0));
  return [...sorted.slice(0, COLORS - 1), { name: t("chart.others"), values: others }];
}

/** @param {Props} props */
export function Chart({ title, days, series, kind = "lines", format = (value) => number(value), level = "h2" }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const drawn = useMemo(() => withColors(series), [series]);
  const shown = at ?? days.length - 1;
  return html`
    <section class="card chart" aria-label=${title}>
      <header><${level}>${title}<//><p class="faint">${days.length > 0 && dayLabel(days[shown])}</p></header>
      <ul class="legend">${drawn.map(({ name, values }, place) => html`<li key=${name}><span class=${`swatch series-${place + 1}`} aria-hidden="true"></span>${name}${" "}
        <strong>${values[shown] === null || values[shown] === undefined ? "–" : format(values[shown] ?? 0)}</strong></li>`)}</ul>
      <${Plot} title=${title} days=${days} series=${drawn} kind=${kind} format=${format} onAt=${setAt} />
      <details><summary>${t("chart.numbers")}</summary><${Numbers} title=${title} days=${days} series=${series} format=${format} /></details>
    </section>
  `;
}

/** @param {{title: string, days: string[], series: Series[], kind: "bars" | "lines", format: (value: number) => string, onAt: (at: number | null) => void}} props */
function Plot({ title, days, series, kind, format, onAt }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const data = JSON.stringify([days, series]);
  useEffect(() => {
    const element = box.current;
    if (!element || days.length === 0) return;
    let plot = /** @type {any} */ (null);
    let isGone = false;
    const draw = async () => {
      const { default: Lines } = await load();
      if (isGone) return;
      plot?.destroy();
      plot = new Lines(/** @type {any} */ (options(Lines, element, series, kind, format, onAt)), /** @type {any} */ ([days.map((day) => Date.parse(day) / 1000), ...series.map(({ values }) => values)]), element);
    };
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    void draw();
    return () => {
      isGone = true;
      resized.disconnect();
      scheme.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [data]);
  return html`<div class="plot" ref=${box} role="img" aria-label=${t("chart.drawn", { title })} dir="ltr"></div>`;
}

/** The library is loaded with the first plot, and its style with it. */
async function load() {
  const href = new URL("../vendor/uplot.css", import.meta.url).href;
  if (!document.querySelector(`link[href="${href}"]`)) {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
    await new Promise((done) => {
      style.onload = style.onerror = done;
      document.head.append(style);
    });
  }
  return import("../vendor/uplot.js");
}

/**
 * @param {any} Lines @param {HTMLElement} element @param {Series[]} series @param {"bars" | "lines"} kind
 * @param {(value: number) => string} format @param {(at: number | null) => void} onAt
 */
function options(Lines, element, series, kind, format, onAt) {
  const style = getComputedStyle(document.documentElement);
  const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const axis = { stroke: color("--ink-soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const day = (/** @type {number} */ seconds) => dayLabel(new Date(seconds * 1000).toISOString().slice(0, 10));
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    tzDate: (/** @type {number} */ seconds) => Lines.tzDate(new Date(seconds * 1000), "UTC"),
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === "lines" } },
    scales: { x: { time: true, range: (/** @type {any} */ _plot, /** @type {number} */ least, /** @type {number} */ most) => [least - DAY_SECONDS / 2, most + DAY_SECONDS / 2] }, y: { range: (/** @type {any} */ _plot, /** @type {number} */ _least, /** @type {number} */ most) => [0, Math.max(most * 1.1, 1)] } },
    axes: [
      { ...axis, size: 30, space: 70, incrs: [1, 2, 7, 14, 30, 60].map((count) => count * DAY_SECONDS), values: (/** @type {any} */ _plot, /** @type {number[]} */ splits) => splits.map(day) },
      { ...axis, size: 58, space: 40, values: (/** @type {any} */ _plot, /** @type {number[]} */ splits) => splits.map((split) => (Number.isInteger(split) || split > 10 ? format(split) : "")) },
    ],
    series: [
      {},
      ...series.map(({ name }, place) => {
        const stroke = color(`--series-${place + 1}`);
        const drawn = kind === "bars" ? { paths: Lines.paths.bars({ size: [0.6, 40] }), fill: stroke, points: { show: false } } : { width: 2, points: { size: 5, fill: stroke }, spanGaps: true };
        return { label: name, stroke, ...drawn };
      }),
    ],
    hooks: { setCursor: [(/** @type {any} */ plot) => onAt(plot.cursor.idx ?? null)] },
  };
}

/** @param {{title: string, days: string[], series: Series[], format: (value: number) => string}} props */
const Numbers = ({ title, days, series, format }) => html`
  <div class="table-box numbers" tabindex="0" role="region" aria-label=${t("chart.numbers_of", { title })}>
    <table class="table">
      <thead><tr><th scope="col">${t("chart.day")}</th>${series.map(({ name }) => html`<th key=${name} scope="col" class="number">${name}</th>`)}</tr></thead>
      <tbody>${days.map((day, at) => html`<tr key=${day}><th scope="row">${dayLabel(day)}</th>
        ${series.map(({ name, values }) => html`<td key=${name} class="number">${values[at] === null ? "–" : format(values[at] ?? 0)}</td>`)}</tr>`).reverse()}</tbody>
    </table>
  </div>
`;
