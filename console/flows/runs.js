/** The runs of a flow: who answered what, and who waits where; those that are chosen can be written to, or interrupted. */

import { confirmFirst } from "../parts/dialog.js";
import { doWithMany } from "../parts/part_by_part.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { writeTo, writeToMatching } from "../broadcasts/write_to.js";
import { post } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { displayName } from "../shared/names.js";
import { go, link, place } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { describe, whoWaitsAt } from "./node_content.js";
import { StartDialog } from "./start_dialog.js";

/** @typedef {import("../shared/contract.js").Listed<"runs">} Run */
/** @typedef {import("./flow.js").TabProps} TabProps */

const ENDS = /** @type {const} */ (["active", "completed", "interrupted", "expired"]);
const MOST_COLUMNS = 3;
const NAME_LENGTH = 60;

/** @param {TabProps} props what is looked for stands in the query: `status`, `node`, `result` and `category` */
export function Runs({ flow, definition: { nodes }, query }) {
  const { status, node, result, category } = query;
  const list = useList("runs", { flow: flow.uuid, paths: "false", node: node || undefined, status: /** @type {any} */ (status || undefined), result: result || undefined, category: (result && category) || undefined });
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  useChanges(["run"], list.refresh, (record) => record.flow?.uuid === flow.uuid);
  const columns = query.columns === undefined ? flow.results.slice(0, MOST_COLUMNS).map(({ key }) => key) : query.columns.split(" ");
  const ask = (/** @type {Record<string, string>} */ changed) => {
    setChosen(new Set());
    go(["flows", flow.uuid, "runs"], Object.fromEntries(Object.entries({ ...place.value.query, ...changed }).filter(([name, value]) => value || name === "columns")));
  };
  const toggle = (/** @type {string} */ uuid) => setChosen((old) => new Set(old.has(uuid) ? [...old].filter((each) => each !== uuid) : [...old, uuid]));
  // Only among what is shown: a run that is no longer here is not acted on.
  const picked = list.items.filter(({ uuid }) => chosen.has(uuid));
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <${Filters} flow=${flow} nodes=${nodes} query=${query} columns=${columns} onAsk=${ask} />
    ${result && html`<p class="help">${t("flow_runs.last_looked_at")}</p>`}
    ${node && !status && !result && picked.length === 0 && list.items.length > 0 && html`<${AllWhoWait} node=${node} />`}
    ${picked.length > 0 && html`<${Bulk} picked=${picked} onDone=${() => (setChosen(new Set()), list.refresh())} />`}
    ${isEmpty ? html`<${Empty} icon="flow" title=${t("flows.no_runs")} />` : html`<${Table} list=${list} results=${flow.results.filter(({ key }) => columns.includes(key))} chosen=${chosen} onToggle=${toggle} onAll=${setChosen} />`}
  `;
}

/** What can be done with everybody who waits at a node, however many they are. @param {{node: string}} props */
function AllWhoWait({ node }) {
  const [isStarting, setStarting] = useState(false);
  return html`
    <div class="list-tools">
      ${may("create_broadcast") && html`<button type="button" onClick=${() => writeToMatching(whoWaitsAt(node))}>${t("flow_runs.write_all")}</button>`}
      ${may("create_flow_start") && html`<button type="button" onClick=${() => setStarting(true)}>${t("flow_runs.start_all")}</button>`}
    </div>
    ${isStarting && html`<${StartDialog} given=${{ query: whoWaitsAt(node) }} onClose=${() => setStarting(false)} />`}
  `;
}

/** @param {{flow: import("./page.js").Flow, nodes: import("./node_content.js").FlowNode[], query: Record<string, string>, columns: string[], onAsk: (changed: Record<string, string>) => void}} props */
function Filters({ flow, nodes, query, columns, onAsk }) {
  const { status = "", node = "", result = "", category = "" } = query;
  const answers = flow.results.flatMap(({ key, name, categories }) => [{ key, name, of: "" }, ...categories.map((of) => ({ key, name, of }))]);
  const places = nodes.filter(({ uuid, router }) => router?.wait || uuid === node);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => onAsk({ [name]: event.target.value });
  const answer = (/** @type {any} */ event) => {
    const found = answers[event.target.value];
    onAsk({ result: found?.key ?? "", category: found?.of ?? "" });
  };
  const show = (/** @type {string} */ key) => () => onAsk({ columns: (columns.includes(key) ? columns.filter((each) => each !== key) : [...columns, key]).join(" ") });
  return html`
    <div class="list-tools run-filters">
      <select aria-label=${t("flow_runs.state")} onChange=${set("status")}>
        <option value="">${t("flow_runs.any_state")}</option>
        ${ENDS.map((end) => html`<option key=${end} value=${end} selected=${end === status}>${word("run_status", end)}</option>`)}
      </select>
      ${places.length > 0 && html`<select aria-label=${t("flow_runs.node")} onChange=${set("node")}>
        <option value="">${t("flow_runs.any_node")}</option>
        ${places.map((each) => html`<option key=${each.uuid} value=${each.uuid} selected=${each.uuid === node}>${t("flow_runs.waits_at", { node: shortName(each, nodes) })}</option>`)}
      </select>`}
      ${answers.length > 0 && html`<select aria-label=${t("flow_runs.answer")} onChange=${answer}>
        <option value="">${t("flow_runs.any_answer")}</option>
        ${answers.map(({ key, name, of }, at) => html`<option key=${at} value=${at} selected=${key === result && of === category}>${name}: ${of || t("flow_runs.any_category")}</option>`)}
        ${result && category && !answers.some(({ key, of }) => key === result && of === category) && html`<option selected>${result}: ${category}</option>`}
      </select>`}
      ${flow.results.length > 1 && html`<details class="columns"><summary>${t("flow_runs.columns")}</summary>
        <ul class="choices-list">${flow.results.map(({ key, name }) => html`<li key=${key}><label><input type="checkbox" checked=${columns.includes(key)} onChange=${show(key)} /> ${name}</label></li>`)}</ul></details>`}
    </div>
  `;
}

/**
 * What contacts were asked before they wait at a node: its own text, or that of a node before it.
 * @param {import("./node_content.js").FlowNode} node @param {import("./node_content.js").FlowNode[]} nodes
 */
function shortName(node, nodes) {
  const before = nodes.filter(({ exits }) => exits.some(({ destination_uuid }) => destination_uuid === node.uuid));
  const text = [node, ...before].map(({ actions }) => actions.findLast((each) => each.text)?.text).find(Boolean);
  const name = text ?? describe(node)[0] ?? node.uuid;
  return name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH)}…` : name;
}

