/** The key that opens the search of everything, which is loaded then. */

import { LoadedDialog } from "../parts/loaded.js";
import { html, signal, useEffect } from "../shared/ui.js";

const loadBox = () => import("./palette_box.js");

const isOpen = signal(false);
export const openPalette = () => (isOpen.value = true);

/** Draws the box while it is open. @param {{pages: import("./pages.js").Page[]}} props */
export function Palette({ pages }) {
  useEffect(() => {
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
      if (document.querySelector("dialog[open]")) return;
      event.preventDefault();
      openPalette();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return isOpen.value && html`<${LoadedDialog} load=${loadBox} pages=${pages} onClose=${() => (isOpen.value = false)} />`;
}
