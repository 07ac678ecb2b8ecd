/** Work that is done again and again while something goes on that no change tells of, such as an import. */

import { useEffect } from "./ui.js";

const EVERY_MS = 1000;

/** @param {boolean} isGoing @param {() => unknown} work */
export function useRepeat(isGoing, work) {
  useEffect(() => {
    if (!isGoing) return;
    const again = setInterval(() => !document.hidden && work(), EVERY_MS);
    return () => clearInterval(again);
  });
}
