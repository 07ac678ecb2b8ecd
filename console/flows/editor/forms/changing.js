/** What the forms do to a definition, without a page. Each function takes a definition and returns another; what it does not name
 *  stays as it is. */

import { addAction, findNode, freeName, newExit, newUuid, replaceAction, replaceNode, resultKey, resultNames, setRouter, setUi, translate, uiOf } from "../model.js";
import { shown, stored } from "./values.js";

/**
 * @typedef {import("../model.js").Definition} Definition
 * @typedef {import("../model.js").FlowNode} FlowNode
 * @typedef {import("../model.js").Action} Action
 * @typedef {import("../model.js").Router} Router
 * @typedef {import("../model.js").Category} Category
 * @typedef {import("../model.js").Case} Case
 * @typedef {import("./values.js").Parts} Parts
 * @typedef {import("./values.js").FieldPart} FieldPart
 */

/** Names of categories as all editors of the format give them. */
const ALL = "All Responses";
const OTHER = "Other";
const NO_RESPONSE = "No Response";
/** Our own name for the only way on from a pause for a time. */
const CONTINUE = "Continue";
const [SUCCESS, FAILURE, COMPLETE, EXPIRED] = ["Success", "Failure", "Complete", "Expired"];
const BUCKET = "Bucket";
const LEAST_BUCKETS = 2;
const LONGEST_NAME = 64;
export const ANSWER = "@input.text";
export const GROUPS = "@contact.groups";
/** What a callback brings. */
export const BROUGHT = "@resume.body";
const FIRST_PAUSE_S = 3600;
/** What programs without pauses wait for, where the moment is not known before. */
const ELSEWHERE_S = 86_400;
const DIALED = '@(default(resume.dial.status, ""))';
/** @type {[string, string][]} How a call can end, as the engine says and as categories say. */
const DIAL_ENDS = [["answered", "Answered"], ["no_answer", "No Answer"], ["busy", "Busy"]];
/** What a new action has, where the first of the choices would do harm or is rare. */
const FIRST_CHOICES = /** @type {Record<string, string>} */ ({ method: "GET", scheme: "tel", operation: "set", status: "active" });
const CALLS = ["call_webhook", "call_resthook"];
const FAILED_MODEL = "<ERROR>";
/** How `_ui` calls nodes that split by how an action ended. */
const KINDS_OF_OUTCOMES = /** @type {Record<string, string>} */ ({
  call_webhook: "split_by_webhook", call_resthook: "split_by_resthook", call_classifier: "split_by_intent", call_llm: "split_by_llm",
  enter_flow: "split_by_subflow", open_ticket: "split_by_ticket", transfer_airtime: "split_by_airtime",
});

// Actions

/** A new action of a type, with what surely has to be said. @param {string} type @param {Parts} parts @returns {Action} */
export function newAction(type, parts) {
  const fields = Object.entries(parts.actions[type]?.fields ?? {}).filter(([, { is_required }]) => is_required);
  const given = fields.flatMap(([name, { kind, is_list, choices }]) => {
    if (kind === "reference" && !is_list) return [];
    return [[name, kind === "choice" ? (FIRST_CHOICES[name] ?? choices?.[0]) : kind === "amounts" ? {} : is_list ? [] : ""]];
  });
  return { type, uuid: newUuid(), ...Object.fromEntries(given) };
}

/** @param {Definition} definition @param {string} node @param {string} type @param {Parts} parts */
export const addNewAction = (definition, node, type, parts) => addAction(definition, node, newAction(type, parts));

/**
 * Writes into a property what its input has.
 * @param {Definition} definition @param {string} node @param {Action} action @param {string} name @param {FieldPart} field @param {unknown} input
 */
export function setField(definition, node, action, name, field, input) {
  const value = stored(field, input, action[name]);
  if (value === action[name]) return definition;
  const { [name]: _, ...others } = action;
  return replaceAction(definition, node, value === undefined ? /** @type {Action} */ (others) : { ...action, [name]: value });
}

/**
 * Takes an item out of a list, also where another language has a list of the same length.
 * @param {Definition} definition @param {string} node @param {Action} action @param {string} name @param {FieldPart} field @param {number} at
 */
export function removeItem(definition, node, action, name, field, at) {
  const items = /** @type {unknown[]} */ (shown(field, action[name]));
  const left = (/** @type {unknown[]} */ all) => all.filter((_, place) => place !== at);
  const changed = setField(definition, node, action, name, field, left(items));
  return Object.entries(definition.localization ?? {}).reduce((made, [language, texts]) => {
    const said = texts[action.uuid ?? ""]?.[name];
    if (!action.uuid || !Array.isArray(said) || said.length !== items.length) return made;
    return translate(made, language, action.uuid, name, said.length > 1 ? /** @type {string[]} */ (left(said)) : null);
  }, changed);
}

