/** Work that follows changes, done once for many that come together, and one after the other: an answer that was asked
 *  for earlier and comes later would take the place of the newer one. */

import { onChange } from "./live.js";
import { useEffect, useRef } from "./ui.js";

const TOGETHER_MS = 100;
/** The least time between two works, so that a busy workspace does not ask again and again, and what is new still shows
 *  within a second. */
const APART_MS = 500;
/** The same for a list of which each message of anybody changes a row: it asks and is drawn once in a second, whatever comes. */
export const LIST_APART_MS = 1000;
/** What pages do because of changes, until it is done. @type {Set<Promise<unknown>>} */
const underWay = new Set();

/** Waits until pages show what they were told of, or a second: what is drawn beside it comes in the same frame, which costs half as much. */
export async function shown() {
  // All are told first.
  await null;
  if (underWay.size) await Promise.race([Promise.all(underWay), new Promise((done) => setTimeout(done, LIST_APART_MS))]);
}

/** @typedef {import("./contract.js").Records} Records */

/**
 * The same work, of which one runs at a time, whoever asks for it: asked for while it runs, it runs once more.
 * @param {() => Promise<void>} work
 */
export function useInTurn(work) {
  const present = useRef(work);
  present.current = work;
  const turn = useRef({ isAsked: false, running: /** @type {Promise<void> | null} */ (null) });
  const run = async () => {
    try {
      while (turn.current.isAsked) {
        turn.current.isAsked = false;
        await present.current();
      }
    } finally {
      turn.current.running = null;
    }
  };
  return () => {
    turn.current.isAsked = true;
    return (turn.current.running ??= run());
  };
}

/**
 * Does the work when records of these kinds change, while the caller is drawn.
 * @template {keyof Records} K
 * @param {K[]} kinds
 * @param {(records: Records[K][] | null) => unknown} work told the records that changed since it was done last, or null if it is not known
 *   which; what it promises is waited for
 * @param {(record: Records[K]) => boolean} [concerns] which records matter
 * @param {number} [apart] milliseconds from one work to the next
 */
export function useChanges(kinds, work, concerns = () => true, apart = APART_MS) {
  const present = useRef({ work, concerns });
  present.current = { work, concerns };
  useEffect(() => {
    let timer = 0;
    let next = 0;
    let isAsked = false;
    let isOver = false;
    /** @type {Records[K][] | null} */
    let changed = [];
    let done = () => {};
    const plan = () => {
      isAsked = true;
      if (!timer) {
        const work = new Promise((/** @type {(nothing: void) => void} */ end) => (done = end));
        underWay.add(work);
        work.then(() => underWay.delete(work));
      }
      timer ||= window.setTimeout(begin, Math.max(TOGETHER_MS, next - Date.now()));
    };
    const begin = async () => {
      isAsked = false;
      next = Date.now() + apart;
      const records = changed;
      changed = [];
      try {
        await present.current.work(records);
      } finally {
        timer = 0;
        done();
        if (isAsked && !isOver) plan();
      }
    };
    const matters = (/** @type {import("./contract.js").Change} */ change) => {
      if (change.kind === "reset") return true;
      const { kind, record } = /** @type {{kind: K, record: Records[K]}} */ (change);
      return kinds.includes(kind) && present.current.concerns(record);
    };
    const stop = onChange((change) => {
      if (!matters(change)) return;
      changed = change.kind === "reset" ? null : (changed && [...changed, /** @type {any} */ (change.record)]);
      plan();
    });
    return () => {
      isOver = true;
      clearTimeout(timer);
      done();
      stop();
    };
  }, [kinds.join()]);
}
