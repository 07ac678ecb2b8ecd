/** What a node of a flow does, in words: in short for drawings, and whole. */

import { writeToMatching } from "../broadcasts/write_to.js";
import { Icon } from "../parts/icons.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { duration, languageName, number, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/**
 * @typedef {{type: string, uuid?: string, text?: string, [key: string]: any}} Action
 * @typedef {{uuid: string, actions: Action[], exits: {uuid: string, destination_uuid?: string | null}[], router?: any}} FlowNode
 * @typedef {{language?: string, localization?: Record<string, Record<string, Record<string, unknown>>>, nodes: FlowNode[], [key: string]: any}} Definition
 * @typedef {{waiting: Map<string, number>, left: Map<string, number>, exits: Map<string, number>}} Counts
 */

/** What an action has that says nothing to people, or is said elsewhere. */
const UNSAID = ["uuid", "type", "text", "templating"];

/** A value of a definition as people read it. @param {unknown} value @returns {string} */
function said(value) {
  if (Array.isArray(value)) return value.map(said).filter(Boolean).join(", ");
  if (value === null || typeof value !== "object") return String(value ?? "");
  const { name, name_match, key, email } = /** @type {Record<string, unknown>} */ (value);
  const named = name ?? name_match ?? key ?? email;
  return typeof named === "string" ? named : Object.entries(value).filter(([each]) => each !== "uuid").map(([each, inner]) => `${each.replaceAll("_", " ")}: ${said(inner)}`).join(", ");
}

/** @param {Action} action */
const subject = ({ text, name, field, flow, groups, value }) => (text ? `“${text}”` : [field ? said(field) : name ?? said(flow ?? groups ?? ""), value ?? ""].filter(Boolean).join(": "));

/** A line for each action, and for its question. @param {FlowNode} node */
export function linesOf({ actions, router }) {
  const does = (actions ?? []).map((action) => (action.text ? subject(action) : [word("action", action.type), subject(action)].filter(Boolean).join(": ")));
  const asks = router ? [waitOf(router), router.result_name ? t("flows.saves", { name: router.result_name }) : router.wait ? "" : `${router.operand ?? router.type}`].filter(Boolean) : [];
  return [...does, ...asks];
}

/** What a node waits for; nothing if it does not wait. @param {any} router @returns {string} */
function waitOf({ wait }) {
  if (!wait?.pause) return wait ? t("flows.waits") : "";
  if (wait.pause.ends_by === "callback") return t("flows.waits_for_callback");
  return wait.pause.until ? t("flows.waits_until", { time: wait.pause.until }) : t("flows.waits_for_time", { time: duration(wait.timeout?.seconds ?? 0) });
}

/** All that a node does, with its categories and what leads to them. @param {FlowNode} node */
export function describe(node) {
  const names = categoryNames(node);
  const cases = (node.router?.cases ?? []).map((/** @type {any} */ each) => `${caseText(each)}: ${names.get(each.category_uuid) ?? ""}`);
  const details = (node.actions ?? []).flatMap((action) => detailsOf(action).map(([name, value]) => `${word("action", action.type)}: ${name.replaceAll("_", " ")}: ${value}`));
  return [...linesOf(node), ...details, ...cases, ...names.values()];
}

/** Everything in which somebody may look for a word, in all languages. @param {FlowNode} node @param {Definition["localization"]} localization */
export const searchText = (node, localization) => [...describe(node), ...itemsOf(node).flatMap(({ uuid }) => Object.values(localization ?? {}).map((texts) => said(Object.values(texts[uuid] ?? {}))))].join("\n").toLowerCase();

/** @param {FlowNode} node @returns {Map<string, string>} */
const categoryNames = (node) => new Map((node.router?.categories ?? []).map((/** @type {any} */ { uuid, name }) => [uuid, name]));

/** @param {{type: string, arguments?: unknown[]}} test */
const caseText = (test) => `${test.type.replaceAll("_", " ")} ${said(test.arguments ?? [])}`.trim();

/** What may have texts in other languages. @param {FlowNode} node */
const itemsOf = (node) => [...(node.actions ?? []), ...(node.router?.cases ?? []), ...(node.router?.categories ?? [])].filter(({ uuid }) => uuid);

/** @param {Action} action @returns {[string, string][]} */
const detailsOf = (action) => Object.entries(action).filter(([key]) => !UNSAID.includes(key)).map(([key, value]) => /** @type {[string, string]} */ ([key, said(value)])).filter(([, value]) => value);

/** The categories that lead through each exit. @param {FlowNode} node */
export const exitNames = ({ exits, router }) =>
  exits.map(({ uuid, destination_uuid }) => (router?.categories ?? []).filter((/** @type {any} */ category) => category.exit_uuid === uuid).map((/** @type {any} */ category) => category.name).join(", ") || t(destination_uuid ? "flows.goes_on" : "flows.ends"));

/** The query for contacts who wait at a node. @param {string} node */
export const whoWaitsAt = (node) => `waits_at = "${node}"`;

