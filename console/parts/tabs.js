/** Tabs with an address each: links for a mouse, one stop for the keyboard, arrow keys between them. */

import { html, useEffect, useRef } from "../shared/ui.js";

/**
 * @typedef {{name: string, text: string, address: string}} Tab
 * @param {{label: string, tabs: Tab[], chosen: string, onChoose: (name: string) => void, children?: any}} props the children are what the chosen tab shows
 */
export function Tabs({ label, tabs, chosen, onChoose, children }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  // On a phone some of them stand outside of the screen.
  useEffect(() => list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [chosen]);
  const move = (/** @type {KeyboardEvent} */ event) => {
    const isTurned = document.documentElement.dir === "rtl";
    const steps = /** @type {Record<string, number>} */ ({ ArrowRight: isTurned ? -1 : 1, ArrowLeft: isTurned ? 1 : -1, Home: -tabs.length, End: tabs.length });
    const at = tabs.findIndex(({ name }) => name === chosen);
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.abs(step) === 1 ? (at + step + tabs.length) % tabs.length : step < 0 ? 0 : tabs.length - 1;
    onChoose(tabs[next].name);
    /** @type {HTMLElement | undefined} */ (list.current?.querySelectorAll("a")[next])?.focus();
  };
  return html`
    <div class="tabs views" role="tablist" aria-label=${label} ref=${list} onKeyDown=${move}>
      ${tabs.map(({ name, text, address }) => html`<a key=${name} role="tab" id=${`tab-${name}`} href=${address} aria-selected=${name === chosen} aria-current=${name === chosen ? "page" : undefined}
        aria-controls=${name === chosen ? `panel-${name}` : undefined} tabindex=${name === chosen ? 0 : -1}>${text}</a>`)}
    </div>
    <div key=${chosen} role="tabpanel" id=${`panel-${chosen}`} aria-labelledby=${`tab-${chosen}`}>${children}</div>
  `;
}
