/** What changed in a flow, revision by revision, and the way back to an earlier one. */

import { confirmFirst } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { Problem } from "../parts/small.js";
import { get, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { may } from "../shared/session.js";
import { number, shortTime, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { describe } from "./node_content.js";

/** @typedef {import("../shared/contract.js").Found<"flow_revisions">} Revisions */
/** @typedef {{node: string, kind: "added" | "changed" | "gone", left: string[], came: string[]}} Difference */

/** @param {import("./flow.js").TabProps} props */
export function RevisionList({ flow: { uuid, modified_on: modified, archived }, reload }) {
  const [revisions, setRevisions] = useState(/** @type {Revisions["revisions"]} */ ([]));
  const [chosen, setChosen] = useState(0);
  const [against, setAgainst] = useState(0);
  const [differences, setDifferences] = useState(/** @type {Difference[] | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = () => get("flow_revisions", { uuid }).then((found) => (setRevisions(found.revisions), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void load(), [uuid, modified]);
  /** The first revision is compared with none. @param {number} which @param {number} [other] */
  const show = async (which, other = revisions.find((each) => each.number < which)?.number ?? 0) => {
    try {
      const [old, present] = await Promise.all([other ? nodesOf(uuid, other) : [], nodesOf(uuid, which)]);
      setDifferences(compare(old, present));
      setChosen(which);
      setAgainst(other);
    } catch (error) {
      setProblem(explain(error));
    }
  };
  /** The service refuses it if somebody saved another meanwhile, and says who. @param {number} which */
  const back = (which) => ({
    title: t("flows.back_ask", { number: number(which) }),
    text: t("flows.back_text"),
    submit: t("flows.back_to"),
    onYes: async () => {
      try {
        await post("flow_revisions", { based_on: revisions[0].number, restore: which }, { uuid });
      } finally {
        setChosen(0);
        await Promise.all([load(), reload()]);
      }
      notify(t("flows.is_back", { number: number(which) }));
    },
  });
  return html`
    <section class="card revisions" aria-label=${t("flows.revisions")}>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      <ol>${revisions.map((each) => html`<li key=${each.number}>
        <button type="button" class="link" aria-expanded=${each.number === chosen} onClick=${() => (each.number === chosen ? setChosen(0) : show(each.number))}>${t("flows.revision", { number: number(each.number) })}</button>
        <span class="faint"> ${shortTime(each.created_on)}${each.created_by && html` · <bdi>${each.created_by.name || each.created_by.email}</bdi>`} ${each.is_current ? `· ${t("flows.present")}` : ""}</span>
        ${each.number === chosen && differences && html`<${Against} which=${chosen} against=${against} revisions=${revisions} onChoose=${(/** @type {number} */ other) => show(chosen, other)} /><${Differences} found=${differences} />
          ${!each.is_current && !archived && may("write_flow_revision") && html`<button type="button" onClick=${() => confirmFirst(back(each.number))}>${t("flows.back_to")}</button>`}`}
      </li>`)}</ol>
    </section>
  `;
}

/** With which earlier revision one is compared. @param {{which: number, against: number, revisions: Revisions["revisions"], onChoose: (other: number) => void}} props */
function Against({ which, against, revisions, onChoose }) {
  const earlier = revisions.filter((each) => each.number < which);
  return earlier.length > 1 && html`<label class="compared">${t("flows.compared_with")}${" "}
    <select onChange=${(/** @type {any} */ event) => onChoose(Number(event.target.value))}>
      ${earlier.map(({ number: each, created_on: saved }) => html`<option key=${each} value=${each} selected=${each === against}>${t("flows.revision", { number: number(each) })} · ${shortTime(saved)}</option>`)}
    </select></label>`;
}

/** @param {string} uuid @param {number} which */
const nodesOf = async (uuid, which) => /** @type {import("./drawing.js").FlowNode[]} */ (/** @type {any} */ ((await get("flow_revisions", { uuid, number: which })).definition)?.nodes ?? []);

/** @param {{found: Difference[]}} props */
export const Differences = ({ found }) =>
  found.length === 0
    ? html`<p class="help">${t("flows.no_differences")}</p>`
    : html`<ul class="differences">${found.map(({ node, kind, left, came }) => html`<li key=${node}>
        <strong>${word("node_change", kind)}</strong>
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
    return left.length || came.length ? [{ node, kind: !before.has(node) ? "added" : !after.has(node) ? "gone" : "changed", left, came }] : [];
  });
}
