/** Short notices that something was done or went wrong, with "Undo" where there is an inverse. Screen readers say them. */

import { explain } from "../shared/explain.js";
import { t } from "../shared/texts.js";
import { html, signal } from "../shared/ui.js";

const SHOWN_MS = 6000;
/** Long enough to read, to see what was done, and to get to the button by the keyboard. */
const UNDO_SHOWN_MS = 20_000;

/** @typedef {() => Promise<unknown>} Work */

/** @type {import("../shared/ui.js").Signal<{id: number, text: string, isProblem: boolean, undo?: Work}[]>} */
const notices = signal([]);
let last = 0;

/** @param {string} text @param {boolean} [isProblem] @param {Work} [undo] takes back what was done */
export function notify(text, isProblem = false, undo) {
  const id = ++last;
  notices.value = [...notices.value.slice(-2), { id, text, isProblem, undo }];
  setTimeout(() => drop(id), undo ? UNDO_SHOWN_MS : SHOWN_MS);
}

/** @param {number} id */
const drop = (id) => (notices.value = notices.value.filter((notice) => notice.id !== id));

/**
 * Does something, and tells when it was done or why not. Returns whether it was done.
 * @param {Work} work
 * @param {string} [done]
 * @param {Work} [undo] takes it back
 */
export async function attempt(work, done, undo) {
  try {
    await work();
  } catch (error) {
    notify(explain(error), true);
    return false;
  }
  if (done) notify(done, false, undo);
  return true;
}

/** Takes back what the last notice with "Undo" tells of. Returns whether there is one. */
export function undoLast() {
  const notice = notices.value.findLast(({ undo }) => undo);
  if (notice) takeBack(notice.id);
  return !!notice;
}

/** @param {number} id a second click finds nothing to take back */
function takeBack(id) {
  const undo = notices.value.find((notice) => notice.id === id)?.undo;
  drop(id);
  if (undo) void attempt(undo, t("act.undone"));
}

export const Notices = () => html`
  <div class="notices" role="status" aria-live="polite">
    ${notices.value.map(
      ({ id, text, isProblem, undo }) => html`<p key=${id} class=${isProblem ? "notice bad" : "notice"}>
        ${text}${undo && html` <button type="button" class="undo" onClick=${() => takeBack(id)}>${t("act.undo")}</button>`}
      </p>`,
    )}
  </div>
`;
