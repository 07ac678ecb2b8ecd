/** What a person chose for this browser: when to be told of messages, whether single keys do something, and whether the column beside a
 *  conversation is shown where there is room for it. */

import { signal } from "./ui.js";

/** @typedef {"none" | "mine" | "unassigned" | "all"} Told of whose conversations; unassigned ones besides one's own */
/** @typedef {{told: Told, sound: boolean, keys: boolean, column: boolean}} Choices */

export const TOLD = /** @type {const} */ (["none", "mine", "unassigned", "all"]);
const KEPT = "relayboard.choices";
/** @type {Choices} */
const USUAL = { told: "none", sound: false, keys: true, column: true };

/** @returns {Choices} */
function kept() {
  try {
    return { ...USUAL, ...JSON.parse(localStorage.getItem(KEPT) ?? "{}") };
  } catch {
    return USUAL;
  }
}

export const choices = signal(kept());

/** @param {Partial<Choices>} changed */
export function choose(changed) {
  choices.value = { ...choices.value, ...changed };
  localStorage.setItem(KEPT, JSON.stringify(choices.value));
}

// Another tab chose.
window.addEventListener("storage", ({ key }) => {
  if (key === KEPT) choices.value = kept();
});
