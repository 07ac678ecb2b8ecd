/** The time, for what is told of how long something takes: a page that reads it is drawn anew twice a minute. */

import { signal } from "./ui.js";

const STEP_MS = 30_000;

/** Milliseconds since 1970. */
export const now = signal(Date.now());

const tick = () => {
  if (!document.hidden) now.value = Date.now();
};
setInterval(tick, STEP_MS);
document.addEventListener("visibilitychange", tick);