/** @param {{list: import("../shared/lists.js").List<Run>, results: import("./page.js").Flow["results"], chosen: Set<string>, onToggle: (uuid: string) => void, onAll: (chosen: Set<string>) => void}} props */
function Table({ list, results, chosen, onToggle, onAll }) {
  const all = list.items.length > 0 && list.items.every(({ uuid }) => chosen.has(uuid));
  const mayAct = may("act_on_contacts");
  return html`
    <div class="table-box" tabindex="0" role="region" aria-label=${t("flows.runs")}>
      <table class="table stacked runs">
        <thead><tr>
          ${mayAct && html`<th class="narrow"><input type="checkbox" aria-label=${t("contacts.choose_all")} checked=${all} onChange=${() => onAll(all ? new Set() : new Set(list.items.map(({ uuid }) => uuid)))} /></th>`}
          <th scope="col">${t("contact.name")}</th><th scope="col">${t("flow_runs.state")}</th><th scope="col">${t("flow_runs.changed")}</th>
          ${results.map(({ key, name }) => html`<th key=${key} scope="col">${name}</th>`)}
        </tr></thead>
        <tbody>${list.items.map((run) => html`<tr key=${run.uuid}>
          ${mayAct && html`<td class="narrow"><input type="checkbox" checked=${chosen.has(run.uuid)} aria-label=${t("contacts.choose", { name: nameOf(run) })} onChange=${() => onToggle(run.uuid)} /></td>`}
          <th scope="row"><a href=${link(["contacts", run.contact.uuid])}><bdi>${nameOf(run)}</bdi></a></th>
          <td><${Badge}>${word("run_status", run.exit_type ?? "active")}<//></td>
          <td><time datetime=${run.modified_on} title=${fullTime(run.modified_on)}>${listTime(run.modified_on)}</time></td>
          ${results.map(({ key, name }) => html`<td key=${key} data-label=${name}>${answerOf(run, key)}</td>`)}</tr>`)}</tbody>
      </table>
      <${ListEnd} list=${list} />
    </div>
  `;
}

/** The category, and what was said if that is something else. @param {Run} run @param {string} key */
function answerOf(run, key) {
  const found = run.values[key];
  if (!found) return html`<span class="faint">–</span>`;
  const [category, value] = [found.category ?? "", String(found.value ?? "")];
  return html`<bdi>${category || value}</bdi>${category && value && value.toLowerCase() !== category.toLowerCase() && html`<span class="faint"> <bdi>${value}</bdi></span>`}`;
}

/** @param {Run} run */
const nameOf = ({ contact }) => displayName(contact.name, contact.urn ?? undefined);

/** @param {{picked: Run[], onDone: () => void}} props */
function Bulk({ picked, onDone }) {
  const people = [...new Map(picked.map((run) => [run.contact.uuid, { uuid: run.contact.uuid, name: nameOf(run), urns: run.contact.urn ? [run.contact.urn] : [] }])).values()];
  const count = number(people.length);
  const interrupt = () => doWithMany(t("flow.interrupt"), /** @type {any} */ (people), (contacts, key) => post("contact_actions", { contacts: contacts.map(({ uuid }) => uuid), action: "interrupt" }, undefined, key), onDone);
  return html`
    <div class="bulk" role="toolbar" aria-label=${t("contacts.chosen", { count })}>
      <strong>${t("contacts.chosen", { count })}</strong>
      ${may("create_broadcast") && html`<button type="button" onClick=${() => writeTo(people.map(({ uuid, name }) => ({ uuid, name })))}>${t("flow_runs.write")}</button>`}
      <button type="button" onClick=${() => confirmFirst({ title: t("flow_runs.interrupt", { count }), text: t("flow_runs.interrupt_text"), submit: t("flow.interrupt"), onYes: interrupt })}>${t("flow.interrupt")}</button>
    </div>
  `;
}
