/** Nodes as text, to be put into the same flow or another one, in this browser or elsewhere. */

import { freeName, itemsOf, newUuid, resultKey, resultNames, uiOf } from "./model.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").FlowNode} FlowNode
 * @typedef {import("./model.js").Workspace} Workspace
 * @typedef {{relayboard: "nodes", nodes: FlowNode[], ui: Record<string, any>, localization: Record<string, Record<string, any>>}} Clip
 * @typedef {{definition: Definition, nodes: string[], renamed: {from: string, to: string}[]}} Pasted
 */

const MARK = "nodes";
/** The lists of a workspace in which references are looked up, by the properties that hold them. @type {Record<string, import("./model.js").AssetKind>} */
const LISTS = { channel: "channels", field: "fields", flow: "flows", groups: "groups", labels: "labels", optin: "optins", template: "templates", topic: "topics" };

/** Nodes with all that belongs to them. @param {Definition} definition @param {string[]} uuids @returns {Clip} */
export function copied(definition, uuids) {
  const nodes = definition.nodes.filter(({ uuid }) => uuids.includes(uuid));
  const items = new Set(nodes.flatMap(itemsOf));
  const among = (/** @type {Record<string, any>} */ all, /** @type {(key: string) => boolean} */ isWanted) => Object.fromEntries(Object.entries(all).filter(([key]) => isWanted(key)));
  const localization = Object.fromEntries(Object.entries(definition.localization ?? {}).map(([language, texts]) => [language, among(texts, (item) => items.has(item))]));
  return { relayboard: MARK, nodes, ui: among(uiOf(definition).nodes, (uuid) => uuids.includes(uuid)), localization };
}

/** The nodes in a text, or null. @param {string} text @returns {Clip | null} */
export function readClip(text) {
  try {
    const read = JSON.parse(text);
    const isNode = (/** @type {any} */ node) => typeof node?.uuid === "string" && Array.isArray(node.actions ?? []) && Array.isArray(node.exits);
    if (read?.relayboard !== MARK || !Array.isArray(read.nodes) || read.nodes.length === 0 || !read.nodes.every(isNode)) return null;
    return { ui: {}, localization: {}, ...read };
  } catch {
    return null;
  }
}

/**
 * Adds nodes with new UUIDs. Exits that led to other nodes are open; results whose names the flow uses get new ones, in the
 * expressions of the pasted nodes too.
 * @param {Definition} definition @param {Clip} clip @param {import("./model.js").Position} at where their left upper corner comes to lie
 * @returns {Pasted}
 */
export function pasted(definition, clip, at) {
  const renewed = new Map(clip.nodes.flatMap((node) => [node, ...node.exits, ...[node.actions ?? [], node.router?.cases ?? [], node.router?.categories ?? []].flat()]).filter(({ uuid }) => uuid).map(({ uuid }) => [uuid, newUuid()]));
  const renamed = newNames(definition, clip);
  const inside = new Set(clip.nodes.map(({ uuid }) => uuid));
  const texts = (/** @type {string} */ text) => renewed.get(text) ?? renamed.reduce((now, { from, to }) => withResult(now, resultKey(from), resultKey(to)), text);
  const nodes = clip.nodes.map((node) => {
    const exits = node.exits.map((exit) => (exit.destination_uuid && !inside.has(exit.destination_uuid) ? { ...exit, destination_uuid: null } : exit));
    return mapped(withNames({ ...node, exits }, new Map(renamed.map(({ from, to }) => [from, to]))), texts);
  });
  const places = clip.nodes.map(({ uuid }) => clip.ui[uuid]?.position).filter((place) => Number.isFinite(place?.left) && Number.isFinite(place?.top));
  const corner = { left: Math.min(...places.map(({ left }) => left)), top: Math.min(...places.map(({ top }) => top)) };
  const placed = Object.fromEntries(clip.nodes.map(({ uuid }) => {
    const { position, ...said } = clip.ui[uuid] ?? {};
    const isPlaced = places.includes(position);
    const [left, top] = isPlaced ? [at.left + position.left - corner.left, at.top + position.top - corner.top] : [at.left, at.top];
    return [/** @type {string} */ (renewed.get(uuid)), { ...mapped(said, texts), position: { left: Math.max(0, Math.round(left)), top: Math.max(0, Math.round(top)) } }];
  }));
  const ui = uiOf(definition);
  const localization = { ...definition.localization };
  for (const [language, told] of Object.entries(clip.localization)) if (Object.keys(told).length > 0) localization[language] = { ...localization[language], ...mapped(told, texts) };
  const isTranslated = Object.keys(localization).length > 0 || definition.localization;
  return {
    definition: { ...definition, ...(isTranslated ? { localization } : {}), nodes: [...definition.nodes, ...nodes], _ui: { ...ui, nodes: { ...ui.nodes, ...placed } } },
    nodes: nodes.map(({ uuid }) => uuid),
    renamed,
  };
}

