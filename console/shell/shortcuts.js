/** Keys that work on every page, and the dialog that lists all keys. */

import { Dialog } from "../parts/dialog.js";
import { choices, choose } from "../shared/choices.js";
import { isAwaited } from "../parts/loaded.js";
import { undoLast } from "../parts/notices.js";
import { go } from "../shared/router.js";
import { t } from "../shared/texts.js";
import { html, signal, useEffect } from "../shared/ui.js";
import { openPalette } from "./palette.js";

/** @typedef {import("../shared/texts.js").Key} Key */

/** @type {[string, Key][]} */
const KEYS = [
  ["?", "keys.help"],
  ["Ctrl + K", "palette.title"],
  ["1 – 9", "keys.pages"],
  ["J / K", "keys.next"],
  ["↑ / ↓", "keys.rows"],
  ["Space", "keys.choose"],
  ["R", "keys.reply"],
  ["/", "keys.search"],
  ["/ …", "keys.saved"],
  ["E", "keys.archive"],
  ["U", "keys.undo"],
  ["L", "keys.label"],
  ["S", "keys.snooze"],
  ["T", "keys.ticket"],
  ["Ctrl + Enter", "keys.send"],
  ["Esc", "keys.back"],
];

/** Whether a key belongs to what somebody types or to a dialog, or is one of those that are switched off. @param {KeyboardEvent} event */
export function isTyping(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (!choices.value.keys && event.key.length === 1) return true;
  const isField = target.matches?.("input, textarea, select, [contenteditable]");
  return isField || event.ctrlKey || event.metaKey || event.altKey || isAwaited() || !!document.querySelector("dialog[open]");
}

const isShown = signal(false);
export const openKeys = () => (isShown.value = true);

/** To the search of the page, or to that of everything. */
function toSearch() {
  const boxes = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("#main input[type=search]")]);
  const box = boxes.find((each) => each.checkVisibility());
  if (box) box.focus();
  else openPalette();
}

/** @param {{pages: import("./pages.js").Page[]}} props */
export function Shortcuts({ pages }) {
  useEffect(() => {
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (isTyping(event)) return;
      const page = pages[Number(event.key) - 1];
      if (event.key === "?") openKeys();
      else if (event.key === "/") event.preventDefault(), toSearch();
      else if (event.key.toLowerCase() === "u") undoLast();
      else if (page) go([page.name]);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [pages.length]);
  if (!isShown.value) return null;
  return html`
    <${Dialog} title=${t("keys.title")} onClose=${() => (isShown.value = false)}>
      <label class="choice-line"><input type="checkbox" checked=${choices.value.keys} onChange=${() => choose({ keys: !choices.value.keys })} /> ${t("keys.single")}</label>
      <dl class="keys">${KEYS.map(([key, text]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${t(text)}</dd></div>`)}</dl>
    <//>
  `;
}