// Routers

/** How a node goes on: `none`, a wait (`msg`, `dial`), a pause (`time`, `callback`), `switch`, `random`, or the type of a router that forms do not know. @param {FlowNode} node @returns {string} */
export const splitOf = ({ router }) => (!router ? "none" : (router.type === "switch" && router.wait ? router.wait.pause?.ends_by ?? router.wait.type : router.type));

/** The kind of a node, as `_ui` calls it. @param {FlowNode} node */
export function kindOf(node) {
  const split = splitOf(node);
  if (split !== "switch") return { none: "execute_actions", msg: "wait_for_response", time: "wait_for_response", callback: "wait_for_response", dial: "wait_for_dial", random: "split_by_random" }[split] ?? split;
  if (node.router.operand === GROUPS) return "split_by_groups";
  const action = outcomeOf(node);
  return action ? KINDS_OF_OUTCOMES[action.type] : "split_by_expression";
}

/** The action of which a router tests how it ended. @param {FlowNode} node @returns {Action | undefined} */
const outcomeOf = ({ actions, router }) =>
  (actions ?? []).find((action) => {
    const { operand } = router;
    if (CALLS.includes(action.type) && /webhook\.status/.test(operand)) return true;
    if (action.type === "enter_flow") return /^@child\./.test(operand);
    const names = [action.result_name && `@results.${resultKey(action.result_name)}`, action.output_local && `@locals.${action.output_local}`];
    if (action.type in KINDS_OF_OUTCOMES && names.some((name) => name && operand.startsWith(name))) return true;
    return (action.type === "open_ticket" && operand === "@locals._new_ticket") || (action.type === "transfer_airtime" && operand === "@locals._new_transfer");
  });

/**
 * Puts another node in a node's place; what `_ui` calls it follows if its kind changes.
 * @param {Definition} definition @param {FlowNode} before @param {Definition} changed
 */
function withKind(definition, before, changed) {
  const after = findNode(changed, before.uuid);
  const said = uiOf(definition).nodes[before.uuid]?.type;
  if (!after || said === undefined || kindOf(before) === kindOf(after)) return changed;
  return setUi(changed, before.uuid, { type: kindOf(after), config: {} });
}

/** @param {Definition} definition @param {FlowNode} node @param {Router | null} router @param {any[]} [exits] */
const route = (definition, node, router, exits) => withKind(definition, node, setRouter(definition, node.uuid, router, exits));

/** @param {string} name @param {string} exit @returns {Category} */
const newCategory = (name, exit) => ({ uuid: newUuid(), name, exit_uuid: exit });

/** A test of a switch. @param {string} type @param {string[]} args @param {Category} category @returns {Case} */
const newCase = (type, args, { uuid }) => ({ uuid: newUuid(), type, arguments: args, category_uuid: uuid });

/** Changes how a node goes on; tests, categories and where they lead stay as far as they can. @param {Definition} definition @param {FlowNode} node @param {string} split @param {Parts} parts */
export function setSplit(definition, node, split, parts) {
  if (split === splitOf(node)) return definition;
  if (split === "none") return route(definition, node, null);
  const { router } = node;
  if (split === "random") return setRandom(definition, node);
  if (split === "dial") return setDial(definition, node, parts);
  if (split === "time") return setPause(definition, node);
  const isKept = router && ["msg", "switch", "callback"].includes(splitOf(node));
  const wait = split === "msg" ? { wait: { type: "msg" } } : split === "callback" ? { wait: { type: "msg", pause: { ends_by: split } } } : {};
  const [asked, other] = split === "callback" ? [BROUGHT, ANSWER] : [ANSWER, BROUGHT];
  if (isKept) {
    const { wait: old, ...rest } = { ...router, operand: router.operand === other ? asked : router.operand };
    const untimed = old?.timeout ? withoutCategory(rest, node.exits, old.timeout.category_uuid) : { router: rest, exits: node.exits };
    return route(definition, node, { ...untimed.router, ...wait }, untimed.exits);
  }
  const exits = node.exits.slice(0, 1);
  const all = newCategory(ALL, exits[0].uuid);
  const named = router?.result_name ? { result_name: router.result_name } : ["msg", "callback"].includes(split) ? { result_name: freeName("Result 1", resultNames(definition)) } : {};
  return route(definition, node, { type: "switch", operand: asked, ...wait, ...named, cases: [], categories: [all], default_category_uuid: all.uuid }, exits);
}

