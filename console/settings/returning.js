/** Settings are not in the live stream: a list is read again when a person comes back to its tab. */

import { useEffect, useRef } from "../shared/ui.js";

/** @param {() => unknown} work */
export function useReturn(work) {
  const present = useRef(work);
  present.current = work;
  useEffect(() => {
    const back = () => document.visibilityState === "visible" && present.current();
    document.addEventListener("visibilitychange", back);
    window.addEventListener("focus", back);
    return () => {
      document.removeEventListener("visibilitychange", back);
      window.removeEventListener("focus", back);
    };
  }, []);
}
