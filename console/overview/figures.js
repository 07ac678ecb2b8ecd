/** The figures of the workspace, as they are now. */

import { get } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { useEffect, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Found<"workspace_figures">} Figures */

const EVERY_MS = 60_000;

/** The figures of the last days, asked for again every minute. @param {number} days */
export function useFigures(days) {
  const [figures, setFigures] = useState(/** @type {Figures | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = () => get("workspace_figures", { days }).then((found) => (setFigures(found), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => {
    void load();
    const again = setInterval(() => !document.hidden && load(), EVERY_MS);
    return () => clearInterval(again);
  }, [days]);
  return { figures, problem, load };
}
