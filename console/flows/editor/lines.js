/** The lines between nodes: curves, and where a curve would run behind another node, ways around it. */

import { EXIT_LINE } from "../layout.js";

/**
 * @typedef {import("../layout.js").Box} Box
 * @typedef {{x: number, y: number}} Point
 * @typedef {{d: string, middle: Point}} Route `d` as paths of SVG have it
 * @typedef {{exit: string, from: string, to: string, isBack: boolean} & Route} Line
 */

/** From the lower edge of a node to its last exit. */
const BELOW_EXITS = 9;
const BEND = 60;
/** Between a way around and the nodes beside it; ways of several exits lie beside each other. */
const [ASIDE, NEXT] = [18, 4];
/** Above the node to which it leads: nodes that were put below each other have little more between them. */
const ABOVE = 14;
const ROUND = 10;
/** What touches the edge of a node does not run behind it. */
const INSIDE = 3;
/** Points of a curve at which it is looked at. */
const SAMPLES = 24;
/** Edge of the squares in which nodes are looked up, about as large as they are. */
const SQUARE = 256;
/** A way around one node may meet the next: so often it moves on. */
const MOST_MOVES = 4;

/** Where the line of an exit begins. @param {Box} box @param {number} at its place @param {number} count of exits @returns {Point} */
export const portOf = (box, at, count) => ({ x: box.x + box.width, y: box.y + box.height - BELOW_EXITS - (count - at - 0.5) * EXIT_LINE });

/** The points by which a curve from an exit to a node is drawn. @param {Point} port @param {Box} from @param {Box} to @returns {[Point, Point, Point, Point]} */
function curveTo(port, from, to) {
  const end = { x: to.x + to.width / 2, y: to.y };
  const isBack = isBackTo(from, to);
  const drop = isBack ? BEND : Math.min(BEND, Math.max(20, (end.y - port.y) / 2));
  return [port, { x: port.x + (isBack && Math.abs(end.x - port.x) < BEND ? 2 * BEND : BEND / 2), y: port.y }, { x: end.x, y: end.y - drop }, end];
}

/** @param {Box} from @param {Box} to */
const isBackTo = (from, to) => to.y < from.y + from.height;

/** A line from an exit to a node. @param {Point} port @param {Box} from @param {Box} to @returns {Route & {isBack: boolean}} */
export function lineTo(port, from, to) {
  const [, out, above, end] = curveTo(port, from, to);
  if (from === to) return { d: `M${port.x},${port.y} C${port.x + BEND},${port.y} ${port.x + BEND},${to.y - BEND / 2} ${end.x},${to.y - BEND / 2} L${end.x},${to.y}`, isBack: true, middle: { x: port.x + BEND / 2, y: to.y } };
  return { d: `M${port.x},${port.y} C${out.x},${out.y} ${above.x},${above.y} ${end.x},${end.y}`, isBack: isBackTo(from, to), middle: onCurve([port, out, above, end], 0.5) };
}

/** @param {[Point, Point, Point, Point]} curve @param {number} t from 0 to 1 @returns {Point} */
function onCurve([a, b, c, d], t) {
  const s = 1 - t;
  const at = (/** @type {"x" | "y"} */ axis) => s * s * s * a[axis] + 3 * s * s * t * b[axis] + 3 * s * t * t * c[axis] + t * t * t * d[axis];
  return { x: at("x"), y: at("y") };
}

/** The lines of a node to nodes that are there. @param {import("./model.js").FlowNode} node @param {Map<string, Box>} boxes @param {Routes} [routes] @returns {Line[]} */
export const linesFrom = (node, boxes, routes) =>
  node.exits.flatMap((exit, at) => {
    const [from, to] = [boxes.get(node.uuid), boxes.get(exit.destination_uuid ?? "")];
    return from && to ? [{ exit: exit.uuid, from: node.uuid, to: /** @type {string} */ (exit.destination_uuid), ...lineTo(portOf(from, at, node.exits.length), from, to), ...(routes && routeOf(routes, node, at)) }] : [];
  });

/** @typedef {Map<number, Box[]>} Squares the boxes that touch each */

