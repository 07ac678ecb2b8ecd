/** What people do with the steps that they chose, whichever way they ask for it: menu, keys, list or mouse. */

import { notify } from "../../parts/notices.js";
import { number, t } from "../../shared/texts.js";
import { layOut, WIDTH } from "../layout.js";
import { heightOf, sizedNodes } from "../drawing.js";
import { copied, missingFrom, pasted, readClip } from "./clipboard.js";
import { addNode, connect, deleteNodes, enterAt, insertNode, moveNodes, ownerOf } from "./model.js";
import { aligned, extentOf, freePlace, GAP } from "./places.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").Label} Label
 * @typedef {import("./model.js").Position} Position
 * @typedef {{selection?: string[], field?: string, isShown?: boolean}} Then what is selected then, and whether it comes into sight
 * @typedef {{definition: Definition, boxes: Map<string, import("./places.js").Box>, selection: string[], workspace: import("./model.js").Workspace,
 *   edit: (label: Label, definition: Definition, then?: Then) => void}} About
 */

/** How much room copied steps take. @param {import("./clipboard.js").Clip} clip */
function spanOf({ nodes, ui }) {
  const places = nodes.flatMap((node) => {
    const { left, top } = ui[node.uuid]?.position ?? {};
    return Number.isFinite(left) && Number.isFinite(top) ? [{ left, top, bottom: top + heightOf(node) }] : [];
  });
  if (places.length === 0) return { width: WIDTH, height: GAP };
  const all = (/** @type {"left" | "top" | "bottom"} */ side) => places.map((place) => place[side]);
  return { width: Math.max(...all("left")) - Math.min(...all("left")) + WIDTH, height: Math.max(...all("bottom")) - Math.min(...all("top")) };
}

/** @param {About} about */
export function commandsFor({ definition, boxes, selection, workspace, edit }) {
  const places = () => [...boxes.values()];
  /** Below the node whose exit leads there, or below all. @param {string} [node] @returns {Position} */
  const below = (node) => {
    const box = boxes.get(node ?? "");
    return box ? { left: box.x, top: box.y + box.height + GAP } : { left: GAP / 2, top: boxes.size > 0 ? extentOf(places()).height : GAP / 2 };
  };
  /** Also of a node that was only laid out. @param {string} uuid */
  const placeOf = (uuid) => ({ left: boxes.get(uuid)?.x ?? 0, top: boxes.get(uuid)?.y ?? 0 });
  return {
    /** The definition with the place of each node. */
    placed: () => moveNodes(definition, new Map([...boxes.keys()].map((uuid) => [uuid, placeOf(uuid)]))),
    placeBelow: () => below(selection[0]),
    /** A step by itself. @param {import("./kinds.js").Kind} kind @param {Position} [at] */
    add(kind, at) {
      const node = kind.make(definition);
      edit("flow_change.add", addNode(definition, node, freePlace(boxes, at ?? below(selection[0]), heightOf(node)), kind.ui), { selection: [node.uuid], isShown: true });
    },
    /** A step to which an exit leads, and that leads on to where the exit led. @param {string} exit @param {import("./kinds.js").Kind} kind @param {Position} [at] */
    insert(exit, kind, at) {
      const node = kind.make(definition);
      const place = freePlace(boxes, at ?? below(ownerOf(definition, exit)?.uuid), heightOf(node));
      edit("flow_change.insert", insertNode(definition, exit, node, place, kind.ui), { selection: [node.uuid], isShown: true });
    },
    /** @param {string} exit @param {string | null} to */
    connect: (exit, to) => edit(to ? "flow_change.connect" : "flow_change.disconnect", connect(definition, exit, to)),
    remove: (nodes = selection) => edit("flow_change.delete", deleteNodes(definition, nodes)),
    /** @param {string} node */
    enter: (node) => edit("flow_change.entry", enterAt(definition, node)),
    /** @param {import("./places.js").Side} side */
    align: (side) => edit("flow_change.align", aligned(definition, boxes, selection, side)),
    /** All nodes in rows below each other. @param {AbortSignal} stop */
    async layOut(stop) {
      const { boxes: found } = await layOut(sizedNodes(definition.nodes), stop);
      edit("flow_change.layout", moveNodes(definition, new Map([...found].map(([uuid, { x, y }]) => [uuid, { left: x, top: y }]))));
    },
    /** Steps as text. @param {string[]} nodes @param {boolean} isCut */
    copy(nodes, isCut) {
      const text = JSON.stringify(copied(moveNodes(definition, new Map(nodes.map((uuid) => [uuid, placeOf(uuid)]))), nodes));
      if (isCut) edit("flow_change.cut", deleteNodes(definition, nodes));
      notify(t("flow_editor.copied", { count: number(nodes.length) }));
      return text;
    },
    /** @param {string} text @param {Position} [at] the middle of where they come @returns {boolean} whether the text holds steps */
    paste(text, at) {
      const clip = readClip(text);
      if (!clip) return false;
      const { left, top } = at ?? below();
      const { width, height } = spanOf(clip);
      const made = pasted(definition, clip, freePlace(boxes, { left: left - (at ? width / 2 : 0), top }, height, width));
      edit("flow_change.paste", made.definition, { selection: made.nodes, isShown: true });
      const missing = missingFrom(clip, workspace);
      const told = [t("flow_editor.pasted", { count: number(made.nodes.length) })];
      if (made.renamed.length > 0) told.push(t("flow_editor.renamed", { names: made.renamed.map(({ from, to }) => `${from} → ${to}`).join(", ") }));
      if (missing.length > 0) told.push(t("flow_editor.missing", { names: missing.join(", ") }));
      notify(told.join(" "), missing.length > 0);
      return true;
    },
  };
}
