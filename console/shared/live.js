/** Tells pages that records changed, so that they show the present state by themselves. */

import { phase } from "./session.js";
import { effect } from "./ui.js";

/** @typedef {{kind: string, record?: any}} Change */

const EVERY_MS = 4000;
/** @type {Set<(change: Change) => void>} */
const listeners = new Set();

/** Calls back at each change until the returned function is called. @param {(change: Change) => void} listener */
export function onChange(listener) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** @param {Change} change */
export function announce(change) {
  for (const listener of listeners) listener(change);
}

export function startLive() {
  let timer = 0;
  effect(() => {
    clearInterval(timer);
    if (phase.value === "in") {
      timer = window.setInterval(() => {
        if (!document.hidden) announce({ kind: "tick" });
      }, EVERY_MS);
    }
  });
}
