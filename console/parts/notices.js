/** Short notices that something was done or went wrong. Screen readers say them. */

import { explain } from "../shared/explain.js";
import { html, signal } from "../shared/ui.js";

const SHOWN_MS = 6000;
/** @type {import("../shared/ui.js").Signal<{id: number, text: string, isProblem: boolean}[]>} */
const notices = signal([]);
let last = 0;

/** @param {string} text @param {boolean} [isProblem] */
export function notify(text, isProblem = false) {
  const id = ++last;
  notices.value = [...notices.value.slice(-2), { id, text, isProblem }];
  setTimeout(() => (notices.value = notices.value.filter((notice) => notice.id !== id)), SHOWN_MS);
}

/**
 * Does something, and tells when it was done or why not. Returns whether it was done.
 * @param {() => Promise<unknown>} work
 * @param {string} [done]
 */
export async function attempt(work, done) {
  try {
    await work();
  } catch (error) {
    notify(explain(error), true);
    return false;
  }
  if (done) notify(done);
  return true;
}

export const Notices = () => html`
  <div class="notices" role="status" aria-live="polite">
    ${notices.value.map(({ id, text, isProblem }) => html`<p key=${id} class=${isProblem ? "notice bad" : "notice"}>${text}</p>`)}
  </div>
`;
