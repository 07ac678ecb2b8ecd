/** Steps of a flow as a flow of their own, which the flow then enters: what such a cut makes, or why it would change what
 *  contacts get. */

import { WIDTH } from "../layout.js";
import { copied, inExpressions, mapped, pasted } from "./clipboard.js";
import { acting, addNode, connect, deciding, deleteNodes, enterAt, freeName, itemsOf, newUuid, positionOf, replaceNode, resultKey, resultNames, setUi, translate, uiOf } from "./model.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").FlowNode} FlowNode
 * @typedef {{uuid: string, name: string}} FlowReference
 * @typedef {{subflow: Definition, leave: (flow: FlowReference) => {definition: Definition, node: string}}} Cut the new flow, and the old one
 *   with the step that enters it
 */

/** Why steps cannot be cut: the name of a text, `flow_cut.*`, and what stands in it. */
export class NotCut extends Error {
  /** @param {"flow_cut.entries" | "flow_cut.loop" | "flow_cut.reads"} reason @param {Record<string, string>} [values] */
  constructor(reason, values = {}) {
    super(reason);
    this.reason = reason;
    this.values = values;
  }
}

const GAP = 40;

/** What an expression finds that a flow has for itself, and the actions that give it. @type {Record<string, string[]>} */
const GIVEN = { child: ["enter_flow"], webhook: ["call_webhook", "call_resthook"], legacy_extra: ["call_webhook", "call_resthook"], locals: ["set_run_local", "call_llm"] };
const RESULTS = /(?<![\w.@])(?:run\.)?results\b(?:\.([\p{L}\p{N}_]+))?/giu;
/** A value by which the format splits, as it can be compared. */
const MOST_VALUE = 36;

