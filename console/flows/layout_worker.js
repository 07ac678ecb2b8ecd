/** The worker that lays a flow out. */

import { Graph, layout } from "../vendor/dagre.js";

/**
 * @import { Box, Layout, Sized, Way } from "./layout.js"
 * @typedef {{x: number, y: number}} Point
 * @typedef {{top: number, bottom: number}} Row
 */

const GAP = 30;
const ROW_GAP = 64;
const WAY_GAP = 16;
/** Ways end beside the round corners of a node. */
const INSIDE = 14;
/** The best order is looked for longer than anybody waits where there are more nodes. */
const LARGE = 150;

onmessage = ({ data }) => postMessage(drawn(data));

/** @param {Sized[]} nodes @returns {Layout} */
function drawn(nodes) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ nodesep: GAP, ranksep: ROW_GAP, edgesep: WAY_GAP, ranker: nodes.length > LARGE ? "longest-path" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { uuid, width, height } of nodes) graph.setNode(uuid, { width, height });
  for (const { uuid, exits } of nodes) for (const exit of exits) if (exit.to !== uuid) graph.setEdge(uuid, exit.to, {}, exit.uuid);
  layout(graph);
  if (crossing(nodes, graph) > 0) mirror(graph);
  const boxes = new Map(nodes.map(({ uuid }) => [uuid, boxOf(/** @type {any} */ (graph.node(uuid)))]));
  const rows = rowsOf([...boxes.values()]);
  const ways = nodes.flatMap(({ uuid, exits }) => exits.map((exit, at) => {
    const [from, to] = [/** @type {Box} */ (boxes.get(uuid)), /** @type {Box} */ (boxes.get(exit.to))];
    if (from === to) return loopOf(exit.uuid, from);
    const { points } = /** @type {{points: Point[]}} */ (/** @type {any} */ (graph.edge(uuid, exit.to, exit.uuid)));
    return wayOf({ exit: exit.uuid, from, to, points, port: from.x + ((at + 0.5) / exits.length) * from.width, rows });
  }));
  const { width = 0, height = 0 } = graph.graph();
  return { boxes, ways, width, height };
}

/**
 * How many pairs of exits cross because their nodes stand in the other order, less those that stand as the exits do. The
 * layout knows nothing of the order of exits, and is as good in a mirror.
 * @param {Sized[]} nodes @param {Graph} graph
 */
function crossing(nodes, graph) {
  let count = 0;
  for (const { exits } of nodes) {
    const places = exits.map(({ to }) => /** @type {Point} */ (graph.node(to)).x);
    places.forEach((place, at) => places.slice(at + 1).forEach((later) => (count += Math.sign(place - later))));
  }
  return count;
}

/** @param {Graph} graph */
function mirror(graph) {
  const { width = 0 } = graph.graph();
  const turn = (/** @type {Point} */ point) => (point.x = width - point.x);
  for (const name of graph.nodes()) turn(/** @type {any} */ (graph.node(name)));
  for (const edge of graph.edges()) /** @type {any} */ (graph.edge(edge)).points.forEach(turn);
}

/** @param {Point & {width: number, height: number}} node by its middle @returns {Box} */
const boxOf = ({ x, y, width, height }) => ({ x: x - width / 2, y: y - height / 2, width, height });

/** What each row of nodes takes from top to bottom. @param {Box[]} boxes @returns {Row[]} */
function rowsOf(boxes) {
  /** @type {Map<number, Row>} */
  const rows = new Map();
  for (const { y, height } of boxes) {
    const middle = Math.round(y + height / 2);
    const row = rows.get(middle) ?? { top: y, bottom: y + height };
    rows.set(middle, { top: Math.min(row.top, y), bottom: Math.max(row.bottom, y + height) });
  }
  return [...rows.values()];
}

/** A way back to the same node, within the gap beside it. @param {string} exit @param {Box} box @returns {Way} */
function loopOf(exit, { x, y, width, height }) {
  const [side, out] = [x + width, x + width + GAP];
  return { exit, d: `M${side},${y + height * 0.75} C${out},${y + height * 0.75} ${out},${y + height / 4} ${side},${y + height / 4}`, isBack: true };
}

/**
 * A way that is straight beside the nodes of the rows it passes, and bends only between rows, so that it runs through no node.
 * @param {{exit: string, from: Box, to: Box, points: Point[], port: number, rows: Row[]}} about
 * @returns {Way}
 */
function wayOf({ exit, from, to, points, port, rows }) {
  const [first, last] = [points[0], points[points.length - 1]];
  const isBack = to.y < from.y;
  const within = (/** @type {number} */ x, /** @type {Box} */ box) => Math.min(Math.max(x, box.x + INSIDE), box.x + box.width - INSIDE);
  const rowAt = (/** @type {number} */ y) => rows.find(({ top, bottom }) => top <= y && y <= bottom);
  const [own, target] = [from, to].map((box) => rowAt(box.y + box.height / 2));
  const passed = points.slice(1, -1).flatMap(({ x, y }) => {
    const row = rowAt(y);
    return row && row !== own && row !== target ? [{ x, ...row }] : [];
  });
  const stops = [
    { x: isBack ? within(first.x, from) : port, top: isBack ? own?.top ?? from.y : from.y, bottom: isBack ? from.y + from.height : own?.bottom ?? from.y + from.height },
    ...passed,
    { x: within(last.x, to), top: isBack ? to.y : target?.top ?? to.y, bottom: isBack ? target?.bottom ?? to.y + to.height : to.y + to.height },
  ];
  const ends = (/** @type {Row} */ { top, bottom }) => (isBack ? [bottom, top] : [top, bottom]);
  let d = `M${stops[0].x},${isBack ? from.y : from.y + from.height} L${stops[0].x},${ends(stops[0])[1]}`;
  stops.slice(1).forEach((stop, at) => {
    const before = stops[at];
    const [start, end] = [ends(before)[1], ends(stop)[0]];
    const leaves = at === stops.length - 2 ? (isBack ? to.y + to.height : to.y) : ends(stop)[1];
    d += ` C${before.x},${(start + end) / 2} ${stop.x},${(start + end) / 2} ${stop.x},${end} L${stop.x},${leaves}`;
  });
  return { exit, d, isBack };
}
