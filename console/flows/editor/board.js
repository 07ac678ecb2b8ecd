/** The surface on which a flow is drawn and changed: by mouse and touch, and by the keyboard from node to node. */

import { Icon } from "../../parts/icons.js";
import { number, t } from "../../shared/texts.js";
import { classes, html, useEffect, useMemo, useRef, useState } from "../../shared/ui.js";
import { Canvas } from "../canvas.js";
import { CountBadges } from "../node_content.js";
import { Arrows, NodeCard, thickness } from "../drawing.js";
import { linesFrom, lineTo, portOf, routeOf, routesAround } from "./lines.js";
import { moveSticky, stickiesOf } from "./model.js";
import { boxOfSticky, Stickies } from "./stickies.js";
import { around, DIRECTIONS, extentOf, neighbour, nodesIn, overlap, shifted } from "./places.js";

/**
 * @typedef {import("./places.js").Box} Box
 * @typedef {import("./places.js").Point} Point
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {{kind: "nodes", dx: number, dy: number} | {kind: "sticky", uuid: string, dx: number, dy: number} | {kind: "line", exit: string, from: string, at: number, count: number, to: Point} | {kind: "area", start: Point, to: Point} | null} Gesture
 * @typedef {{definition: Definition, boxes: Map<string, Box>, selection: string[], shown: string, found: string[], path: string[], issues: Map<string, number>, figures: import("../node_content.js").Counts | null,
 *   onSelect: (nodes: string[]) => void, onGo: (node: string) => void, onOpen: (node: string, event: MouseEvent) => void, onMove: (definition: Definition) => void, onSticky: (uuid: string) => void,
 *   onConnect: (exit: string, to: string | null, at: Point, event: PointerEvent) => void, onLine: (exit: string, at: Point, event: MouseEvent) => void,
 *   onKey: (event: KeyboardEvent, node: string) => boolean}} Props
 *   `onConnect` without a node was dropped where nothing is; `onGo` selects a node that should come into sight
 */

const CLICK = 4;
/** More nodes are only drawn where they are seen, and without their texts where nobody could read them. */
const DRAWN_WHOLE = 80;
const READABLE = 0.3;
/** By one press of an arrow key, in the pixels of the drawing. */
const STEP = 20;

