/** What stands between an editor and the service: the revision that runs, the draft that is saved while somebody draws, and
 *  what somebody else saved since. */

import { get, newKey, NotReached, online, post, Refused } from "../../shared/api.js";
import { useInTurn } from "../../shared/changes.js";
import { keepDraft, loadDraft } from "../../shared/drafts.js";
import { explain } from "../../shared/explain.js";
import { account } from "../../shared/session.js";
import { t } from "../../shared/texts.js";
import { useEffect, useRef, useState } from "../../shared/ui.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("../../shared/contract.js").Found<"flow_revisions">} Revisions
 * @typedef {import("../../shared/contract.js").Written<"flow_issues">["issues"][number]} Issue
 * @typedef {{number: number, live: Definition, draft: string | null, definition: Definition}} Base what the service has as far as the
 *   editor knows: number and definition of the revision that runs, UUID of the newest draft, and the definition of the newer of the two
 * @typedef {{based_on: number, draft: string | null, definition: Definition}} Kept
 * @typedef {{base: Base, who: {name?: string | null, email: string} | null, time: string, isDraft: boolean}} Newest who saved it when
 */

/** After a change, before it is written to the browser, and before it is sent. */
const [KEEP_MS, SAVE_MS] = [150, 1000];

const NOTHING = { definition: /** @type {Definition | null} */ (null), key: "" };

/** @param {string} flow */
const nameOf = (flow) => `flow.${flow}`;

/** What the service has of a flow. @param {string} flow @param {boolean} [isLive] leaves the drafts aside @returns {Promise<Newest>} */
export async function readNewest(flow, isLive = false) {
  const { revisions: [revision], drafts: [draft] } = await get("flow_revisions", { uuid: flow });
  const read = async (/** @type {{number?: number, draft?: string}} */ which) => /** @type {Definition} */ ((await get("flow_revisions", { uuid: flow, ...which })).definition);
  const live = revision ? await read({ number: revision.number }) : { uuid: flow, language: "und", localization: {}, nodes: [] };
  const isDraft = !!draft && !isLive;
  const definition = isDraft ? await read({ draft: draft.uuid }) : live;
  const saved = isDraft ? { who: draft.created_by, time: draft.saved_on } : { who: revision?.created_by ?? null, time: revision?.created_on ?? "" };
  return { base: { number: revision?.number ?? 0, live, draft: draft?.uuid ?? null, definition }, ...saved, isDraft };
}

/** @param {Definition} one @param {Definition} other */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** What this browser keeps of a flow that the service does not have. @param {string} flow @param {Base} base @returns {Kept | null} */
export function readKept(flow, base) {
  const kept = /** @type {Kept | null} */ (loadDraft(nameOf(flow), null));
  // The service may have got it although its answer was lost.
  return kept && isSame(kept.definition, base.definition) ? null : kept;
}

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
        keepDraft(nameOf(flow), definition === base.definition ? null : { based_on: base.number, draft: base.draft, definition });
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
 * Saves each change as the draft of the flow, and publishes it. Where somebody else saved meanwhile, nothing is saved before
 * `settle` says with what this editor goes on.
 * @param {string} flow @param {Base} opened @param {Definition} definition
 */
export function useSaving(flow, opened, definition) {
  const known = useRef(opened);
  const present = useRef(definition);
  present.current = definition;
  const [base, setBase] = useState(opened);
  const [theirs, setTheirs] = useState(/** @type {Newest | null} */ (null));
  const [found, setFound] = useState({ issues: /** @type {Issue[]} */ ([]), problem: "" });
  // Until there is an answer the same work is saved once, however often it is sent.
  const sent = useRef(NOTHING);
  const isHeld = useRef(false);
  const learn = (/** @type {Base} */ now) => setBase((known.current = now));
  const hold = async (isLive = false) => {
    isHeld.current = true;
    setTheirs(await readNewest(flow, isLive));
  };
  const send = async (/** @type {Definition} */ given) => {
    const { number, draft } = known.current;
    if (given === known.current.definition || isHeld.current) return;
    if (sent.current.definition !== given) sent.current = { definition: given, key: newKey() };
    try {
      const answer = await post("flow_revisions", { based_on: number, draft: true, based_on_draft: draft, definition: /** @type {any} */ (given) }, { uuid: flow }, sent.current.key);
      sent.current = NOTHING;
      learn({ ...known.current, draft: answer.draft?.uuid ?? null, definition: given });
      setFound({ issues: answer.issues, problem: "" });
      if (answer.revision.number !== number) await hold(true);
    } catch (error) {
      if (error instanceof Refused) sent.current = NOTHING;
      if (!(error instanceof Refused) || error.status !== 409) throw error;
      await hold();
    }
  };
  const save = useInTurn(async () => {
    // What was sent without an answer may be the newest draft: it is sent again under its key, before what was drawn since.
    if (sent.current.definition) await send(sent.current.definition);
    await send(present.current);
  });
  const saveSoon = () => save().catch((error) => setFound((old) => ({ ...old, problem: error instanceof NotReached ? "" : explain(error) })));
  useEffect(() => {
    const timer = setTimeout(saveSoon, SAVE_MS);
    return () => clearTimeout(timer);
  }, [definition, base, online.value]);
  useEffect(() => {
    post("flow_issues", { definition: /** @type {any} */ (definition) }).then(
      // What came with a draft since is newer.
      ({ issues }) => known.current === opened && setFound({ issues, problem: "" }),
      (error) => setFound((old) => ({ ...old, problem: explain(error) })),
    );
  }, []);
  /** Makes the draft the revision that runs; the definition as it is stored, or null where somebody else was first. @param {boolean} isTested refuses it if a test fails @returns {Promise<Definition | null>} */
  const publish = async (isTested) => {
    await save();
    const { number, draft } = known.current;
    if (isHeld.current || !draft) return null;
    try {
      await post("flow_revisions", { based_on: number, publish: draft, tests: isTested ? "required" : "told" }, { uuid: flow });
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 409) throw error;
      // Either there is another revision, or somebody has saved a draft since.
      await hold((await readNewest(flow)).base.draft === draft);
      return null;
    }
    const { base: now } = await readNewest(flow, true);
    // What is the same stays the same object, so that there is nothing to undo.
    const stored = isSame(now.definition, present.current) ? present.current : now.definition;
    learn({ ...now, live: stored, definition: stored });
    return stored;
  };
  /** Goes on from what somebody else saved. @param {Newest} newest */
  const settle = (newest) => {
    isHeld.current = false;
    setTheirs(null);
    learn(newest.base);
  };
  return { base, theirs, ...found, publish, settle };
}
