/** Keys of the inbox. */

import { useLayoutEffect, useRef } from "../shared/ui.js";
import { isTyping } from "../shell/shortcuts.js";

/** @type {Record<string, string>} */
const NAMES = { j: "next", k: "previous", Escape: "back", r: "reply", e: "archive", l: "label", s: "snooze", t: "ticket" };

/** Calls what belongs to a key while the caller is drawn. @param {Record<string, () => unknown>} actions */
export function useKeys(actions) {
  const present = useRef(actions);
  present.current = actions;
  // A key works as soon as what it belongs to is drawn.
  useLayoutEffect(() => {
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      const action = present.current[NAMES[event.key] ?? NAMES[event.key.toLowerCase()]];
      if (!action || isTyping(event)) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}
