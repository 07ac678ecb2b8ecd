/** What stands between an editor and the service: where it began, what is not saved yet, and what somebody else saved since. */

import { get, newKey, post, Refused } from "../../shared/api.js";
import { keepDraft, loadDraft } from "../../shared/drafts.js";
import { explain } from "../../shared/explain.js";
import { account } from "../../shared/session.js";
import { t } from "../../shared/texts.js";
import { useEffect, useRef, useState } from "../../shared/ui.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("../../shared/contract.js").Found<"flow_revisions">["revisions"][number]} Revision
 * @typedef {import("../../shared/contract.js").Written<"flow_issues">["issues"][number]} Issue
 * @typedef {{number: number, definition: Definition}} Base the revision with which the editor began
 * @typedef {{based_on: number, definition: Definition}} Kept
 * @typedef {{base: Base, revision: Revision | null}} Newest
 */

/** After a change, before it is written to the browser. */
const KEEP_MS = 150;
/** After the last change, before the service is asked what is wrong. */
const CHECK_MS = 700;

/** @param {string} flow */
const nameOf = (flow) => `flow.${flow}`;

/** The newest revision of a flow. @param {string} flow @returns {Promise<Newest>} */
export async function readNewest(flow) {
  const { revisions } = await get("flow_revisions", { uuid: flow });
  if (revisions.length === 0) return { base: { number: 0, definition: { uuid: flow, language: "und", localization: {}, nodes: [] } }, revision: null };
  const { definition } = await get("flow_revisions", { uuid: flow, number: revisions[0].number });
  return { base: { number: revisions[0].number, definition: /** @type {Definition} */ (definition) }, revision: revisions[0] };
}

/** What this browser keeps of a flow that the service does not have. @param {string} flow @returns {Kept | null} */
export const readKept = (flow) => loadDraft(nameOf(flow), null);

/**
 * Keeps each change in the browser until the service has it. Returns what went wrong with that.
 * @param {string} flow @param {Base} base @param {Definition} definition
 */
export function useKeeping(flow, base, definition) {
  const pending = useRef(() => {});
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const keep = () => {
      leave();
      pending.current = () => {};
      if (!account.value) return;
      try {
        keepDraft(nameOf(flow), definition === base.definition ? null : { based_on: base.number, definition });
        setProblem("");
      } catch {
        // The browser's room is full, or it keeps nothing: the work is only in this tab.
        setProblem(t("flow_editor.not_kept"));
      }
    };
    // Large flows take a while to write: while somebody types, the last state is written, and in any case before the page goes.
    const timer = setTimeout(keep, KEEP_MS);
    const leave = () => {
      clearTimeout(timer);
      window.removeEventListener("pagehide", keep);
    };
    window.addEventListener("pagehide", keep);
    pending.current = keep;
    return leave;
  }, [flow, base, definition]);
  // Whoever goes to another page of the console leaves this one at once.
  useEffect(() => () => pending.current(), []);
  useEffect(() => {
    if (!problem) return;
    const warn = (/** @type {BeforeUnloadEvent} */ event) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [problem]);
  return problem;
}

/**
 * Saves the definition as a revision.
 * @param {string} flow @param {Base} base
 * @returns {(definition: Definition) => Promise<{base: Base} | {theirs: Newest}>} `theirs` was saved since by somebody else; other refusals are thrown
 */
export function useSaving(flow, base) {
  // The same work is saved once, however often it is sent.
  const sent = useRef({ definition: /** @type {Definition | null} */ (null), key: "" });
  return async (definition) => {
    if (sent.current.definition !== definition) sent.current = { definition, key: newKey() };
    try {
      const { revision } = await post("flow_revisions", { based_on: base.number, definition: /** @type {any} */ (definition) }, { uuid: flow }, sent.current.key);
      return { base: { number: revision.number, definition } };
    } catch (error) {
      if (error instanceof Refused) sent.current = { definition: null, key: "" };
      if (!(error instanceof Refused) || error.status !== 409) throw error;
      return { theirs: await readNewest(flow) };
    }
  };
}

/** What is wrong with a definition, asked for after changes. @param {Definition} definition @returns {{issues: Issue[], problem: string}} */
export function useIssues(definition) {
  const [found, setFound] = useState({ issues: /** @type {Issue[]} */ ([]), problem: "" });
  useEffect(() => {
    let isOver = false;
    const ask = () =>
      post("flow_issues", { definition: /** @type {any} */ (definition) }).then(
        ({ issues }) => !isOver && setFound({ issues, problem: "" }),
        (error) => !isOver && setFound((old) => ({ ...old, problem: explain(error) })),
      );
    const timer = setTimeout(ask, CHECK_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [definition]);
  return found;
}
