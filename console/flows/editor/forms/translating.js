/** The texts of a flow in other languages, without a page. */

import { translate } from "../model.js";
import { canShow } from "./values.js";

/**
 * A text that can be translated; `values` are those of the base language, of a list each of its items.
 * @typedef {{node: string, item: string, property: string, of: string, kind: string, values: string[]}} Translatable `of` is the type of the action or test, or `category`
 * @typedef {import("../model.js").Definition} Definition
 * @typedef {import("../model.js").FlowNode} FlowNode
 * @typedef {import("./values.js").Parts} Parts
 */

const isFilled = (/** @type {unknown} */ text) => typeof text === "string" && text.trim() !== "";

/** The texts of a node in the base language. @param {FlowNode} node @param {Parts} parts @returns {Translatable[]} */
export function textsOf({ uuid: node, actions, router }, parts) {
  const ofActions = (actions ?? []).flatMap((action) =>
    Object.entries(parts.actions[action.type]?.fields ?? {}).flatMap(([property, field]) => {
      const value = action[property];
      if (!action.uuid || !field.is_translated || !canShow(field, value)) return [];
      return [{ node, item: action.uuid, property, of: action.type, kind: field.kind, values: Array.isArray(value) ? value : [value ?? ""] }];
    }),
  );
  const ofCases = (router?.cases ?? []).filter((/** @type {any} */ { uuid, type }) => uuid && (parts.tests[type] ?? []).some(({ kind }) => kind === "text"))
    .map((/** @type {any} */ each) => ({ node, item: each.uuid, property: "arguments", of: each.type, kind: "text", values: each.arguments ?? [] }));
  const ofCategories = (router?.categories ?? []).map((/** @type {any} */ { uuid, name }) => ({ node, item: uuid, property: "name", of: "category", kind: "text", values: [name ?? ""] }));
  return [...ofActions, ...ofCases, ...ofCategories].filter(({ values }) => values.some(isFilled));
}

/** The languages of a flow beside its own, those that the workspace speaks last. @param {Definition} definition @param {string[]} [spoken] */
export const languagesOf = ({ language, localization }, spoken = []) => [...new Set([...Object.keys(localization ?? {}), ...spoken])].filter((code) => code && code !== language);

/** What a text says in a language; empty where it says nothing, or what no text is. @param {Definition} definition @param {string} language @param {Translatable} text @returns {string[]} */
export function saidIn({ localization }, language, { item, property, values }) {
  const said = localization?.[language]?.[item]?.[property];
  const known = Array.isArray(said) ? said.map((each) => (typeof each === "string" ? each : "")) : [];
  return Array.from({ length: Math.max(values.length, known.length) }, (_, at) => known[at] ?? "");
}

/** @param {Definition} definition @param {string} language @param {Translatable} text @param {number} at @param {string} typed */
export function setSaid(definition, language, text, at, typed) {
  const said = saidIn(definition, language, text).map((each, place) => (place === at ? typed : each));
  return translate(definition, language, text.item, text.property, said.some(isFilled) ? said : null);
}

/**
 * A definition with what a file says: texts of a list that have no translation yet stay as they are. What is gone meanwhile is left out.
 * @param {Definition} definition @param {string} language @param {{key: string, translation: string}[]} changes `key` is item, property and number
 */
export function applyTexts(definition, language, changes) {
  const parts = definition.nodes.flatMap(({ actions, router }) => [...(actions ?? []), ...(router?.cases ?? []), ...(router?.categories ?? [])]);
  const items = new Map(parts.map((each) => [each.uuid, each]));
  return changes.reduce((all, { key, translation }) => {
    const [item, property, place] = key.split("/");
    const value = items.get(item)?.[property];
    const own = typeof value === "string" ? [value] : Object.values(value ?? {}).filter((each) => typeof each === "string");
    if (own[Number(place)] === undefined) return all;
    /** @type {any} */
    const said = all.localization?.[language]?.[item]?.[property] ?? [];
    return translate(all, language, item, property, own.map((text, at) => (at === Number(place) ? translation : said[at] || text)));
  }, definition);
}

/** How many of the texts of some nodes are in a language. @param {Definition} definition @param {FlowNode[]} nodes @param {string} language @param {Parts} parts */
export function progressOf(definition, nodes, language, parts) {
  const texts = nodes.flatMap((node) => textsOf(node, parts));
  return { total: texts.length, done: texts.filter((text) => saidIn(definition, language, text).some(isFilled)).length };
}
