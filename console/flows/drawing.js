/** A flow drawn: what each node does, how many contacts wait at it, left there, and went through each exit. */

import { number, t } from "../shared/texts.js";
import { classes, html, useEffect, useMemo, useRef } from "../shared/ui.js";
import { layOut, WIDTH } from "./layout.js";

/**
 * @typedef {{type: string, text?: string, [key: string]: any}} Action
 * @typedef {{uuid: string, actions: Action[], exits: {uuid: string, destination_uuid?: string | null}[], router?: any}} FlowNode
 * @typedef {import("../shared/contract.js").Found<"flow_figures">} Figures
 */

const LINE = 20;
const TOP = 18;
const EXIT_LINE = 22;
const MOST_LINES = 6;

/** @param {import("./flow.js").TabProps} props */
export const DrawingTab = ({ nodes, figures }) => html`
  <section class="card" aria-label=${t("flows.drawing")}>
    <p class="help">${t("flows.drawing_help")}</p>
    <${Drawing} nodes=${nodes} figures=${figures} />
    ${!figures.is_exact && html`<p class="help">${t("flows.not_exact")}</p>`}
  </section>
`;

/** @param {{nodes: FlowNode[], figures: Figures}} props */
function Drawing({ nodes, figures }) {
  const counts = useMemo(() => ({
    waiting: new Map(figures.waiting.map(({ node, count }) => [node, count])),
    left: new Map(figures.left.map(({ node, count }) => [node, count])),
    exits: new Map(figures.exits.map(({ exit, count }) => [exit, count])),
  }), [figures]);
  const { boxes, ways, width, height } = useMemo(() => layOut(nodes, heightOf), [nodes]);
  const most = Math.max(1, ...counts.exits.values());
  const area = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    // On a small screen the entry is in sight first: it stands in the middle.
    if (area.current) area.current.scrollLeft = ((area.current.scrollWidth - area.current.clientWidth) / 2) * (document.documentElement.dir === "rtl" ? -1 : 1);
  }, [width]);
  return html`
    <div class="flow-box" ref=${area} tabindex="0" role="region" aria-label=${t("flows.drawing")}>
      <div class="flow-drawing" style=${{ width: `${width}px`, height: `${height + 8}px` }}>
        <svg width=${width} height=${height + 8} aria-hidden="true">
          ${ways.map(({ exit, from, to, isBack }) => html`<path key=${exit} class=${classes("way", isBack && "back")} d=${curve(from, to, isBack)}
            style=${{ strokeWidth: `${1.5 + 5 * ((counts.exits.get(exit) ?? 0) / most)}px` }} />`)}
        </svg>
        <ol>${nodes.map((node) => html`<${Box} key=${node.uuid} node=${node} box=${boxes.get(node.uuid)} counts=${counts} />`)}</ol>
      </div>
    </div>
  `;
}

/** @param {{x: number, y: number}} from @param {{x: number, y: number}} to @param {boolean} isBack */
function curve(from, to, isBack) {
  if (!isBack) return `M${from.x},${from.y} C${from.x},${from.y + 34} ${to.x},${to.y - 34} ${to.x},${to.y}`;
  const side = Math.max(from.x, to.x) + WIDTH / 2 + 14;
  return `M${from.x},${from.y} C${from.x},${from.y + 40} ${side},${from.y + 40} ${side},${(from.y + to.y) / 2} S${to.x},${to.y - 40} ${to.x},${to.y}`;
}

/** @param {{node: FlowNode, box: import("./layout.js").Box | undefined, counts: {waiting: Map<string, number>, left: Map<string, number>, exits: Map<string, number>}}} props */
function Box({ node, box, counts }) {
  if (!box) return null;
  const [waiting, left] = [counts.waiting.get(node.uuid) ?? 0, counts.left.get(node.uuid) ?? 0];
  const names = exitNames(node);
  return html`
    <li class=${classes("flow-node", node.router && "router")} style=${{ insetInlineStart: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}>
      <ul class="does">${linesOf(node).map((line, at) => html`<li key=${at} dir="auto">${line}</li>`)}</ul>
      ${(waiting > 0 || left > 0) && html`<p class="node-counts">
        ${waiting > 0 && html`<span class="badge warn">${t("flows.wait_here", { count: number(waiting) })}</span>`}
        ${left > 0 && html`<span class="badge bad">${t("flows.left_here", { count: number(left) })}</span>`}
      </p>`}
      <ul class="exits">${node.exits.map(({ uuid }, at) => html`<li key=${uuid}><span dir="auto">${names[at]}</span> <strong>${number(counts.exits.get(uuid) ?? 0)}</strong></li>`)}</ul>
    </li>
  `;
}

/** What a node does, as it is drawn. @param {FlowNode} node */
function linesOf(node) {
  const all = allLines(node);
  return all.length > MOST_LINES ? [...all.slice(0, MOST_LINES - 1), t("flows.more_lines", { count: number(all.length - MOST_LINES + 1) })] : all;
}

/** A line for each action, and for its question. @param {FlowNode} node */
function allLines({ actions, router }) {
  const said = (actions ?? []).map((action) => (action.text ? `“${action.text}”` : [action.type.replaceAll("_", " "), action.name ?? action.field?.name ?? action.flow?.name ?? action.groups?.map((/** @type {any} */ group) => group.name).join(", ") ?? ""].join(" ")));
  const asked = router ? [router.wait ? t("flows.waits") : "", router.result_name ? t("flows.saves", { name: router.result_name }) : router.wait ? "" : `${router.operand ?? router.type}`].filter(Boolean) : [];
  return [...said, ...asked];
}

/** All that a node does, with its categories and what leads to them. @param {FlowNode} node */
export function describe(node) {
  const names = new Map((node.router?.categories ?? []).map((/** @type {any} */ { uuid, name }) => [uuid, name]));
  const cases = (node.router?.cases ?? []).map((/** @type {any} */ each) => `${each.type.replaceAll("_", " ")} ${(each.arguments ?? []).join(", ")}: ${names.get(each.category_uuid) ?? ""}`);
  return [...allLines(node), ...cases, ...names.values()];
}

/** The categories that lead through each exit. @param {FlowNode} node */
const exitNames = ({ exits, router }) =>
  exits.map(({ uuid, destination_uuid }) => (router?.categories ?? []).filter((/** @type {any} */ category) => category.exit_uuid === uuid).map((/** @type {any} */ category) => category.name).join(", ") || t(destination_uuid ? "flows.goes_on" : "flows.ends"));

/** Two lines for each text, one for the counts. @param {any} node */
const heightOf = (node) => TOP + linesOf(node).length * 2 * LINE + LINE + 6 + node.exits.length * EXIT_LINE;
