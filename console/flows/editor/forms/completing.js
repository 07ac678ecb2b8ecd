/** What can be written next in an expression, and where expressions are not finished; without a page. */

import { resultKey, resultNames } from "../model.js";

/**
 * @typedef {{name: string, help: string}} Known a property, with how people call it
 * @typedef {{parts: import("./values.js").Parts, own: Record<string, Known[]>}} Names `own` are those of the workspace and the flow, by what they are properties of
 * @typedef {{label: string, insert: string, help: string, called: string}} Completion `called` is the name of a function, whose help is a text
 * @typedef {{from: number, items: Completion[], isBegun: boolean}} Completions `from` is where the text that they replace begins; what is begun is no name yet
 */

const SHOWN = 12;
// A name that is being typed behind a single @. Two of them are an ordinary one, and behind a letter it belongs to an address.
const BEGUN = /(?<![@\p{L}\p{N}])((?:@@)*)@([A-Za-z_][\w.]*)?$/u;
const WORD = /[A-Za-z_][\w.]*$/;
/** Names whose values have the properties of another one. */
const LIKE = /** @type {Record<string, string>} */ ({ "contact.fields": "fields", "child.contact": "contact", "parent.contact": "contact", "run.contact": "contact", "child.fields": "fields", "parent.fields": "fields", "run.results": "results" });
const OF_RESULTS = ["value", "category", "input"];

/** @param {import("./values.js").Parts} parts @param {import("../model.js").Definition} definition @param {Partial<import("../model.js").Workspace>} workspace @returns {Names} */
export function namesOf(parts, definition, workspace) {
  const keyed = (/** @type {import("../model.js").Asset[] | undefined} */ assets) => (assets ?? []).map(({ key, name }) => ({ name: key ?? "", help: name ?? "" }));
  const actions = definition.nodes.flatMap((node) => node.actions ?? []);
  const locals = actions.map((action) => action.local ?? action.output_local ?? parts.actions[action.type]?.sets_local);
  const results = resultNames(definition).map((name) => ({ name: resultKey(name), help: name }));
  return { parts, own: { fields: keyed(workspace.fields), globals: keyed(workspace.globals), results, locals: [...new Set(locals)].filter(Boolean).map((name) => ({ name, help: "" })) } };
}

/** @param {string} path of what the properties are @param {Names} names @returns {Known[]} */
function propertiesOf(path, { parts, own }) {
  const known = LIKE[path] ?? path;
  if (own[known]) return own[known];
  const [root, , ...deeper] = known.split(".");
  if (root === "results" && known !== root && deeper.length === 0) return [...OF_RESULTS, ...parts.context.results.filter((name) => !OF_RESULTS.includes(name))].map((name) => ({ name, help: "" }));
  return (parts.context[known] ?? []).map((name) => ({ name, help: "" }));
}

/**
 * @param {string} text @param {number} caret @param {Names} names
 * @returns {Completions | null} null where no expression is being typed
 */
export function completionsAt(text, caret, names) {
  const before = text.slice(0, caret);
  const begun = BEGUN.exec(before);
  const inner = begun ? null : openExpression(before);
  const typed = begun ? (begun[2] ?? "") : inner !== null ? (WORD.exec(inner)?.[0] ?? "") : null;
  if (typed === null || (inner !== null && !typed)) return null;
  const from = caret - typed.length;
  const dot = typed.lastIndexOf(".");
  const [path, last] = dot < 0 ? ["", typed] : [typed.slice(0, dot).toLowerCase(), typed.slice(dot + 1)];
  const roots = Object.keys(names.parts.context).map((name) => ({ name, help: "" }));
  const found = (path ? propertiesOf(path, names) : roots).filter(({ name }) => name.startsWith(last.toLowerCase()));
  const properties = found.map(({ name, help }) => ({ label: name, insert: path ? `${path}.${name}` : name, help, called: "" }));
  const functions = path || !typed ? [] : Object.entries(names.parts.functions).filter(([name]) => name.startsWith(typed.toLowerCase()))
    .map(([name, call]) => ({ label: call, insert: begun ? `(${name}(` : `${name}(`, help: "", called: name }));
  const items = [...properties, ...functions].filter(({ insert }) => insert !== typed).slice(0, SHOWN);
  const isWhole = found.some(({ name }) => name === last.toLowerCase());
  return items.length > 0 ? { from, items, isBegun: last !== "" && !isWhole } : null;
}

/** The inside of an expression in parentheses that is not closed yet; null without one, or in a text within it. @param {string} before */
function openExpression(before) {
  for (let at = 0; at < before.length; at++) {
    if (before[at] !== "@") continue;
    if (before[at + 1] === "@") at++;
    else if (before[at + 1] === "(") {
      const end = endOf(before, at + 1);
      if (end === null) return null;
      if (end < 0) return before.slice(at + 2);
      at = end;
    }
  }
  return null;
}

/** Where parentheses close; -1 if they do not, null if the text ends within quotes. @param {string} text @param {number} open */
function endOf(text, open) {
  let depth = 0;
  let isQuoted = false;
  for (let at = open; at < text.length; at++) {
    if (isQuoted && text[at] === "\\") at++;
    else if (text[at] === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (text[at] === "(") depth++;
    else if (text[at] === ")" && --depth === 0) return at;
  }
  return isQuoted ? null : -1;
}

/** Whether an expression of a text is not closed, so that it would stand there as it is. @param {string} text */
export function isOpen(text) {
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "@") continue;
    if (text[at + 1] === "@") at++;
    else if (text[at + 1] === "(") {
      const end = endOf(text, at + 1);
      if (end === null || end < 0) return true;
      at = end;
    }
  }
  return false;
}