/** @param {number} column @param {number} row */
const keyOf = (column, row) => column * 65_536 + row;

/** @param {Iterable<Box>} boxes @returns {Squares} */
function squaresOf(boxes) {
  /** @type {Squares} */
  const squares = new Map();
  for (const box of boxes) {
    for (let column = Math.floor(box.x / SQUARE); column <= (box.x + box.width) / SQUARE; column++) for (let row = Math.floor(box.y / SQUARE); row <= (box.y + box.height) / SQUARE; row++) {
      const key = keyOf(column, row);
      const held = squares.get(key);
      if (held) held.push(box);
      else squares.set(key, [box]);
    }
  }
  return squares;
}

/** The boxes behind which a straight piece runs, which is level or upright. @param {Squares} squares @param {Point} one @param {Point} other @param {Set<Box>} met */
function meet(squares, one, other, met) {
  const [left, right, top, bottom] = [Math.min(one.x, other.x), Math.max(one.x, other.x), Math.min(one.y, other.y), Math.max(one.y, other.y)];
  for (let column = Math.floor(left / SQUARE); column <= right / SQUARE; column++) for (let row = Math.floor(top / SQUARE); row <= bottom / SQUARE; row++) {
    for (const box of squares.get(keyOf(column, row)) ?? []) {
      if (left < box.x + box.width - INSIDE && right > box.x + INSIDE && top < box.y + box.height - INSIDE && bottom > box.y + INSIDE) met.add(box);
    }
  }
}

/** The boxes behind which a curve runs. @param {Squares} squares @param {[Point, Point, Point, Point]} curve */
function metBy(squares, curve) {
  /** @type {Set<Box>} */
  const met = new Set();
  for (let at = 0; at <= SAMPLES; at++) {
    const point = onCurve(curve, at / SAMPLES);
    meet(squares, point, point, met);
  }
  return met;
}

/** @param {Squares} squares @param {Point[]} points */
function metOn(squares, points) {
  /** @type {Set<Box>} */
  const met = new Set();
  points.slice(1).forEach((point, at) => meet(squares, points[at], point, met));
  return met;
}

/**
 * Ways around: down or up beside the exit, beside all that is in the way at the right or the left, or level below the node first.
 * @param {Squares} squares @param {Point} port @param {Box} from @param {Box} to @param {Set<Box>} met @param {number} at place of the exit
 * @returns {Point[][]}
 */
function waysAround(squares, port, from, to, met, at) {
  const end = { x: to.x + to.width / 2, y: to.y };
  const above = to.y - ABOVE;
  const beside = (/** @type {number} */ x) => [port, { x, y: port.y }, { x, y: above }, { x: end.x, y: above }, end];
  const under = from.y + from.height + ABOVE - NEXT * (at % 3);
  const near = port.x + ASIDE - NEXT * (at % 3);
  const aroundLeft = (/** @type {number} */ x) => [port, { x: near, y: port.y }, { x: near, y: under }, { x, y: under }, { x, y: above }, { x: end.x, y: above }, end];
  const pushed = (/** @type {(x: number) => Point[]} */ way, /** @type {1 | -1} */ side) => {
    const edge = (/** @type {Iterable<Box>} */ some) => [...some].reduce((most, box) => (side > 0 ? Math.max(most, box.x + box.width) : Math.min(most, box.x)), side > 0 ? port.x : Math.min(from.x, to.x));
    let x = edge(met) + side * (ASIDE + NEXT * (at % 4));
    for (let move = 0; move < MOST_MOVES; move++) {
      const upright = metOn(squares, way(x));
      if (upright.size === 0) break;
      x = edge([...met, ...upright]) + side * (ASIDE + NEXT * (at % 4));
    }
    return way(x);
  };
  return [beside(near), [port, { x: near, y: port.y }, { x: near, y: under }, { x: end.x, y: under }, end], pushed(beside, 1), pushed(aroundLeft, -1)];
}

/** @param {Point[]} points */
const lengthOf = (points) => points.slice(1).reduce((sum, { x, y }, at) => sum + Math.abs(x - points[at].x) + Math.abs(y - points[at].y), 0);

