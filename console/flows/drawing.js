/** A flow drawn, or as a list: what each node does, how many contacts wait at it, left there, and went through each exit. */

import { Icon } from "../parts/icons.js";
import { Problem, Waiting } from "../parts/small.js";
import { explain } from "../shared/explain.js";
import { go, read } from "../shared/router.js";
import { number, t } from "../shared/texts.js";
import { classes, html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";
import { Canvas } from "./canvas.js";
import { EXIT_LINE, layOut, WIDTH } from "./layout.js";
import { exitNames, linesOf, NodeContent, NodeCounts, searchText } from "./node_content.js";

/**
 * @typedef {import("./node_content.js").FlowNode} FlowNode
 * @typedef {import("./node_content.js").Counts} Counts
 * @typedef {import("../shared/contract.js").Found<"flow_figures">} Figures
 */

const LINE = 20;
const TOP = 22;
const MOST_LINES = 6;
/** What surely stands in one line. */
const ONE_LINE = 24;
const NARROW = "(max-width: 820px)";

/** Figures by node and exit. @param {Figures} figures @returns {Counts} */
export const countsOf = ({ waiting, left, exits }) => ({
  waiting: new Map(waiting.map(({ node, count }) => [node, count])),
  left: new Map(left.map(({ node, count }) => [node, count])),
  exits: new Map(exits.map(({ exit, count }) => [exit, count])),
});

/** How thick a line is through which so many went, in pixels. @param {Counts} counts @param {string} exit */
export const thickness = ({ exits }, exit) => 1.5 + 5 * ((exits.get(exit) ?? 0) / Math.max(1, ...exits.values()));

/** @param {import("./flow.js").TabProps} props the query says what is open and whether it is a list */
export function DrawingTab({ flow, definition, figures, query }) {
  const { nodes } = definition;
  const [sought, setSought] = useState("");
  // As it was opened: another view would come with the next answer of the service, not when the screen is turned.
  const [usual] = useState(() => (matchMedia(NARROW).matches ? "list" : "drawing"));
  const isList = (query.view ?? usual) === "list";
  const counts = useMemo(() => countsOf(figures), [figures]);
  const texts = useMemo(() => new Map(nodes.map((node) => [node.uuid, searchText(node, definition.localization)])), [definition]);
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = useMemo(() => nodes.filter(({ uuid }) => words.length > 0 && words.every((each) => texts.get(uuid)?.includes(each))).map(({ uuid }) => uuid), [texts, sought]);
  const set = (/** @type {Record<string, string>} */ change) => go(["flows", flow.uuid, "drawing"], { ...read().query, ...change }, { replace: true });
  const open = (/** @type {string} */ node) => set({ node });
  const opened = nodes.find(({ uuid }) => uuid === query.node);
  const next = (/** @type {number} */ step) => found.length > 0 && open(found[(found.indexOf(query.node ?? "") + step + found.length + (step < 0 && !found.includes(query.node ?? "") ? 1 : 0)) % found.length]);
  const shared = { definition, flow: flow.uuid, counts, onOpen: open, opened };
  return html`
    <div class="list-tools drawing-tools">
      <input type="search" aria-label=${t("flows.search_nodes")} placeholder=${t("flows.search_nodes")} value=${sought} onInput=${(/** @type {any} */ { target }) => setSought(target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && next(event.shiftKey ? -1 : 1)} />
      <span role="status">${words.length > 0 && t("flows.nodes_found", { count: number(found.length), total: number(nodes.length) })}</span>
      ${found.length > 0 && !isList && html`<button type="button" onClick=${() => next(1)}>${t("flows.next_found")}</button>`}
      <span class="grows"></span>
      <button type="button" aria-pressed=${isList} onClick=${() => set({ view: isList ? "drawing" : "list" })}>${t("flows.as_list")}</button>
    </div>
    ${isList ? html`<${NodeList} ...${shared} found=${words.length > 0 ? found : null} />` : html`<${Drawing} ...${shared} found=${found} onClose=${() => set({ node: "" })} />`}
    <p class="help">${t("flows.drawing_help")} ${!figures.is_exact && t("flows.not_exact")}</p>
  `;
}

/** @typedef {{definition: import("./node_content.js").Definition, flow: string, counts: Counts, opened: FlowNode | undefined, onOpen: (node: string) => void}} Shared */

/** @param {Shared & {found: string[] | null}} props without a search all nodes */
function NodeList({ definition, flow, counts, opened, onOpen, found }) {
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => shown.current?.scrollIntoView({ block: "nearest" }), [opened]);
  return html`<ol class="node-list">${definition.nodes.map((node, at) => (!found || found.includes(node.uuid)) && html`<li key=${node.uuid} class="card" ref=${node === opened ? shown : undefined}>
    <h3><button type="button" class="link" aria-expanded=${node === opened} onClick=${() => onOpen(node === opened ? "" : node.uuid)}>${t("flows.node", { number: number(at + 1) })}</button></h3>
    ${node === opened
      ? html`<${NodeContent} definition=${definition} node=${node} flow=${flow} counts=${counts} onOpen=${onOpen} />`
      : html`<ul class="does">${shortLines(node).map((line, place) => html`<li key=${place} dir="auto">${line}</li>`)}</ul><${NodeCounts} flow=${flow} node=${node.uuid} counts=${counts} />`}
  </li>`)}</ol>`;
}

