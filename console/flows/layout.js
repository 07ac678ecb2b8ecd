/** Where the boxes of a flow are drawn: in rows, each below those that lead to it. */

/**
 * @typedef {{uuid: string, exits: {uuid: string, destination_uuid?: string | null}[]}} Node
 * @typedef {{node: string, x: number, y: number, width: number, height: number}} Box
 * @typedef {{exit: string, from: {x: number, y: number}, to: {x: number, y: number}, isBack: boolean}} Way
 */

export const WIDTH = 230;
const GAP = 30;
const ROW_GAP = 56;

/**
 * @param {Node[]} nodes the first is the entry
 * @param {(node: Node) => number} heightOf
 * @returns {{boxes: Map<string, Box>, ways: Way[], width: number, height: number}}
 */
export function layOut(nodes, heightOf) {
  const known = new Map(nodes.map((node) => [node.uuid, node]));
  const isBack = backWays(nodes, known);
  const rows = inRows(nodes, known, isBack);
  const widest = Math.max(1, ...rows.map((row) => row.length));
  const width = widest * (WIDTH + GAP) - GAP;
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  let y = 0;
  for (const row of rows) {
    const left = (width - (row.length * (WIDTH + GAP) - GAP)) / 2;
    row.forEach((node, at) => boxes.set(node.uuid, { node: node.uuid, x: left + at * (WIDTH + GAP), y, width: WIDTH, height: heightOf(node) }));
    y += Math.max(...row.map(heightOf)) + ROW_GAP;
  }
  const ways = nodes.flatMap((node) => node.exits.flatMap((exit, at) => {
    const [from, to] = [boxes.get(node.uuid), boxes.get(exit.destination_uuid ?? "")];
    if (!from || !to) return [];
    const x = from.x + ((at + 0.5) / node.exits.length) * from.width;
    return [{ exit: exit.uuid, from: { x, y: from.y + from.height }, to: { x: to.x + to.width / 2, y: to.y }, isBack: isBack.has(exit.uuid) }];
  }));
  return { boxes, ways, width, height: Math.max(0, y - ROW_GAP) };
}

/** The exits that lead back to a node on the way to them. @param {Node[]} nodes @param {Map<string, Node>} known */
function backWays(nodes, known) {
  /** @type {Set<string>} */
  const found = new Set();
  /** @type {Map<string, "open" | "done">} */
  const states = new Map();
  for (const root of nodes) {
    if (states.has(root.uuid)) continue;
    // Without recursion: flows may have thousands of nodes in a row.
    const stack = [{ node: root, at: 0 }];
    states.set(root.uuid, "open");
    while (stack.length) {
      const top = stack[stack.length - 1];
      const exit = top.node.exits[top.at++];
      if (!exit) {
        states.set(top.node.uuid, "done");
        stack.pop();
        continue;
      }
      const target = known.get(exit.destination_uuid ?? "");
      if (!target) continue;
      if (states.get(target.uuid) === "open") found.add(exit.uuid);
      else if (!states.has(target.uuid)) {
        states.set(target.uuid, "open");
        stack.push({ node: target, at: 0 });
      }
    }
  }
  return found;
}

/** Each node in the row after the last of those that lead to it. @param {Node[]} nodes @param {Map<string, Node>} known @param {Set<string>} isBack */
function inRows(nodes, known, isBack) {
  const targets = (/** @type {Node} */ node) =>
    node.exits.filter(({ uuid }) => !isBack.has(uuid)).flatMap(({ destination_uuid }) => known.get(destination_uuid ?? "") ?? []);
  const waiting = new Map(nodes.map(({ uuid }) => [uuid, 0]));
  for (const node of nodes) for (const { uuid } of targets(node)) waiting.set(uuid, (waiting.get(uuid) ?? 0) + 1);
  /** @type {Node[][]} */
  const rows = [];
  const rowOf = new Map(nodes.map(({ uuid }) => [uuid, 0]));
  const ready = nodes.filter(({ uuid }) => waiting.get(uuid) === 0);
  for (let node = ready.shift(); node; node = ready.shift()) {
    const row = rowOf.get(node.uuid) ?? 0;
    (rows[row] ??= []).push(node);
    for (const target of targets(node)) {
      rowOf.set(target.uuid, Math.max(rowOf.get(target.uuid) ?? 0, row + 1));
      waiting.set(target.uuid, (waiting.get(target.uuid) ?? 0) - 1);
      if (waiting.get(target.uuid) === 0) ready.push(target);
    }
  }
  return rows.filter((row) => row?.length);
}
