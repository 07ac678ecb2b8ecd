/** Keeps the focus near its place when what had it goes away, such as a button that is not needed any more. Otherwise a
 *  screen reader falls silent, and reads from the top. */

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
const LISTS = "ul, ol, tbody";
const PLACES = "section, main, dialog";

/** What had the focus last, what it is in, from the inside, and what could have it, in order.
 *  @typedef {{element: HTMLElement, around: HTMLElement[], controls: HTMLElement[]}} Spot */

let last = /** @type {Spot | null} */ (null);

/** Follows the focus from now on. */
export function startFocus() {
  document.addEventListener("focusin", ({ target }) => remember(/** @type {HTMLElement} */ (target)));
  // Somebody clicked where nothing takes the focus.
  document.addEventListener("focusout", ({ target }) => queueMicrotask(() => last?.element === target && isThere(target) && document.activeElement === document.body && (last = null)));
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
  last = { element, around, controls: [...document.querySelectorAll(CONTROLS)].map((each) => /** @type {HTMLElement} */ (each)) };
}

/**
 * To the next control beside it; from a record that went away to what the list is in, so that nobody who presses a key twice
 * does the same to the next record.
 * @param {Spot} gone
 */
function move({ element, around, controls }) {
  last = null;
  // A dialog that goes away gives the focus back itself.
  if (around.some((each) => each.matches("dialog") && !isThere(each))) return;
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
