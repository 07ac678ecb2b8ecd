/** The second click of a double click counts only for what the first one was for. Many people click everything twice, and meanwhile
 *  "Close" may have become "Reopen", or another record have come to this place. */

const CONTROLS = "button, a[href], summary, [role^=menuitem]";

let first = "";

/** Watches all clicks from now on. */
export function startDoubleClicks() {
  document.addEventListener("click", watch, true);
}

/** @param {MouseEvent} event its detail says which click of a row it is; those by the keyboard have none */
function watch(event) {
  const control = /** @type {Element} */ (event.target).closest(CONTROLS);
  const meaning = control ? `${control.getAttribute("aria-label") ?? ""} ${control.getAttribute("href") ?? ""} ${control.textContent}` : "";
  if (event.detail < 2) first = meaning;
  else if (control && meaning !== first) {
    event.preventDefault();
    event.stopPropagation();
  }
}