/** With a flow the badge leads to those who wait; by the keyboard the panel of the node does. @param {{flow?: string, node: string, counts: Counts}} props */
export function CountBadges({ flow = "", node, counts }) {
  const [waiting, left] = [counts.waiting.get(node) ?? 0, counts.left.get(node) ?? 0];
  const text = t("flows.wait_here", { count: number(waiting) });
  const who = flow && may("list_runs") ? html`<a class="badge warn" tabindex="-1" draggable=${false} title=${t("flows.who_waits")} href=${link(["flows", flow, "runs"], { node })}>${text}</a>` : html`<span class="badge warn">${text}</span>`;
  return html`${waiting > 0 && who}
    ${left > 0 && html`<span class="badge bad">${t("flows.left_here", { count: number(left) })}</span>`}`;
}

/** How many wait at a node, with who they are, and how many left there. @param {{flow: string, node: string, counts: Counts}} props */
export function NodeCounts({ flow, node, counts }) {
  const [waiting, left] = [counts.waiting.get(node) ?? 0, counts.left.get(node) ?? 0];
  if (!waiting && !left) return null;
  return html`<p class="node-counts">
    <${CountBadges} node=${node} counts=${counts} />
    ${flow && waiting > 0 && may("list_runs") && html`<a href=${link(["flows", flow, "runs"], { node })}>${t("flows.who_waits")}</a>`}
    ${flow && waiting > 0 && may("create_broadcast") && html`<button type="button" class="link" onClick=${() => writeToMatching(whoWaitsAt(node))}>${t("flow_runs.write")}</button>`}
  </p>`;
}

/**
 * All of a node, with its texts in all languages.
 * @param {{definition: Definition, node: FlowNode, flow: string, counts: Counts, onOpen: (node: string) => void}} props
 */
export function NodeContent({ definition, node, flow, counts, onOpen }) {
  const numbers = new Map(definition.nodes.map(({ uuid }, at) => [uuid, at + 1]));
  const names = exitNames(node);
  const categories = categoryNames(node);
  const { router } = node;
  return html`
    <${NodeCounts} flow=${flow} node=${node.uuid} counts=${counts} />
    ${(node.actions ?? []).map((action, at) => html`<section key=${action.uuid ?? at} class="node-part">
      <h4>${word("action", action.type)}</h4>
      ${action.text && html`<p class="said" dir="auto">${action.text}</p>`}
      <${Details} details=${detailsOf(action)} />
      <${Languages} definition=${definition} item=${action.uuid} />
    </section>`)}
    ${router && html`<section class="node-part">
      <h4>${waitOf(router) || t("flows.decides")}</h4>
      <${Details} details=${[[t("flows.result"), router.result_name ?? ""], [t("flows.looks_at"), said(router.operand)], [t("flows.timeout"), router.wait?.timeout ? t("flows.seconds", { count: number(router.wait.timeout.seconds) }) : ""]]} />
      ${router.cases?.length > 0 && html`<ol class="cases">${router.cases.map((/** @type {any} */ each) => html`<li key=${each.uuid}><code dir="ltr">${caseText(each)}</code> <${Icon} name="forward" size=${12} /> <bdi>${categories.get(each.category_uuid)}</bdi>
        <${Languages} definition=${definition} item=${each.uuid} /></li>`)}</ol>`}
      ${[...categories].map(([uuid, name]) => html`<${Languages} key=${uuid} definition=${definition} item=${uuid} title=${name} />`)}
    </section>`}
    <section class="node-part">
      <h4>${t("flows.exits")}</h4>
      <ul class="node-exits">${node.exits.map(({ uuid, destination_uuid }, at) => html`<li key=${uuid}><bdi>${names[at]}</bdi> <strong>${number(counts.exits.get(uuid) ?? 0)}</strong>
        ${destination_uuid && numbers.has(destination_uuid) && html`<button type="button" class="link" onClick=${() => onOpen(destination_uuid)}><${Icon} name="forward" size=${14} /> ${t("flows.node", { number: number(numbers.get(destination_uuid) ?? 0) })}</button>`}</li>`)}</ul>
    </section>
  `;
}

/** @param {{details: [string, string][]}} props */
const Details = ({ details }) => {
  const given = details.filter(([, value]) => value);
  return given.length > 0 && html`<dl class="details">${given.map(([name, value]) => html`<div key=${name}><dt>${name.replaceAll("_", " ")}</dt><dd dir="auto">${value}</dd></div>`)}</dl>`;
};

/** What an item says in the other languages. @param {{definition: Definition, item: string | undefined, title?: string}} props */
const Languages = ({ definition, item, title }) => {
  const told = Object.entries(definition.localization ?? {}).flatMap(([code, texts]) => {
    const found = item && texts[item] ? said(Object.values(texts[item])) : "";
    return found ? [{ code, found }] : [];
  });
  return told.length > 0 && html`<dl class="details">${told.map(({ code, found }) => html`<div key=${code}><dt>${title && html`<bdi>${title}</bdi> · `}${languageName(code)}</dt><dd class="said" dir="auto">${found}</dd></div>`)}</dl>`;
};
