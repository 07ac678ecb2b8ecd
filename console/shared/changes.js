/** Work that follows changes, done once for many that come together. */

import { onChange } from "./live.js";
import { useEffect, useRef } from "./ui.js";

const TOGETHER_MS = 100;
/** The least time between two works, so that a busy workspace does not ask again and again, and what is new still shows
 *  within a second. */
const APART_MS = 500;

/** @typedef {import("./contract.js").Records} Records */

/**
 * Does the work when records of these kinds change, while the caller is drawn.
 * @template {keyof Records} K
 * @param {K[]} kinds
 * @param {() => unknown} work
 * @param {(record: Records[K]) => boolean} [concerns] which records matter
 */
export function useChanges(kinds, work, concerns = () => true) {
  const present = useRef({ work, concerns });
  present.current = { work, concerns };
  useEffect(() => {
    let timer = 0;
    let next = 0;
    const stop = onChange((change) => {
      if (change.kind !== "reset" && !(kinds.includes(/** @type {K} */ (change.kind)) && present.current.concerns(/** @type {Records[K]} */ (change.record)))) return;
      timer ||= window.setTimeout(() => {
        timer = 0;
        next = Date.now() + APART_MS;
        present.current.work();
      }, Math.max(TOGETHER_MS, next - Date.now()));
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [kinds.join()]);
}
