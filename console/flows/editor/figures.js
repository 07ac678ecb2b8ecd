/** Live numbers on the drawing: who waits at a step and how many went through each exit, while somebody wants to see them. */

import { get } from "../../shared/api.js";
import { useChanges } from "../../shared/changes.js";
import { useEffect, useRef, useState } from "../../shared/ui.js";
import { countsOf } from "../drawing.js";

/** @typedef {import("../node_content.js").Counts} Counts */

/** Between two requests, however many contacts run through the flow. */
const APART_MS = 5000;
/** Only the days of results, which are not shown here, depend on it. */
const DAYS = 1;

/** The numbers of a flow, or null while they are not wanted or not known. @param {string} flow @param {boolean} isWanted @returns {Counts | null} */
export function useFigures(flow, isWanted) {
  const [counts, setCounts] = useState(/** @type {Counts | null} */ (null));
  const next = useRef({ timer: 0, from: 0 });
  const ask = async () => {
    next.current = { timer: 0, from: Date.now() + APART_MS };
    // What cannot be asked now is asked again at the next change.
    if (!document.hidden) await get("flow_figures", { uuid: flow, days: DAYS }).then((found) => setCounts(countsOf(found)), () => {});
  };
  const askSoon = () => {
    next.current.timer ||= window.setTimeout(ask, Math.max(0, next.current.from - Date.now()));
  };
  useEffect(() => {
    if (!isWanted) return setCounts(null);
    askSoon();
    document.addEventListener("visibilitychange", askSoon);
    return () => {
      document.removeEventListener("visibilitychange", askSoon);
      clearTimeout(next.current.timer);
      next.current.timer = 0;
    };
  }, [flow, isWanted]);
  useChanges(["run"], () => isWanted && askSoon(), (record) => isWanted && record.flow?.uuid === flow);
  return isWanted ? counts : null;
}
