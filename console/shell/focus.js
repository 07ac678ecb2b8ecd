/** Keeps the focus near its place when what had it goes away, such as a button that is not needed any more. Otherwise a
 *  screen reader falls silent, and reads from the top. */

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
const LISTS = "ul, ol, tbody";
const PLACES = "section, main, dialog";

/** What had the focus last, what it is in, from the inside, and what could have it, in order.
 *  @typedef {{element: HTMLElement, around: HTMLElement[], controls: HTMLElement[]}} Spot */

let last = /** @type {Spot | null} */ (null);

/** What had the focus when a dialog opened. @type {WeakMap<Element, Spot>} */
const openers = new WeakMap();

/** Follows the focus from now on. */
export function startFocus() {
  document.addEventListener("focusin", ({ target }) => remember(/** @type {HTMLElement} */ (target)));
  // Somebody clicked where nothing takes the focus. In a dialog its button may have been switched off instead.
  document.addEventListener("focusout", ({ target }) => queueMicrotask(() => last?.element === target && isThere(target) && !last.element.closest("dialog") && document.activeElement === document.body && (last = null)));
  new MutationObserver(() => {
    if (last && !isThere(last.element) && document.activeElement === document.body) move(last);
  }).observe(document.body, { childList: true, subtree: true });
}

/** @param {EventTarget} element */
const isThere = (element) => /** @type {HTMLElement} */ (element).isConnected;

/** @param {HTMLElement} element */
function remember(element) {
  const around = [];
  for (let next = element.parentElement; next && next !== document.body; next = next.parentElement) around.push(next);
  const dialog = element.closest("dialog");
  // One that is open when the page is opened has no opener.
  if (dialog && last && !dialog.contains(last.element) && !openers.has(dialog)) openers.set(dialog, last);
  last = { element, around, controls: [...document.querySelectorAll(CONTROLS)].map((each) => /** @type {HTMLElement} */ (each)) };
}

/**
 * From a dialog to what it was opened with, or near its place if that is gone too. Otherwise to the next control beside it;
 * from a record that went away to what the list is in, so that nobody who presses a key twice does the same to the next
 * record.
 * @param {Spot} gone
 * @returns {void}
 */
function move({ element, around, controls }) {
  last = null;
  const closed = around.find((each) => each.matches("dialog") && !isThere(each));
  const opener = closed && openers.get(closed);
  if (opener) return isThere(opener.element) ? opener.element.focus({ preventScroll: true }) : move(opener);
  const home = around.find(isThere);
  const part = home?.closest("main, dialog");
  // Another page has taken its place.
  if (!home || !part) return document.getElementById("main")?.focus({ preventScroll: true });
  const at = controls.indexOf(element);
  const [after, before] = [controls.slice(at + 1), controls.slice(0, at).reverse()].map((each) => each.filter((one) => part.contains(one) && canHaveFocus(one)));
  const beside = home.matches(LISTS) ? undefined : (after.find((each) => home.contains(each)) ?? before.find((each) => home.contains(each)) ?? before[0]);
  const place = beside ?? /** @type {HTMLElement | null} */ (home.closest(PLACES));
  if (place && !beside && !place.hasAttribute("tabindex")) place.tabIndex = -1;
  place?.focus({ preventScroll: true });
}

/** @param {HTMLElement} element */
const canHaveFocus = (element) => isThere(element) && element.tabIndex >= 0 && element.checkVisibility() && !element.matches(":disabled");