/** A node that waits for a time has one way on. @param {Definition} definition @param {FlowNode} node */
function setPause(definition, node) {
  const exits = node.exits.slice(0, 1);
  const over = newCategory(CONTINUE, exits[0].uuid);
  const wait = { type: "msg", timeout: { seconds: FIRST_PAUSE_S, category_uuid: over.uuid }, pause: { ends_by: "time" } };
  return route(definition, node, { type: "switch", operand: ANSWER, wait, cases: [], categories: [over], default_category_uuid: over.uuid }, exits);
}

/** How long a pause lasts, or the time until which it does. @param {Definition} definition @param {FlowNode} node @param {{seconds?: number, until?: string}} said */
export function setPauseEnd(definition, node, { seconds, until }) {
  const { timeout, pause: { until: _, ...pause } } = node.router.wait;
  const lasts = until === undefined ? seconds ?? FIRST_PAUSE_S : ELSEWHERE_S;
  return setWait(definition, node, { timeout: { ...timeout, seconds: lasts }, pause: { ...pause, ...(until === undefined ? {} : { until }) } });
}

/** @param {Definition} definition @param {FlowNode} node */
function setRandom(definition, node) {
  const { router } = node;
  const exits = [...node.exits];
  const categories = [...(router?.categories ?? [newCategory(`${BUCKET} 1`, exits[0].uuid)])];
  while (categories.length < LEAST_BUCKETS) {
    exits.push(newExit());
    categories.push(newCategory(`${BUCKET} ${categories.length + 1}`, exits[exits.length - 1].uuid));
  }
  const named = router?.result_name ? { result_name: router.result_name } : {};
  return route(definition, node, { type: "random", ...named, categories }, exits);
}

/** @param {Definition} definition @param {FlowNode} node @param {Parts} parts */
function setDial(definition, node, parts) {
  const exits = [node.exits[0], ...DIAL_ENDS.map(() => newExit())];
  const ends = DIAL_ENDS.map(([, name], at) => newCategory(name, exits[at].uuid));
  const failed = newCategory("Failed", exits[exits.length - 1].uuid);
  const cases = DIAL_ENDS.map(([status], at) => newCase("has_only_text", [status], ends[at]));
  const name = node.router?.result_name ?? freeName("Result 1", resultNames(definition));
  const wait = { type: "dial", phone: "", ...parts.dial };
  return route(definition, node, { type: "switch", operand: DIALED, wait, result_name: name, cases, categories: [...ends, failed], default_category_uuid: failed.uuid }, exits);
}

/** Whether an action ends in ways by which a node can split. @param {Action} action @param {Parts} parts */
export const hasOutcome = ({ type }, parts) => type in KINDS_OF_OUTCOMES && type in parts.actions;

/** Splits a node by how one of its actions ends. @param {Definition} definition @param {FlowNode} node @param {Action} action @param {Parts} parts */
export function splitByOutcome(definition, node, action, parts) {
  const isEarly = String(definition.spec_version ?? "").startsWith("13");
  const { sets_local: local } = parts.actions[action.type];
  const exits = [node.exits[0], newExit()];
  const [good, bad] = action.type === "enter_flow" ? [COMPLETE, EXPIRED] : [SUCCESS, FAILURE];
  const [first, second] = [newCategory(good, exits[0].uuid), newCategory(bad, exits[1].uuid)];
  const make = (/** @type {string} */ operand, /** @type {Case[]} */ ...cases) => ({ type: "switch", operand, cases, categories: [first, second], default_category_uuid: second.uuid });
  if (action.type === "enter_flow") return route(definition, node, make("@child.status", newCase("has_only_text", ["completed"], first), newCase("has_only_text", ["expired"], second)), exits);
  if (action.type === "call_llm") return route(definition, node, { ...make(`@locals.${action.output_local}`, newCase("has_only_text", [FAILED_MODEL], second)), default_category_uuid: first.uuid }, exits);
  if (!isEarly && CALLS.includes(action.type)) return route(definition, node, make("@(default(webhook.status, 0))", newCase("has_number_between", ["200", "299"], first)), exits);
  if (!isEarly && local) return route(definition, node, make(`@locals.${local}`, newCase("has_text", [], first)), exits);
  const name = action.result_name || freeName("Result 1", resultNames(definition));
  const saved = action.result_name ? definition : replaceAction(definition, node.uuid, { ...action, result_name: name });
  return route(saved, findNode(saved, node.uuid) ?? node, make(`@results.${resultKey(name)}.category`, newCase("has_only_text", [SUCCESS], first)), exits);
}