/** @param {Definition} definition @param {Clip} clip @returns {{from: string, to: string}[]} */
function newNames(definition, clip) {
  const used = resultNames(definition);
  const keys = new Set(used.map(resultKey));
  const names = resultNames(clip);
  /** Names of one key are one result. @type {Map<string, string>} */
  const given = new Map();
  for (const name of names) if (keys.has(resultKey(name)) && !given.has(resultKey(name))) given.set(resultKey(name), freeName(name, [...used, ...names, ...given.values()]));
  return names.flatMap((from) => {
    const to = given.get(resultKey(from));
    return to ? [{ from, to }] : [];
  });
}

/** @param {FlowNode} node @param {Map<string, string>} names @returns {FlowNode} */
function withNames(node, names) {
  const actions = (node.actions ?? []).map((action) => {
    const key = action.type === "set_run_result" ? "name" : "result_name";
    return names.has(action[key]) ? { ...action, [key]: names.get(action[key]) } : action;
  });
  const { router } = node;
  return { ...node, ...(node.actions ? { actions } : {}), ...(router && names.has(router.result_name) ? { router: { ...router, result_name: names.get(router.result_name) } } : {}) };
}

/** A text whose expressions mean another result. @param {string} text @param {string} from @param {string} to keys */
export function withResult(text, from, to) {
  if (from === to) return text;
  const place = new RegExp(`(?<![\\w.@])((?:run\\.)?results\\.)${from}(?![\\p{L}\\p{N}_])`, "giu");
  return inExpressions(text, (expression) => expression.replace(place, `$1${to}`));
}

/** A text with its expressions changed, each given without its `@`. @param {string} text @param {(expression: string) => string} change */
export function inExpressions(text, change) {
  if (!text.includes("@")) return text;
  let told = "";
  for (let at = 0; at < text.length; ) {
    const end = text[at] === "@" ? endOfExpression(text, at + 1) : at;
    told += end > at ? `@${change(text.slice(at + 1, end))}` : text[at];
    at = Math.max(end, at + 1);
  }
  return told;
}

/** Where the expression after an `@` ends; its own place if there is none. @param {string} text @param {number} start */
function endOfExpression(text, start) {
  if (text[start] === "@") return start + 1;
  if (text[start] !== "(") return start + (/^[\p{L}\p{N}_.]*/u.exec(text.slice(start))?.[0].length ?? 0);
  let [depth, isQuoted] = [0, false];
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"' && text[at - 1] !== "\\") isQuoted = !isQuoted;
    else if (!isQuoted && text[at] === "(") depth++;
    else if (!isQuoted && text[at] === ")" && --depth === 0) return at + 1;
  }
  return text.length;
}

/** A value with its texts and keys changed. @template T @param {T} value @param {(text: string) => string} change @returns {T} */
export function mapped(value, change) {
  if (typeof value === "string") return /** @type {any} */ (change(value));
  if (Array.isArray(value)) return /** @type {any} */ (value.map((each) => mapped(each, change)));
  if (value === null || typeof value !== "object") return value;
  return /** @type {any} */ (Object.fromEntries(Object.entries(value).map(([key, each]) => [change(key), mapped(each, change)])));
}

/** The names of what nodes refer to and the workspace does not have. @param {Clip} clip @param {Workspace} workspace @returns {string[]} */
export function missingFrom({ nodes }, workspace) {
  const missing = new Set();
  const ask = (/** @type {import("./model.js").AssetKind} */ list, /** @type {any} */ asset) => {
    const isKnown = workspace[list].some((each) => (asset.key ? each.key === asset.key : each.uuid === asset.uuid));
    if ((asset.key || asset.uuid) && !isKnown) missing.add(asset.name ?? asset.key);
  };
  const look = (/** @type {unknown} */ part) => {
    if (part === null || typeof part !== "object") return;
    for (const [key, value] of Object.entries(part)) {
      if (LISTS[key] && value !== null && typeof value === "object") [value].flat().forEach((each) => each !== null && typeof each === "object" && ask(LISTS[key], each));
      else look(value);
    }
  };
  nodes.forEach(look);
  for (const { router } of nodes) for (const { type, arguments: given } of router?.cases ?? []) if (type === "has_group" && given?.[0]) ask("groups", { uuid: given[0], name: given[1] });
  return [...missing];
}