/** @param {Shared & {found: string[], onClose: () => void}} props */
function Drawing({ definition, flow, counts, opened, onOpen, found, onClose }) {
  const { nodes } = definition;
  const [drawn, setDrawn] = useState(/** @type {import("./layout.js").Layout | null} */ (null));
  const [problem, setProblem] = useState("");
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const draw = () => {
    const stop = new AbortController();
    layOut(sizedNodes(nodes), stop.signal).then((made) => (setDrawn(made), setProblem("")), (error) => setProblem(explain(error)));
    return () => stop.abort();
  };
  useEffect(draw, [nodes]);
  const boxes = useMemo(() => [...(drawn?.boxes.values() ?? [])], [drawn]);
  const content = useMemo(() => drawn && html`<${Content} nodes=${nodes} drawn=${drawn} counts=${counts} opened=${opened?.uuid} found=${found} onOpen=${onOpen} />`, [drawn, counts, opened, found]);
  if (problem) return html`<${Problem} text=${problem} onRetry=${draw} />`;
  if (!drawn) return html`<${Waiting} />`;
  const close = () => {
    document.getElementById(`node-${opened?.uuid}`)?.focus({ preventScroll: true });
    onClose();
  };
  return html`
    <div class=${classes("drawing", opened && "with-panel")}>
      <${Canvas} width=${drawn.width} height=${drawn.height} boxes=${boxes} shown=${drawn.boxes.get(opened?.uuid ?? "")} label=${t("flows.drawing")}>${content}<//>
      ${opened && html`<aside class="card node-panel" tabindex="0" ref=${panel} aria-labelledby="node-title" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close()}>
        <header><h3 id="node-title">${t("flows.node", { number: number(nodes.indexOf(opened) + 1) })}</h3>
          <button type="button" class="quiet icon-only" aria-label=${t("act.close")} onClick=${close}><${Icon} name="close" /></button></header>
        <${NodeContent} definition=${definition} node=${opened} flow=${flow} counts=${counts} onOpen=${onOpen} />
      </aside>`}
    </div>
  `;
}