/** Writes properties of a router; undefined takes one away. @param {Definition} definition @param {FlowNode} node @param {Record<string, unknown>} said */
export function setRouterParts(definition, node, said) {
  const router = Object.fromEntries(Object.entries({ ...node.router, ...said }).filter(([, value]) => value !== undefined));
  return withKind(definition, node, replaceNode(definition, { ...node, router }));
}

/** What a router looks at. Another thing is another kind of node in `_ui`, whose settings are about the old one. @param {Definition} definition @param {FlowNode} node @param {string} operand */
export function setOperand(definition, node, operand) {
  const changed = setRouterParts(definition, node, { operand });
  const after = findNode(changed, node.uuid);
  const isSaid = uiOf(definition).nodes[node.uuid]?.type !== undefined;
  return after && isSaid && operand !== node.router.operand ? setUi(changed, node.uuid, { type: kindOf(after), config: {} }) : changed;
}

/** @param {Definition} definition @param {FlowNode} node @param {Record<string, unknown>} said of the wait */
export const setWait = (definition, node, said) =>
  setRouterParts(definition, node, { wait: Object.fromEntries(Object.entries({ ...node.router.wait, ...said }).filter(([, value]) => value !== undefined)) });

/** How long a wait lasts; null for as long as the flow. @param {Definition} definition @param {FlowNode} node @param {number | null} seconds */
export function setTimeLimit(definition, node, seconds) {
  const { router } = node;
  const { timeout, ...wait } = router.wait;
  if (seconds === null) {
    if (!timeout) return definition;
    const left = withoutCategory({ ...router, wait }, node.exits, timeout.category_uuid);
    return route(definition, node, left.router, left.exits);
  }
  if (timeout) return setWait(definition, node, { timeout: { ...timeout, seconds } });
  const exit = newExit();
  const category = newCategory(NO_RESPONSE, exit.uuid);
  return route(definition, node, { ...router, wait: { ...wait, timeout: { seconds, category_uuid: category.uuid } }, categories: [...router.categories, category] }, [...node.exits, exit]);
}

/** Adds a test with a category of its own, which has no name yet. @param {Definition} definition @param {FlowNode} node @param {string} type @param {Parts} parts */
export function addCase(definition, node, type, parts) {
  const { router } = node;
  const exit = newExit();
  const category = newCategory(freeCategory(router, ""), exit.uuid);
  const cases = [...(router.cases ?? []), newCase(type, emptyArguments(parts.tests[type]), category)];
  const renamed = cases.length === 1 ? router.categories.map((/** @type {Category} */ each) => (each.uuid === router.default_category_uuid && each.name === ALL ? { ...each, name: OTHER } : each)) : router.categories;
  // Before the category of the others, as people read them.
  const last = renamed.findIndex((/** @type {Category} */ { uuid }) => uuid === router.default_category_uuid);
  const place = last < 0 ? renamed.length : last;
  const before = node.exits.findIndex(({ uuid }) => uuid === renamed[last]?.exit_uuid);
  const exits = before < 0 ? [...node.exits, exit] : [...node.exits.slice(0, before), exit, ...node.exits.slice(before)];
  return route(definition, node, { ...router, cases, categories: [...renamed.slice(0, place), category, ...renamed.slice(place)] }, exits);
}

/** @param {import("./values.js").Argument[] | undefined} told @returns {string[]} */
const emptyArguments = (told) => (told ?? []).flatMap(({ kind, is_optional }) => (is_optional ? [] : kind === "group" ? ["", ""] : [""]));

/** A name that no other category has. @param {Router} router @param {string} wanted */
function freeCategory({ categories }, wanted) {
  const isTaken = (/** @type {string} */ name) => categories.some((each) => sameName(each.name, name));
  if (wanted && !isTaken(wanted)) return wanted;
  for (let number = 1; ; number++) if (!isTaken(`Category ${number}`)) return `Category ${number}`;
}

const sameName = (/** @type {string | undefined} */ one, /** @type {string} */ other) => (one ?? "").trim().toLowerCase() === other.trim().toLowerCase();

/** @param {Definition} definition @param {FlowNode} node @param {number} at @param {Partial<Case>} said */
export const setCase = (definition, node, at, said) =>
  setRouterParts(definition, node, { cases: node.router.cases.map((/** @type {Case} */ each, /** @type {number} */ place) => (place === at ? { ...each, ...said } : each)) });