/** @param {Props} props */
export function Board({ definition, boxes, selection, shown, found, path, issues, figures, onSelect, onGo, onOpen, onMove, onSticky, onConnect, onLine, onKey }) {
  const surface = useRef(/** @type {HTMLElement | null} */ (null));
  const { gesture, grab, wasDragged } = useGestures({ surface, definition, boxes, selection, onSelect, onMove, onConnect });
  const drawn = useMemo(() => (gesture?.kind === "nodes" ? withShift(boxes, selection, gesture) : boxes), [boxes, gesture, selection]);
  const routes = useRoutes(boxes);
  const { seen, isBare, onView } = useSeen(definition.nodes.length);
  const stickies = useMemo(() => stickiesOf(definition), [definition._ui]);
  const whole = useMemo(() => extentOf([...boxes.values(), ...[...stickies.values()].map(boxOfSticky)]), [boxes, stickies]);
  const all = useMemo(() => [...boxes.values()], [boxes]);
  const sticky = stickies.get(shown);
  const revealed = useMemo(() => boxes.get(shown) ?? (sticky && boxOfSticky(sticky)), [boxes.get(shown), shown, !sticky]);
  const entered = selection[0] ?? definition.nodes[0]?.uuid;
  const press = (/** @type {KeyboardEvent} */ event) => {
    const { sticky } = /** @type {HTMLElement} */ (event.target).dataset;
    const by = event.shiftKey ? DIRECTIONS[event.key] : undefined;
    if (sticky && by) {
      onMove(moveSticky(definition, sticky, by[0] * STEP, by[1] * STEP));
      event.preventDefault();
      return event.stopPropagation();
    }
    const node = /** @type {HTMLElement} */ (event.target).dataset.node;
    if (!node || event.defaultPrevented) return;
    const direction = DIRECTIONS[event.key];
    if (direction && event.shiftKey) onMove(shifted(definition, boxes, selection.includes(node) ? selection : [node], direction[0] * STEP, direction[1] * STEP));
    else if (direction && !event.ctrlKey && !event.metaKey && !event.altKey) onGo(neighbour(boxes, node, event.key));
    else if (!onKey(event, node)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const pick = (/** @type {string} */ node, /** @type {MouseEvent} */ event) => {
    if (wasDragged(event)) return;
    if (event.shiftKey) onSelect(selection.includes(node) ? selection.filter((each) => each !== node) : [...selection, node]);
    else onOpen(node, event);
  };
  const place = (/** @type {MouseEvent} */ event) => placeOn(/** @type {HTMLElement} */ (surface.current), event);
  return html`
    <${Canvas} width=${whole.width} height=${whole.height} boxes=${all} shown=${revealed} label=${t("flow_editor.surface")} keys=${t("flow_editor.keys")} fits=${definition.uuid} onGrab=${grab} onView=${onView}>
      <div class="board" ref=${surface} onKeyDown=${press}>
        <${Lines} definition=${definition} boxes=${drawn} settled=${boxes} routes=${routes} path=${path} figures=${figures} seen=${seen} isBare=${isBare} onPick=${(/** @type {string} */ exit, /** @type {MouseEvent} */ event) => !wasDragged(event) && onLine(exit, place(event), event)} />
        <${Nodes} definition=${definition} boxes=${drawn} seen=${seen} isBare=${isBare} selection=${selection} entered=${entered} found=${found} path=${path} issues=${issues} figures=${figures} onPick=${pick} />
        <${Stickies} stickies=${stickies} gesture=${gesture?.kind === "sticky" ? gesture : null} onOpen=${(/** @type {string} */ uuid, /** @type {MouseEvent} */ event) => !wasDragged(event) && onSticky(uuid)} />
        ${gesture && gesture.kind !== "nodes" && gesture.kind !== "sticky" && html`<${GestureShape} gesture=${gesture} boxes=${boxes} />`}
      </div>
    <//>
  `;
}

/**
 * The part of the surface that is drawn: with a margin, so that it changes seldom. @param {number} count of nodes
 * @returns {{seen: Box | null, isBare: boolean, onView: (seen: Box, scale: number) => void}} null is all
 */
function useSeen(count) {
  const [state, setState] = useState({ seen: /** @type {Box} */ ({ x: 0, y: 0, width: 0, height: 0 }), isBare: false });
  const onView = (/** @type {Box} */ now, /** @type {number} */ scale) =>
    setState((old) => {
      const isBare = scale < READABLE;
      const isInside = overlap(now, old.seen) && now.x >= old.seen.x && now.y >= old.seen.y && now.x + now.width <= old.seen.x + old.seen.width && now.y + now.height <= old.seen.y + old.seen.height;
      // What was drawn for a far view is too much for a near one.
      return isInside && isBare === old.isBare && old.seen.width < 6 * now.width ? old : { seen: around(now), isBare };
    });
  return count > DRAWN_WHOLE ? { ...state, onView } : { seen: null, isBare: false, onView };
}

/** The point of the drawing below a pointer. @param {HTMLElement} surface @param {{clientX: number, clientY: number}} event @returns {Point} */
export function placeOn(surface, { clientX, clientY }) {
  const held = /** @type {HTMLElement} */ (surface.parentElement);
  const { left, top, width } = held.getBoundingClientRect();
  const scale = width / held.offsetWidth;
  return { x: (clientX - left) / scale, y: (clientY - top) / scale };
}

/** @param {Map<string, Box>} boxes @param {string[]} selection @param {{dx: number, dy: number}} by */
function withShift(boxes, selection, { dx, dy }) {
  const shifted = new Map(boxes);
  for (const uuid of selection) {
    const box = boxes.get(uuid);
    if (box) shifted.set(uuid, { ...box, x: box.x + dx, y: box.y + dy });
  }
  return shifted;
}

/**
 * Dragging of nodes, of lines from an exit, and with the shift key of an area that selects.
 * @param {{surface: {current: HTMLElement | null}} & Pick<Props, "definition" | "boxes" | "selection" | "onSelect" | "onMove" | "onConnect">} props
 */
function useGestures(props) {
  const present = useRef(props);
  present.current = props;
  const [gesture, setGesture] = useState(/** @type {Gesture} */ (null));
  const isMoved = useRef(false);
  const stop = useRef(() => {});
  useEffect(() => () => stop.current(), []);
  /** @param {PointerEvent} down @param {(now: Point, start: Point) => Gesture} move @param {(gesture: any, event: PointerEvent) => void} end */
  const follow = (down, move, end) => {
    const surface = /** @type {HTMLElement} */ (props.surface.current);
    const start = placeOn(surface, down);
    /** @type {Gesture} */
    let last = null;
    const moved = (/** @type {PointerEvent} */ event) => {
      if (event.pointerId !== down.pointerId) return;
      if (!last && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) <= CLICK) return;
      isMoved.current = true;
      last = move(placeOn(surface, event), start);
      setGesture(last);
    };
    const done = (/** @type {PointerEvent} */ event) => {
      if (event.pointerId !== down.pointerId) return;
      stop.current();
      if (last && event.type === "pointerup") end(last, event);
    };
    const leave = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && last && (event.stopPropagation(), stop.current());
    const listeners = /** @type {[string, any][]} */ ([["pointermove", moved], ["pointerup", done], ["pointercancel", done], ["keydown", leave]]);
    stop.current = () => {
      for (const [name, listener] of listeners) window.removeEventListener(name, listener, true);
      setGesture(null);
    };
    for (const [name, listener] of listeners) window.addEventListener(name, listener, true);
    return true;
  };
  const grab = (/** @type {PointerEvent} */ event) => {
    isMoved.current = false;
    const target = /** @type {HTMLElement} */ (event.target);
    const exit = /** @type {HTMLElement | null} */ (target.closest("[data-exit]"))?.dataset.exit;
    const node = /** @type {HTMLElement | null} */ (target.closest("[data-node]"))?.dataset.node;
    if (exit) {
      const owner = present.current.definition.nodes.find(({ exits }) => exits.some(({ uuid }) => uuid === exit));
      if (!owner) return false;
      const about = { kind: /** @type {const} */ ("line"), exit, from: owner.uuid, at: owner.exits.findIndex(({ uuid }) => uuid === exit), count: owner.exits.length };
      return follow(event, (to) => ({ ...about, to }), ({ to }, up) => present.current.onConnect(exit, nodesIn(present.current.boxes, { ...to, width: 0, height: 0 })[0] ?? null, to, up));
    }
    const sticky = /** @type {HTMLElement | null} */ (target.closest("[data-sticky]"))?.dataset.sticky;
    if (sticky) return follow(event, (now, start) => ({ kind: "sticky", uuid: sticky, dx: now.x - start.x, dy: now.y - start.y }), ({ dx, dy }) => present.current.onMove(moveSticky(present.current.definition, sticky, dx, dy)));
    if (node && !event.shiftKey) {
      return follow(event, (now, start) => {
        if (!present.current.selection.includes(node)) present.current.onSelect([node]);
        return { kind: "nodes", dx: now.x - start.x, dy: now.y - start.y };
      }, ({ dx, dy }) => {
        const { definition, boxes, selection, onMove } = present.current;
        onMove(shifted(definition, boxes, selection, dx, dy));
      });
    }
    if (!event.shiftKey || node) return false;
    return follow(event, (to, start) => ({ kind: "area", start, to }), ({ start, to }) => present.current.onSelect(nodesIn(present.current.boxes, areaOf(start, to))));
  };
  // A click by the keyboard is none of a mouse, whatever was dragged before.
  return { gesture, grab, wasDragged: (/** @type {MouseEvent} */ click) => click.detail > 0 && isMoved.current };
}

/** @param {Point} one @param {Point} other @returns {Box} */
const areaOf = (one, other) => ({ x: Math.min(one.x, other.x), y: Math.min(one.y, other.y), width: Math.abs(one.x - other.x), height: Math.abs(one.y - other.y) });

/** @param {{gesture: Exclude<Gesture, null | {kind: "nodes" | "sticky"}>, boxes: Map<string, Box>}} props */
function GestureShape({ gesture, boxes }) {
  if (gesture.kind === "area") {
    const { x, y, width, height } = areaOf(gesture.start, gesture.to);
    return html`<svg class="gesture" aria-hidden="true"><rect x=${x} y=${y} width=${width} height=${height} vector-effect="non-scaling-stroke" /></svg>`;
  }
  const from = boxes.get(gesture.from);
  const target = boxes.get(nodesIn(boxes, { ...gesture.to, width: 0, height: 0 })[0]);
  const { x, y } = gesture.to;
  return from && html`<svg class="gesture" aria-hidden="true">
    ${target && html`<rect x=${target.x} y=${target.y} width=${target.width} height=${target.height} rx="10" />`}
    <path class="way" d=${lineTo(portOf(from, gesture.at, gesture.count), from, { x, y, width: 0, height: 0 }).d} marker-end="url(#arrow)" /></svg>`;
}

/**
 * Draws a thing again only when what it is drawn of is another object: with hundreds of nodes a drag moves a few.
 * @template T @param {(thing: T) => any} draw
 */
function useKept(draw) {
  const kept = useRef(/** @type {Map<string, {of: unknown[], drawn: any}>} */ (new Map()));
  const present = new Map();
  const one = (/** @type {string} */ key, /** @type {unknown[]} */ of, /** @type {T} */ thing) => {
    const old = kept.current.get(key);
    const entry = old && old.of.every((each, at) => each === of[at]) ? old : { of, drawn: draw(thing) };
    present.set(key, entry);
    return entry.drawn;
  };
  return { one, end: () => void (kept.current = present) };
}

/** Ways around nodes; those that nothing came near are kept. @param {Map<string, Box>} boxes */
function useRoutes(boxes) {
  const before = useRef(/** @type {import("./lines.js").Routes | null} */ (null));
  return useMemo(() => (before.current = routesAround(boxes, before.current)), [boxes]);
}

/** @typedef {{seen: Box | null, isBare: boolean}} Seen */

/**
 * @param {Pick<Props, "definition" | "boxes" | "path" | "figures"> & Seen & {settled: Map<string, Box>, routes: import("./lines.js").Routes, onPick: (exit: string, event: MouseEvent) => void}} props
 *  what moves is drawn by curves until it lies still
 */
function Lines({ definition, boxes, settled, routes, path, figures, seen, isBare, onPick }) {
  const [pointed, setPointed] = useState("");
  /** @param {import("./model.js").FlowNode} node */
  const still = (node) => (!isBare && (boxes === settled || [node.uuid, ...node.exits.map(({ destination_uuid: to }) => to ?? "")].every((uuid) => boxes.get(uuid) === settled.get(uuid))) ? routes : undefined);
  const passed = useMemo(() => new Set(path.slice(1).map((to, at) => `${path[at]} ${to}`)), [path]);
  const { one, end } = useKept((/** @type {{node: import("./model.js").FlowNode, lit: string}} */ { node, lit }) =>
    html`<g key=${node.uuid}>${linesFrom(node, boxes, still(node)).map(({ exit, to, d, isBack }) => html`
      <path key=${exit} class=${classes("way", isBack && "back", lit.includes(to) && "lit")} d=${d} marker-end="url(#arrow)" style=${figures ? { strokeWidth: `${thickness(figures, exit)}px` } : undefined} />
      ${!isBare && html`<path key=${`h${exit}`} class="line-hit" data-line=${exit} d=${d} />`}`)}</g>`);
  const drawn = definition.nodes.map((node) => {
    const [from, ...to] = [node.uuid, ...node.exits.map(({ destination_uuid: target }) => target ?? "")].map((uuid) => boxes.get(uuid));
    if (seen && !to.some((box) => box && from && overlap(seen, spanning(from, box)))) return null;
    const lit = passed.size > 0 ? node.exits.flatMap(({ destination_uuid: target }) => (target && passed.has(`${node.uuid} ${target}`) ? [target] : [])).join() : "";
    const own = still(node);
    return one(node.uuid, [node, lit, isBare, figures, from, ...to, ...node.exits.map((_, at) => own && routeOf(own, node, at))], { node, lit });
  });
  end();
  const point = (/** @type {MouseEvent} */ { target }) => setPointed(/** @type {SVGElement} */ (target).dataset.line ?? "");
  const owner = pointed ? definition.nodes.find(({ exits }) => exits.some(({ uuid }) => uuid === pointed)) : undefined;
  const middle = owner && linesFrom(owner, boxes, still(owner)).find(({ exit }) => exit === pointed)?.middle;
  return html`<svg class="lines" aria-hidden="true" onPointerOver=${point} onPointerLeave=${() => setPointed("")}
    onClick=${(/** @type {any} */ event) => event.target.dataset.line && onPick(event.target.dataset.line, event)}><${Arrows} />${drawn}
    ${middle && html`<g class="on-line"><circle cx=${middle.x} cy=${middle.y} r="9" /><path class="line-plus" d=${`M${middle.x - 4},${middle.y}h8M${middle.x},${middle.y - 4}v8`} /></g>`}</svg>`;
}

/** @param {Box} one @param {Box} other @returns {Box} */
function spanning(one, other) {
  const [x, y] = [Math.min(one.x, other.x), Math.min(one.y, other.y)];
  return { x, y, width: Math.max(one.x + one.width, other.x + other.width) - x, height: Math.max(one.y + one.height, other.y + other.height) - y };
}

/** @param {Pick<Props, "definition" | "boxes" | "selection" | "found" | "path" | "issues" | "figures"> & Seen & {entered: string | undefined, onPick: (node: string, event: MouseEvent) => void}} props */
function Nodes({ definition, boxes, seen, isBare, selection, entered, found, path, issues, figures, onPick }) {
  const pick = useRef(onPick);
  pick.current = onPick;
  const [chosen, sought, passed] = [selection, found, path].map((each) => new Set(each));
  const language = document.documentElement.lang;
  const { one, end } = useKept((/** @type {{node: import("./model.js").FlowNode, at: number, box: Box, look: string, wrong: number}} */ { node, at, box, look, wrong }) =>
    html`<${NodeCard} key=${node.uuid} isBare=${isBare} node=${node} number=${at + 1} box=${box} className=${look}
      opener=${{ "aria-pressed": chosen.has(node.uuid), tabindex: node.uuid === entered ? 0 : -1, onClick: (/** @type {MouseEvent} */ event) => pick.current(node.uuid, event) }}
      atExit=${(/** @type {string} */ exit) => html`<i class="port" data-exit=${exit} title=${t("flow_editor.drag_exit")}></i>${figures && html`<strong>${number(figures.exits.get(exit) ?? 0)}</strong>`}`}>
      ${(at === 0 || wrong > 0 || figures) && html`<p class="node-counts">${at === 0 && html`<span class="badge calm">${t("flow_editor.entry")}</span>`}
        ${wrong > 0 && html`<span class="badge bad"><${Icon} name="failed" size=${12} /> ${t("flow_editor.issues_here", { count: number(wrong) })}</span>`}
        ${figures && html`<${CountBadges} flow=${String(definition.uuid)} node=${node.uuid} counts=${figures} />`}</p>`}<//>`);
  const drawn = definition.nodes.map((node, at) => {
    const box = /** @type {Box} */ (boxes.get(node.uuid));
    if (seen && !chosen.has(node.uuid) && node.uuid !== entered && !overlap(seen, box)) return null;
    const [wrong, isEntered] = [issues.get(node.uuid) ?? 0, node.uuid === entered];
    const look = classes(chosen.has(node.uuid) && "opened", sought.has(node.uuid) && "found", passed.has(node.uuid) && "lit", wrong > 0 && "wrong");
    return one(node.uuid, [node, box, look, at, wrong, isEntered, language, isBare, figures], { node, at, box, look, wrong });
  });
  end();
  return html`<ol>${drawn}</ol>`;
}
