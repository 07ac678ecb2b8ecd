/** Short notices that something was done or went wrong, with "Undo" where there is an inverse. Screen readers say them. */

import { newKey, NotReached, Refused } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { t } from "../shared/texts.js";
import { html, signal } from "../shared/ui.js";

const SHOWN_MS = 6000;
/** Long enough to read, to see what was done, and to get to the button by the keyboard. */
const UNDO_SHOWN_MS = 20_000;

/**
 * @typedef {() => Promise<unknown>} Work
 * @typedef {(key: string) => Promise<unknown>} Undo once, however often it is called with the same key; a text that it returns is said
 *   instead of that it is undone
 * @typedef {{text: string, isProblem: boolean, undo?: Undo, key: string, isAgain?: boolean}} Said it `isAgain` when the service was not reached
 */

/** @type {import("../shared/ui.js").Signal<(Said & {id: number})[]>} */
const notices = signal([]);
let last = 0;

/** @param {string} text @param {boolean} [isProblem] @param {Undo} [undo] takes back what was done */
export const notify = (text, isProblem = false, undo) => show({ text, isProblem, undo, key: newKey() });

/** @param {Said} said */
function show(said) {
  const id = ++last;
  notices.value = [...notices.value.slice(-2), { ...said, id }];
  setTimeout(() => drop(id), said.undo ? UNDO_SHOWN_MS : SHOWN_MS);
}

/** @param {number} id */
const drop = (id) => (notices.value = notices.value.filter((notice) => notice.id !== id));

/**
 * Does something, and tells when it was done or why not. Returns whether it was done.
 * @param {Work} work
 * @param {string} [done]
 * @param {Undo} [undo] takes it back
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
  if (notice) void takeBack(notice.id);
  return !!notice;
}

/** @param {number} id a second click finds nothing to take back */
async function takeBack(id) {
  const notice = notices.value.find((each) => each.id === id);
  drop(id);
  if (!notice?.undo) return;
  try {
    const said = await notice.undo(notice.key);
    notify(typeof said === "string" ? said : t("act.undone"));
  } catch (error) {
    const text = `${t("act.not_undone")} ${explain(error)}`;
    if (canPass(error)) show({ ...notice, text, isProblem: true, isAgain: true });
    else notify(text, true);
  }
}

/** Whether the same can be done a little later. @param {unknown} error */
const canPass = (error) => error instanceof NotReached || (error instanceof Refused && (error.status === 429 || error.status >= 500));

export const Notices = () => html`
  <div class="notices" role="status" aria-live="polite">
    ${notices.value.map(
      ({ id, text, isProblem, undo, isAgain }) => html`<p key=${id} class=${isProblem ? "notice bad" : "notice"}>
        ${text}${undo && html` <button type="button" class="undo" onClick=${() => takeBack(id)}>${t(isAgain ? "act.retry" : "act.undo")}</button>`}
      </p>`,
    )}
  </div>
`;