/** The expressions of a node in all languages, without what they quote. @param {Definition} definition @param {FlowNode} node */
function expressionsOf(definition, node) {
  /** @type {string[]} */
  const found = [];
  const note = (/** @type {string} */ text) => inExpressions(text, (expression) => (found.push(expression.replace(/"(?:[^"\\]|\\.)*"/g, '""')), expression));
  mapped([node, ...itemsOf(node).map((item) => Object.values(definition.localization ?? {}).map((texts) => texts[item] ?? null))], note);
  return found;
}

/** @typedef {{node: FlowNode, at: number, results: Set<string>, isWhole: boolean, reads: (root: string) => boolean, gives: (root: string) => boolean}} Read what a node reads; `isWhole` all results at once */

/** @param {Definition} definition @param {FlowNode} node @param {number} at @returns {Read} */
function readBy(definition, node, at) {
  const expressions = expressionsOf(definition, node);
  const keys = expressions.flatMap((expression) => [...expression.matchAll(RESULTS)].map(([, key]) => (key ?? "").toLowerCase()));
  const types = new Set((node.actions ?? []).map(({ type }) => type));
  return {
    node,
    at,
    results: new Set(keys.filter(Boolean)),
    isWhole: keys.includes(""),
    reads: (root) => expressions.some((expression) => new RegExp(`(?<![\\w.@])${root}(?![\\p{L}\\p{N}_(])`, "iu").test(expression)),
    gives: (root) => GIVEN[root].some((type) => types.has(type)),
  };
}

/** The one node at which the chosen ones are entered. @param {Definition} definition @param {Set<string>} chosen */
function entryOf({ nodes }, chosen) {
  const led = (/** @type {boolean} */ isInside) => new Set(nodes.filter(({ uuid }) => chosen.has(uuid) === isInside).flatMap(({ uuid, exits }) => exits.flatMap(({ destination_uuid: to }) => (to && chosen.has(to) && to !== uuid ? [to] : []))));
  const entries = led(false);
  if (chosen.has(nodes[0].uuid)) entries.add(nodes[0].uuid);
  const inner = led(true);
  const begun = entries.size > 0 ? [...entries] : [...chosen].filter((uuid) => !inner.has(uuid));
  if (begun.length !== 1) throw new NotCut("flow_cut.entries", { steps: nodes.flatMap(({ uuid }, at) => (begun.includes(uuid) ? [at + 1] : [])).join(", ") });
  return begun[0];
}

/** Whether the flow comes back to these nodes after it left them. @param {Definition} definition @param {Set<string>} chosen @param {Iterable<string>} from */
function comesBack({ nodes }, chosen, from) {
  const known = new Map(nodes.map((node) => [node.uuid, node]));
  const seen = new Set(from);
  for (const uuid of seen) for (const { destination_uuid: to } of known.get(uuid)?.exits ?? []) {
    if (to && chosen.has(to)) return true;
    if (to && known.has(to)) seen.add(to);
  }
  return false;
}

/**
 * Raises NotCut where a run of its own would not know what the nodes read, or the flow what they saved.
 * @param {Read[]} inside @param {Read[]} outside @param {Set<string>} saved keys of the results of the nodes @param {Set<string>} others those of the rest @param {boolean} isLoop
 */
function refuseWhatWouldDiffer(inside, outside, saved, others, isLoop) {
  const refuse = (/** @type {Read} */ { at }, /** @type {string} */ name) => {
    throw new NotCut("flow_cut.reads", { step: String(at + 1), name });
  };
  const all = [...inside, ...outside];
  for (const each of inside) if (each.reads("parent")) refuse(each, "@parent");
  for (const root of Object.keys(GIVEN)) {
    const reading = (/** @type {Read[]} */ some) => some.filter((each) => each.reads(root) && !each.gives(root));
    if (outside.some((each) => each.gives(root))) for (const each of reading(inside)) refuse(each, `@${root}`);
    if (root === "child" || inside.some((each) => each.gives(root))) for (const each of reading(outside)) refuse(each, `@${root}`);
  }
  if (others.size > 0) for (const each of inside) if (each.isWhole) refuse(each, "@results");
  if (saved.size > 0) for (const each of outside) if (each.isWhole) refuse(each, "@results");
  const entersOthers = outside.some((each) => each.gives("child"));
  for (const each of all) for (const key of each.results) {
    if (saved.has(key) && (others.has(key) || (outside.includes(each) && entersOthers))) refuse(each, `@results.${key}`);
    if (saved.has(key) && isLoop) throw new NotCut("flow_cut.loop");
  }
  if (isLoop && inside.some((each) => each.reads("node"))) throw new NotCut("flow_cut.loop");
}

/** Texts whose expressions find results in the run of another flow. @param {Set<string>} keys @param {"parent" | "child"} root */
const withRun = (keys, root) => (/** @type {string} */ text) =>
  inExpressions(text, (expression) => expression.replace(RESULTS, (found, key) => (key && keys.has(key.toLowerCase()) ? `${root}.results.${key}` : found)));

/** A node and its texts in other languages, changed; what `_ui` says of a value that it looks at is then an expression. @param {Definition} definition @param {FlowNode} node @param {(text: string) => string} change */
function rewritten(definition, node, change) {
  const now = mapped(node, change);
  const items = itemsOf(node);
  let next = JSON.stringify(now) === JSON.stringify(node) ? definition : replaceNode(definition, now);
  for (const [language, texts] of Object.entries(definition.localization ?? {})) for (const item of items) for (const [property, values] of Object.entries(texts[item] ?? {})) {
    const said = mapped(values, change);
    if (JSON.stringify(said) !== JSON.stringify(values)) next = translate(next, language, item, property, /** @type {string[]} */ (said));
  }
  return now.router?.operand !== node.router?.operand && uiOf(next).nodes[node.uuid]?.type ? setUi(next, node.uuid, { type: "split_by_expression", config: {} }) : next;
}

/** Where the nodes lie. @param {Definition} definition @param {FlowNode[]} nodes */
function cornersOf(definition, nodes) {
  const places = nodes.flatMap(({ uuid }) => positionOf(definition, uuid) ?? []);
  const all = (/** @type {"left" | "top"} */ side) => (places.length > 0 ? places.map((place) => place[side]) : [0]);
  return { left: Math.min(...all("left")), top: Math.min(...all("top")), bottom: Math.max(...all("top")) };
}

/** How each step outside to which the nodes lead is called, by the way that leads there. @param {FlowNode[]} nodes @param {(to?: string | null) => boolean} isOutside @param {string} other what they are called without a name @returns {Map<string, string>} */
function outcomesOf(nodes, isOutside, other) {
  /** @type {Map<string, string>} */
  const outcomes = new Map();
  for (const { exits, router } of nodes) for (const { uuid: exit, destination_uuid: to } of exits) {
    if (!to || !isOutside(to) || outcomes.has(to)) continue;
    const said = (router?.categories ?? []).find((/** @type {any} */ each) => each.exit_uuid === exit)?.name ?? "";
    outcomes.set(to, freeName(said.replaceAll("@", "").trim().slice(0, MOST_VALUE) || other, outcomes.values()));
  }
  return outcomes;
}

/**
 * Cuts nodes out of a flow. Their results are read from the run of the new flow then, and those of the old one from its parent;
 * where they lead to several steps, the new flow saves at its end where it leads.
 * @param {Definition} definition @param {string[]} uuids @param {{name: string, outcome: string}} named the new flow, and the result that says where it leads @returns {Cut}
 */
export function cutOut(definition, uuids, { name, outcome }) {
  const chosen = new Set(uuids);
  const nodes = definition.nodes.filter(({ uuid }) => chosen.has(uuid));
  const rest = definition.nodes.filter(({ uuid }) => !chosen.has(uuid));
  const known = new Set(rest.map(({ uuid }) => uuid));
  const isOutside = (/** @type {string | null} */ to = null) => !!to && known.has(to);
  const entry = entryOf(definition, chosen);
  const outcomes = outcomesOf(nodes, isOutside, outcome);
  const [saved, others] = [nodes, rest].map((some) => new Set(resultNames({ nodes: some }).map(resultKey)));
  const reads = definition.nodes.map((node, at) => readBy(definition, node, at));
  refuseWhatWouldDiffer(reads.filter(({ node }) => chosen.has(node.uuid)), reads.filter(({ node }) => !chosen.has(node.uuid)), saved, others, comesBack(definition, chosen, outcomes.keys()));

  const ends = nodes.some(({ exits }) => exits.some(({ destination_uuid: to }) => !to || (!isOutside(to) && !chosen.has(to))));
  const result = outcomes.size + Number(ends) > 1 && outcomes.size > 0 ? freeName(outcome, resultNames(definition)) : "";
  const place = cornersOf(definition, nodes);
  let within = definition;
  for (const node of nodes) within = rewritten(within, node, withRun(new Set([...others].filter((key) => !saved.has(key))), "parent"));
  const leaving = new Map([...outcomes].map(([to, value], at) => {
    const node = acting({ type: "set_run_result", name: result, value, category: value });
    if (result) within = addNode(within, node, { left: place.left + at * (WIDTH + GAP), top: place.bottom + WIDTH + GAP });
    return [to, node.uuid];
  }));
  if (result) for (const { uuid, exits } of nodes) for (const { uuid: exit, destination_uuid: to } of exits) if (chosen.has(uuid) && isOutside(to)) within = connect(within, exit, leaving.get(/** @type {string} */ (to)) ?? null);
  const clip = copied(enterAt(within, entry), [...uuids, ...(result ? leaving.values() : [])]);
  const { uuid: _, name: __, nodes: ___, localization: ____, _ui: _____, ...said } = definition;
  const subflow = pasted({ ...said, uuid: newUuid(), name, localization: {}, nodes: [] }, clip, { left: GAP / 2, top: GAP / 2 }).definition;

  const leave = (/** @type {FlowReference} */ flow) => {
    let now = definition;
    for (const node of rest) now = rewritten(now, node, withRun(new Set([...saved].filter((key) => !others.has(key))), "child"));
    const enters = deciding({ operand: "@child.status", cases: [{ type: "has_only_text", arguments: ["completed"], category: "Complete" }, { type: "has_only_text", arguments: ["expired"], category: "Expired" }], otherwise: "Other" }, [{ uuid: newUuid(), type: "enter_flow", flow }]);
    now = addNode(now, enters, { left: place.left, top: place.top }, "split_by_subflow");
    if (result) {
      const values = [...outcomes.values()];
      const decides = deciding({ operand: `@(default(child.results.${resultKey(result)}, ""))`, cases: values.map((value) => ({ type: "has_only_text", arguments: [value], category: value })), otherwise: values.includes("Other") ? freeName("Other", values) : "Other" });
      now = addNode(now, decides, { left: place.left, top: place.top + WIDTH + GAP }, "split_by_expression");
      [...outcomes.keys()].forEach((to, at) => (now = connect(now, decides.exits[at].uuid, to)));
      now = connect(now, enters.exits[0].uuid, decides.uuid);
    } else if (outcomes.size > 0) now = connect(now, enters.exits[0].uuid, [...outcomes.keys()][0]);
    for (const { exits } of rest) for (const { uuid: exit, destination_uuid: to } of exits) if (to === entry) now = connect(now, exit, enters.uuid);
    now = deleteNodes(now, uuids);
    return { definition: chosen.has(definition.nodes[0].uuid) ? enterAt(now, enters.uuid) : now, node: enters.uuid };
  };
  return { subflow, leave };
}
