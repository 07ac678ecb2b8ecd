/** What changed in a flow, revision by revision. */

import { Problem } from "../parts/small.js";
import { get } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { number, shortTime, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { describe } from "./node_content.js";

/** @typedef {import("../shared/contract.js").Found<"flow_revisions">} Revisions */
/** @typedef {{node: string, left: string[], came: string[]}} Difference */

/** @param {import("./flow.js").TabProps} props */
export function RevisionList({ flow: { uuid, modified_on: modified } }) {
  const [revisions, setRevisions] = useState(/** @type {Revisions["revisions"]} */ ([]));
  const [chosen, setChosen] = useState(0);
  const [differences, setDifferences] = useState(/** @type {Difference[] | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = () => get("flow_revisions", { uuid }).then((found) => (setRevisions(found.revisions), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void load(), [uuid, modified]);
  const show = async (/** @type {number} */ which) => {
    const before = revisions[revisions.findIndex((each) => each.number === which) + 1];
    try {
      const [old, present] = await Promise.all([before ? nodesOf(uuid, before.number) : [], nodesOf(uuid, which)]);
      setDifferences(compare(old, present));
      setChosen(which);
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return html`
    <section class="card revisions" aria-labelledby="revisions-title">
      <h2 id="revisions-title">${t("flows.revisions")}</h2>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      <ol>${revisions.map((each) => html`<li key=${each.number}>
        <button type="button" class="link" aria-expanded=${each.number === chosen} onClick=${() => (each.number === chosen ? setChosen(0) : show(each.number))}>${t("flows.revision", { number: number(each.number) })}</button>
        <span class="faint"> ${shortTime(each.created_on)} ${each.is_current ? `· ${t("flows.present")}` : ""}</span>
        ${each.number === chosen && differences && html`<${Differences} found=${differences} />`}
      </li>`)}</ol>
    </section>
  `;
}

/** @param {string} uuid @param {number} which */
const nodesOf = async (uuid, which) => /** @type {import("./drawing.js").FlowNode[]} */ (/** @type {any} */ ((await get("flow_revisions", { uuid, number: which })).definition)?.nodes ?? []);

/** @param {{found: Difference[]}} props */
const Differences = ({ found }) =>
  found.length === 0
    ? html`<p class="help">${t("flows.no_differences")}</p>`
    : html`<ul class="differences">${found.map(({ node, left, came }) => html`<li key=${node}>
        ${left.map((line, at) => html`<del key=${`l${at}`} dir="auto">${line}</del>`)}
        ${came.map((line, at) => html`<ins key=${`c${at}`} dir="auto">${line}</ins>`)}
      </li>`)}</ul>`;

/**
 * The nodes that do something else than before, with the lines that left and those that came.
 * @param {import("./drawing.js").FlowNode[]} old @param {import("./drawing.js").FlowNode[]} present
 * @returns {Difference[]}
 */
export function compare(old, present) {
  const [before, after] = [old, present].map((nodes) => new Map(nodes.map((node) => [node.uuid, describe(node)])));
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((node) => {
    const [was, is] = [before.get(node) ?? [], after.get(node) ?? []];
    const [left, came] = [was.filter((line) => !is.includes(line)), is.filter((line) => !was.includes(line))];
    return left.length || came.length ? [{ node, left, came }] : [];
  });
}
