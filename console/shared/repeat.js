/** Work that is done again and again: while something goes on that no change tells of, such as an import, or until nothing is left. */

import { explain } from "./explain.js";
import { useEffect, useRef, useState } from "./ui.js";

const EVERY_MS = 1000;

/** @param {boolean} isGoing @param {() => unknown} work */
export function useRepeat(isGoing, work) {
  useEffect(() => {
    if (!isGoing) return;
    const again = setInterval(() => !document.hidden && work(), EVERY_MS);
    return () => clearInterval(again);
  });
}

/** Work that the API does a part at a time. It goes on until `work` says that nothing is left, somebody stops it or goes to another page. */
export function useParts() {
  const [isGoing, setGoing] = useState(false);
  const [problem, setProblem] = useState("");
  const wanted = useRef(false);
  const stop = () => {
    wanted.current = false;
  };
  useEffect(() => stop, []);
  /** Tells whether all was done. @param {() => Promise<boolean>} work does a part; whether more is left */
  const run = async (work) => {
    wanted.current = true;
    setGoing(true);
    setProblem("");
    let isMore = true;
    try {
      while (isMore && wanted.current) isMore = await work();
    } catch (error) {
      setProblem(explain(error));
    }
    setGoing(false);
    return !isMore;
  };
  return { isGoing, problem, run, stop };
}