/** @param {{nodes: FlowNode[], drawn: import("./layout.js").Layout, counts: Counts, opened: string | undefined, found: string[], onOpen: (node: string) => void}} props */
function Content({ nodes, drawn, counts, opened, found, onOpen }) {
  const entered = opened ?? nodes[0]?.uuid;
  /** One stop for the keyboard; arrow keys lead from node to node. @param {KeyboardEvent} event */
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const place = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest("[data-node]"));
    if (!step || !place) return;
    event.preventDefault();
    event.stopPropagation();
    const target = nodes[(nodes.findIndex(({ uuid }) => uuid === place.dataset.node) + step + nodes.length) % nodes.length].uuid;
    onOpen(target);
    document.getElementById(`node-${target}`)?.focus({ preventScroll: true });
  };
  return html`
    <svg width=${drawn.width} height=${drawn.height} aria-hidden="true">
      <${Arrows} />
      ${drawn.ways.map(({ exit, d, isBack }) => html`<path key=${exit} class=${classes("way", isBack && "back")} d=${d} marker-end="url(#arrow)" style=${{ strokeWidth: `${thickness(counts, exit)}px` }} />`)}
    </svg>
    <ol onKeyDown=${move}>${nodes.map((node, at) => {
      const box = /** @type {import("./layout.js").Box} */ (drawn.boxes.get(node.uuid));
      const isOpen = node.uuid === opened;
      return html`<${NodeCard} key=${node.uuid} node=${node} number=${at + 1} box=${box} counts=${counts} className=${classes(isOpen && "opened", found.includes(node.uuid) && "found")}
        opener=${{ "aria-expanded": isOpen, tabindex: node.uuid === entered ? 0 : -1, onClick: () => onOpen(node.uuid) }}
        atExit=${(/** @type {string} */ exit) => html`<strong>${number(counts.exits.get(exit) ?? 0)}</strong>`} />`;
    })}</ol>
  `;
}

/**
 * A node as it is drawn: what it does, and its exits, each with something at its end.
 * @param {{node: FlowNode, number: number, box: import("./layout.js").Box, className: string, opener: Record<string, any>, atExit: (exit: string) => any, counts?: Counts, isBare?: boolean, children?: any}} props
 *   bare it is only its outline
 */
export function NodeCard({ node, number: place, box, className, opener, atExit, counts, isBare, children }) {
  const names = exitNames(node);
  return html`<li dir=${document.documentElement.dir || "ltr"} class=${classes("flow-node", node.router && "router", className)}
    style=${{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}>
    <button type="button" id=${`node-${node.uuid}`} data-node=${node.uuid} class="node-opener" ...${opener}><span class="hidden">${t("flows.node", { number: number(place) })}</span></button>
    ${!isBare && html`<ul class="does">${shortLines(node).map((line, at) => html`<li key=${at} dir="auto">${line}</li>`)}</ul>
      ${counts && html`<${NodeCounts} flow="" node=${node.uuid} counts=${counts} />`}${children}
      <ul class="exits">${node.exits.map(({ uuid }, at) => html`<li key=${uuid}><span dir="auto">${names[at]}</span> ${atExit(uuid)}</li>`)}</ul>`}
  </li>`;
}

/** The ends of lines. */
export const Arrows = () => html`<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L10,5 L0,10z" /></marker></defs>`;

/** What the layout needs to know of nodes. @param {FlowNode[]} nodes @returns {import("./layout.js").Sized[]} */
export function sizedNodes(nodes) {
  const known = new Set(nodes.map(({ uuid }) => uuid));
  const exits = (/** @type {FlowNode} */ node) => node.exits.flatMap(({ uuid, destination_uuid: to }) => (to && known.has(to) ? [{ uuid, to }] : []));
  return nodes.map((node) => ({ uuid: node.uuid, width: WIDTH, height: heightOf(node), exits: exits(node) }));
}

/** What a node does, as it is drawn. @param {FlowNode} node */
export function shortLines(node) {
  const all = linesOf(node);
  return all.length > MOST_LINES ? [...all.slice(0, MOST_LINES - 1), t("flows.more_lines", { count: number(all.length - MOST_LINES + 1) })] : all;
}

/** Up to two lines for each text, one for the counts. @param {FlowNode} node */
export const heightOf = (node) => TOP + shortLines(node).reduce((sum, line) => sum + (line.length > ONE_LINE ? 2 : 1), 0) * LINE + LINE + 10 + node.exits.length * EXIT_LINE;
