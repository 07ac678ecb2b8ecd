/** Work that follows changes, done once for many that come together. */

import { onChange } from "./live.js";
import { useEffect, useRef } from "./ui.js";

const TOGETHER_MS = 150;

/**
 * Does the work when records of these kinds change, while the caller is drawn.
 * @param {string[]} kinds
 * @param {() => unknown} work
 * @param {(record: any) => boolean} [concerns] which records matter
 */
export function useChanges(kinds, work, concerns = () => true) {
  const present = useRef({ work, concerns });
  present.current = { work, concerns };
  useEffect(() => {
    let timer = 0;
    const stop = onChange(({ kind, record }) => {
      if (kind !== "reset" && !(kinds.includes(kind) && present.current.concerns(record))) return;
      timer ||= window.setTimeout(() => {
        timer = 0;
        present.current.work();
      }, TOGETHER_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [kinds.join()]);
}
