/** A plot by day, with the numbers as a table behind it. Who draws over some days sees what they are together. */

import { dayLabel, language, number, t } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {{name: string, values: (number | null)[]}} Series one value for each day, null for none
 * @typedef {{title: string, days: string[], series: Series[], kind?: "bars" | "lines", format?: (value: number) => string, level?: "h2" | "h3", isMean?: boolean}} Props
 *   the days are those of UTC as YYYY-MM-DD, the oldest first; `isMean` says that several days together are their mean, not their sum
 */

const HEIGHT = 190;
const COLORS = 6;
const DAY_SECONDS = 86_400;
/** The least width of a range of days, in pixels: less is a press. */
const LEAST_RANGE = 8;
/** What the numbers of an axis need, in pixels: each sign, and the space beside them. */
const SIGN_WIDTH = 7;
const AXIS_SPACE = 14;

/** The series that are drawn: with more than there are colors, the smaller ones together. @param {Series[]} series */
export function withColors(series) {
  if (series.length <= COLORS) return series;
  const sum = (/** @type {Series} */ { values }) => values.reduce((/** @type {number} */ total, value) => total + (value ?? 0), 0);
  const sorted = [...series].sort((a, b) => sum(b) - sum(a));
  const rest = sorted.slice(COLORS - 1);
  const others = rest[0].values.map((_, at) => rest.reduce((/** @type {number} */ total, { values }) => total + (values[at] ?? 0), 0));
  return [...sorted.slice(0, COLORS - 1), { name: t("chart.others"), values: others }];
}

/** What some days are together, or null if there is nothing. @param {(number | null)[]} values @param {boolean} isMean */
function together(values, isMean) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const sum = known.reduce((/** @type {number} */ total, value) => total + (value ?? 0), 0);
  return known.length === 0 ? null : isMean ? sum / known.length : sum;
}

/** @param {Props} props */
export function Chart({ title, days, series, kind = "lines", format = (value) => number(value), level = "h2", isMean = false }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const [range, setRange] = useState(/** @type {[number, number] | null} */ (null));
  const shown = language.value;
  const drawn = useMemo(() => withColors(series), [series, shown]);
  const [from, to] = range && range[1] < days.length ? range : [at ?? days.length - 1, at ?? days.length - 1];
  const value = (/** @type {(number | null)[]} */ values) => together(values.slice(from, to + 1), isMean);
  const told = (/** @type {number | null} */ sum) => (sum === null ? "–" : format(sum));
  return html`
    <section class="card chart" aria-label=${title}>
      <header><${level}>${title}<//><p class="faint">${days.length > 0 && (from === to ? dayLabel(days[to]) : `${dayLabel(days[from])} – ${dayLabel(days[to])}`)}</p></header>
      <ul class="legend">${drawn.map(({ name, values }, place) => html`<li key=${name}><span class=${`swatch series-${place + 1}`} aria-hidden="true"></span>${name}${" "}
        <strong>${told(value(values))}</strong></li>`)}</ul>
      <${Plot} title=${title} days=${days} series=${drawn} kind=${kind} format=${format} shown=${shown} onAt=${setAt} onRange=${setRange} />
      <details><summary>${t("chart.numbers")}</summary><${Numbers} title=${title} days=${days} series=${series} format=${format} /></details>
    </section>
  `;
}

/**
 * @typedef {{format: (value: number) => string, onAt: (at: number | null) => void, onRange: (range: [number, number] | null) => void}} Told
 * @param {{title: string, days: string[], series: Series[], kind: "bars" | "lines", shown: string} & Told} props `shown` is the language
 */
function Plot({ title, days, series, kind, shown, format, onAt, onRange }) {
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
      plot = new Lines(/** @type {any} */ (options(Lines, element, series, kind, { format, onAt, onRange })), /** @type {any} */ ([days.map((day) => Date.parse(day) / 1000), ...series.map(({ values }) => values)]), element);
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
  }, [data, shown]);
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
 * @param {any} Lines @param {HTMLElement} element @param {Series[]} series @param {"bars" | "lines"} kind @param {Told} told
 */
function options(Lines, element, series, kind, { format, onAt, onRange }) {
  const style = getComputedStyle(document.documentElement);
  const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const axis = { stroke: color("--ink-soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const day = (/** @type {number} */ seconds) => dayLabel(new Date(seconds * 1000).toISOString().slice(0, 10));
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    tzDate: (/** @type {number} */ seconds) => Lines.tzDate(new Date(seconds * 1000), "UTC"),
    padding: [10, 8, 0, 0],
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: kind === "lines" } },
    scales: { x: { time: true, range: (/** @type {any} */ _plot, /** @type {number} */ least, /** @type {number} */ most) => [least - DAY_SECONDS / 2, most + DAY_SECONDS / 2] }, y: { range: (/** @type {any} */ _plot, /** @type {number} */ _least, /** @type {number} */ most) => [0, Math.max(most * 1.1, 1)] } },
    axes: [
      { ...axis, size: 30, space: 70, incrs: [1, 2, 7, 14, 30, 60].map((count) => count * DAY_SECONDS), values: (/** @type {any} */ _plot, /** @type {number[]} */ splits) => splits.map(day) },
      { ...axis, size: (/** @type {any} */ _plot, /** @type {string[] | null} */ texts) => AXIS_SPACE + SIGN_WIDTH * Math.max(0, ...(texts ?? []).map((each) => each.length)), space: 40, values: (/** @type {any} */ _plot, /** @type {number[]} */ splits) => splits.map((split) => (Number.isInteger(split) || split > 10 ? format(split) : "")) },
    ],
    series: [
      {},
      ...series.map(({ name }, place) => {
        const stroke = color(`--series-${place + 1}`);
        const drawn = kind === "bars" ? { paths: Lines.paths.bars({ size: [0.6, 40] }), fill: stroke, points: { show: false } } : { width: 2, points: { size: 5, fill: stroke }, spanGaps: true };
        return { label: name, stroke, ...drawn };
      }),
    ],
    hooks: { setCursor: [(/** @type {any} */ plot) => onAt(plot.cursor.idx ?? null)], setSelect: [(/** @type {any} */ plot) => onRange(rangeOf(plot))] },
  };
}

/** The days over which somebody has drawn, or null. @param {any} plot @returns {[number, number] | null} */
function rangeOf(plot) {
  const { left, width } = plot.select;
  return width < LEAST_RANGE ? null : [plot.posToIdx(left), plot.posToIdx(left + width)];
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
