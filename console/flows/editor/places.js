/** Where nodes lie on the surface of the editor: boxes, and what is next to what. */

import { heightOf } from "../drawing.js";
import { WIDTH } from "../layout.js";
import { moveNodes, positionOf } from "./model.js";

/**
 * @typedef {import("../layout.js").Box} Box
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").Position} Position
 * @typedef {{x: number, y: number}} Point
 * @typedef {"left" | "middle" | "top" | "row"} Side to what nodes are aligned; a row has equal gaps
 */

export const GAP = 40;

/**
 * The boxes of all nodes: where `_ui` places them, else where they were laid out, else below all others. A box that did not
 * change stays the same object.
 * @param {Definition} definition @param {Map<string, Position>} laidOut @param {Map<string, Box>} before
 * @returns {Map<string, Box>}
 */
export function boxesOf(definition, laidOut, before) {
  const boxes = new Map();
  const unplaced = [];
  let bottom = 0;
  for (const node of definition.nodes) {
    const place = positionOf(definition, node.uuid) ?? laidOut.get(node.uuid);
    if (!place) {
      unplaced.push(node);
      boxes.set(node.uuid, null);
      continue;
    }
    const box = same(before.get(node.uuid), { x: place.left, y: place.top, width: WIDTH, height: heightOnce(node) });
    boxes.set(node.uuid, box);
    bottom = Math.max(bottom, box.y + box.height);
  }
  unplaced.forEach((node, at) => boxes.set(node.uuid, same(before.get(node.uuid), { x: at * (WIDTH + GAP), y: bottom + GAP, width: WIDTH, height: heightOf(node) })));
  return boxes;
}

/** A node that did not change has its height. @type {WeakMap<import("./model.js").FlowNode, {height: number, language: string}>} */
const heights = new WeakMap();

/** @param {import("./model.js").FlowNode} node */
function heightOnce(node) {
  const { lang: language } = document.documentElement;
  const known = heights.get(node);
  if (known?.language === language) return known.height;
  const height = heightOf(node);
  heights.set(node, { height, language });
  return height;
}

/** @param {Box | undefined} old @param {Box} box */
const same = (old, box) => (old && old.x === box.x && old.y === box.y && old.height === box.height ? old : box);

/** How much room boxes take from the corner on. @param {Iterable<Box>} boxes */
export function extentOf(boxes) {
  let [width, height] = [WIDTH, WIDTH];
  for (const box of boxes) [width, height] = [Math.max(width, box.x + box.width), Math.max(height, box.y + box.height)];
  return { width: width + GAP, height: height + GAP };
}

/** @param {Box} one @param {Box} other */
export const overlap = (one, other) => one.x < other.x + other.width && one.x + one.width > other.x && one.y < other.y + other.height && one.y + one.height > other.y;

/** A box with as much again on each side. @param {Box} box @returns {Box} */
export const around = ({ x, y, width, height }) => ({ x: x - width, y: y - height, width: 3 * width, height: 3 * height });

/** The nodes that a box touches. @param {Map<string, Box>} boxes @param {Box} area */
export const nodesIn = (boxes, area) => [...boxes].filter(([, box]) => overlap(box, area)).map(([uuid]) => uuid);

/** The nearest node in the direction of an arrow key, what lies straight on before what lies aside. @param {Map<string, Box>} boxes @param {string} from @param {string} key */
export function neighbour(boxes, from, key) {
  const start = boxes.get(from);
  const [dx, dy] = DIRECTIONS[key];
  let [found, least] = ["", Infinity];
  for (const [uuid, box] of boxes) {
    if (!start || uuid === from) continue;
    const [x, y] = [box.x + box.width / 2 - start.x - start.width / 2, box.y + box.height / 2 - start.y - start.height / 2];
    const [along, aside] = [x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)];
    if (along > 0 && along + 2 * aside < least) [found, least] = [uuid, along + 2 * aside];
  }
  return found || from;
}

/** @type {Record<string, [number, number]>} */
export const DIRECTIONS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

/** Moves nodes by so much. @param {Definition} definition @param {Map<string, Box>} boxes @param {string[]} uuids @param {number} dx @param {number} dy */
export function shifted(definition, boxes, uuids, dx, dy) {
  const held = uuids.flatMap((uuid) => boxes.get(uuid) ?? []);
  // All stop where the first one comes to the edge.
  const [x, y] = [Math.max(dx, -Math.min(...held.map((box) => box.x))), Math.max(dy, -Math.min(...held.map((box) => box.y)))];
  const moved = uuids.flatMap((uuid) => {
    const box = boxes.get(uuid);
    return box ? [/** @type {[string, Position]} */ ([uuid, { left: box.x + x, top: box.y + y }])] : [];
  });
  return moved.length > 0 && (x || y) ? moveNodes(definition, new Map(moved)) : definition;
}

/** Lines nodes up. @param {Definition} definition @param {Map<string, Box>} boxes @param {string[]} uuids @param {Side} side */
export function aligned(definition, boxes, uuids, side) {
  const held = uuids.flatMap((uuid) => {
    const box = boxes.get(uuid);
    return box ? [{ uuid, box }] : [];
  });
  if (held.length < 2) return definition;
  const [left, top] = [Math.min(...held.map(({ box }) => box.x)), Math.min(...held.map(({ box }) => box.y))];
  const middle = held.reduce((sum, { box }) => sum + box.y + box.height / 2, 0) / held.length;
  const inRow = [...held].sort((one, other) => one.box.x - other.box.x);
  const places = new Map(held.map(({ uuid, box }) => {
    const row = { left: left + inRow.findIndex((each) => each.uuid === uuid) * (WIDTH + GAP), top };
    const place = { left: { left, top: box.y }, top: { left: box.x, top }, middle: { left: box.x, top: middle - box.height / 2 }, row }[side];
    return /** @type {[string, Position]} */ ([uuid, place]);
  }));
  return moveNodes(definition, places);
}

/** A free place near another one: downwards until no node is in the way. @param {Map<string, Box>} boxes @param {Position} near @param {number} height @param {number} [width] @returns {Position} */
export function freePlace(boxes, near, height, width = WIDTH) {
  const left = Math.max(0, near.left);
  let top = Math.max(0, near.top);
  for (;;) {
    const hit = nodesIn(boxes, { x: left, y: top, width, height }).map((uuid) => /** @type {Box} */ (boxes.get(uuid)));
    if (hit.length === 0) return { left, top };
    top = Math.max(...hit.map((box) => box.y + box.height)) + GAP / 2;
  }
}