/** Straight pieces with round corners. @param {Point[]} points @returns {Route} */
function drawn(points) {
  let d = `M${points[0].x},${points[0].y}`;
  for (let at = 1; at < points.length - 1; at++) {
    const [before, corner, after] = [points[at - 1], points[at], points[at + 1]];
    const towards = (/** @type {Point} */ other) => {
      const [dx, dy] = [other.x - corner.x, other.y - corner.y];
      const length = Math.hypot(dx, dy) || 1;
      const by = Math.min(ROUND, length / 2) / length;
      return `${corner.x + dx * by},${corner.y + dy * by}`;
    };
    d += ` L${towards(before)} Q${corner.x},${corner.y} ${towards(after)}`;
  }
  const end = points[points.length - 1];
  // Half of the longest piece is where most is free.
  const longest = points.slice(1).map((point, at) => ({ one: points[at], other: point })).reduce((best, piece) => (lengthOf([piece.one, piece.other]) > lengthOf([best.one, best.other]) ? piece : best));
  return { d: `${d} L${end.x},${end.y}`, middle: { x: (longest.one.x + longest.other.x) / 2, y: (longest.one.y + longest.other.y) / 2 } };
}

/**
 * The ways around nodes, each worked out when it is drawn and kept while nothing near it moves.
 * @typedef {{from: Box, to: Box, at: number, count: number, around: Box, route: Route | null}} Known no route where the curve is free, or no way is better
 * @typedef {{boxes: Map<string, Box>, squares: Squares, known: Map<string, Known>}} Routes
 */

/** After so many nodes moved, all is worked out anew. */
const MOST_MOVED = 60;

/** @param {Map<string, Box>} boxes @param {Routes | null} before @returns {Routes} */
export function routesAround(boxes, before) {
  const moved = before ? [...boxes].flatMap(([uuid, box]) => (before.boxes.get(uuid) === box ? [] : [box, before.boxes.get(uuid)])).concat([...before.boxes].map(([uuid, box]) => (boxes.has(uuid) ? undefined : box))) : [];
  const places = moved.flatMap((box) => box ?? []);
  const isKept = (/** @type {Known} */ { around }) => !places.some((box) => touch(box, around));
  const known = before && places.length <= MOST_MOVED ? new Map([...before.known].filter(([, each]) => isKept(each))) : new Map();
  return { boxes, squares: squaresOf(boxes.values()), known };
}

/** @param {Box} one @param {Box} other */
const touch = (one, other) => one.x < other.x + other.width && one.x + one.width > other.x && one.y < other.y + other.height && one.y + one.height > other.y;

/** What lies around all these points. @param {Point[]} points @returns {Box} */
function around(points) {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [x, y] = [Math.min(...xs) - BEND, Math.min(...ys) - BEND];
  return { x, y, width: Math.max(...xs) + BEND - x, height: Math.max(...ys) + BEND - y };
}

/**
 * The way around that runs behind the fewest nodes, if that are fewer than behind which the curve runs.
 * @param {Routes} routes @param {import("./model.js").FlowNode} node @param {number} at place of the exit @returns {Route | null}
 */
export function routeOf({ boxes, squares, known }, node, at) {
  const { uuid, destination_uuid: target } = node.exits[at];
  const [from, to] = [boxes.get(node.uuid), boxes.get(target ?? "")];
  if (!from || !to || from === to) return null;
  const count = node.exits.length;
  const old = known.get(uuid);
  if (old && old.from === from && old.to === to && old.at === at && old.count === count) return old.route;
  const port = portOf(from, at, count);
  const curve = curveTo(port, from, to);
  const met = metBy(squares, curve);
  let [best, least, shortest] = [/** @type {Point[] | null} */ (null), met.size, Infinity];
  for (const way of met.size > 0 ? waysAround(squares, port, from, to, met, at) : []) {
    const [behind, length] = [metOn(squares, way).size, lengthOf(way)];
    if (behind < least || (best && behind === least && length < shortest)) [best, least, shortest] = [way, behind, length];
  }
  const route = best && drawn(best);
  known.set(uuid, { from, to, at, count, around: around(best ?? curve), route });
  return route;
}