/** Another test, with as much of the arguments as it takes. @param {Definition} definition @param {FlowNode} node @param {number} at @param {string} type @param {Parts} parts */
export function setTest(definition, node, at, type, parts) {
  const told = parts.tests[type] ?? [];
  const [old, empty] = [node.router.cases[at].arguments ?? [], emptyArguments(told)];
  const most = told.some(({ is_repeated }) => is_repeated) ? Infinity : told.reduce((count, { kind }) => count + (kind === "group" ? 2 : 1), 0);
  const kept = old.slice(0, most);
  return setCase(definition, node, at, { type, arguments: [...kept, ...empty.slice(kept.length)] });
}

/** Puts a test to another place. @param {Definition} definition @param {FlowNode} node @param {number} at @param {number} to */
export function moveCase(definition, node, at, to) {
  const cases = [...node.router.cases];
  if (to < 0 || to >= cases.length) return definition;
  cases.splice(to, 0, ...cases.splice(at, 1));
  return setRouterParts(definition, node, { cases });
}

/** @param {Definition} definition @param {FlowNode} node @param {number} at */
export function removeCase(definition, node, at) {
  const cases = node.router.cases.filter((/** @type {Case} */ _, /** @type {number} */ place) => place !== at);
  const left = withoutCategory({ ...node.router, cases }, node.exits, node.router.cases[at].category_uuid);
  return route(definition, node, left.router, left.exits);
}

/**
 * The category of a test by its name: one that has this name already, or this test's own, renamed, or a new one.
 * @param {Definition} definition @param {FlowNode} node @param {number} at @param {string} typed
 */
export function nameCategoryOfCase(definition, node, at, typed) {
  const { router } = node;
  const name = typed.trim().slice(0, LONGEST_NAME);
  const { category_uuid: own } = router.cases[at];
  const present = router.categories.find((/** @type {Category} */ { uuid }) => uuid === own);
  if (!name || present?.name === name) return definition;
  const other = router.categories.find((/** @type {Category} */ each) => each.uuid !== own && sameName(each.name, name));
  const to = (/** @type {string} */ category) => router.cases.map((/** @type {Case} */ each, /** @type {number} */ place) => (place === at ? { ...each, category_uuid: category } : each));
  if (other) {
    const left = withoutCategory({ ...router, cases: to(other.uuid) }, node.exits, own);
    return route(definition, node, left.router, left.exits);
  }
  if (usesOf(router, own) === 1) return nameCategory(definition, node, own, name);
  const exit = newExit();
  const category = newCategory(name, exit.uuid);
  return route(definition, node, { ...router, cases: to(category.uuid), categories: [...router.categories, category] }, [...node.exits, exit]);
}

/** @param {Definition} definition @param {FlowNode} node @param {string} uuid @param {string} typed */
export function nameCategory(definition, node, uuid, typed) {
  const name = typed.trim().slice(0, LONGEST_NAME);
  if (!name) return definition;
  return setRouterParts(definition, node, { categories: node.router.categories.map((/** @type {Category} */ each) => (each.uuid === uuid ? { ...each, name } : each)) });
}

/** One more way of a random split. @param {Definition} definition @param {FlowNode} node */
export function addBucket(definition, node) {
  const exit = newExit();
  const { router } = node;
  const categories = [...router.categories, newCategory(freeCategory(router, `${BUCKET} ${router.categories.length + 1}`), exit.uuid)];
  return route(definition, node, { ...router, categories }, [...node.exits, exit]);
}

/** @param {Definition} definition @param {FlowNode} node @param {string} uuid of a category of a random split */
export function removeBucket(definition, node, uuid) {
  const left = withoutCategory(node.router, node.exits, uuid);
  return route(definition, node, left.router, left.exits);
}

/** How many parts of a router lead to a category. @param {Router} router @param {string} uuid */
const usesOf = (router, uuid) =>
  (router.cases ?? []).filter((each) => each.category_uuid === uuid).length + (router.default_category_uuid === uuid ? 1 : 0) + (router.wait?.timeout?.category_uuid === uuid ? 1 : 0);

/**
 * A router without a category that nothing leads to any more, and without the exit that only it used.
 * @param {Router} router @param {any[]} exits @param {string} uuid
 */
function withoutCategory(router, exits, uuid) {
  const gone = router.categories.find((each) => each.uuid === uuid);
  if (!gone || usesOf(router, uuid) > 0 || router.categories.length === 1) return { router, exits };
  const categories = router.categories.filter((each) => each !== gone);
  const isShared = categories.some(({ exit_uuid: exit }) => exit === gone.exit_uuid);
  return { router: { ...router, categories }, exits: isShared ? exits : exits.filter((each) => each.uuid !== gone.exit_uuid) };
}
