/** A button with a menu below it, for mouse, keyboard and screen reader. */

import { classes, html, useEffect, useRef, useState } from "../shared/ui.js";
import { Icon } from "./icons.js";

/**
 * `id` tells items with the same text apart; of `several` more than one can be checked.
 * @typedef {{text: string, id?: string, icon?: string, onPick: () => void, danger?: boolean, checked?: boolean, several?: boolean, lang?: string, onlyNarrow?: boolean}} Item
 * @param {{label: string, items: (Item | false | null | undefined)[], icon?: string, text?: any, up?: boolean, className?: string,
 *   onOpen?: () => void}} props
 */
export function Menu({ label, items, icon = "more", text, up = false, className = "quiet icon-only", onOpen }) {
  const [open, setOpen] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const shown = items.filter((item) => !!item);
  const listed = useRef(/** @type {Listed[]} */ ([]));
  listed.current = open ? inPlace(listed.current, shown) : shown;
  useEffect(() => {
    if (!open) return;
    onOpen?.();
    if (!up) keepInSight(box.current?.querySelector(".menu-list"));
    entries()[0]?.focus();
    const leave = (/** @type {Event} */ event) => {
      if (!box.current?.contains(/** @type {Node} */ (event.target))) setOpen(false);
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, [open]);
  const entries = () => /** @type {HTMLElement[]} */ ([...(box.current?.querySelectorAll("[role^=menuitem]") ?? [])]).filter((entry) => entry.offsetParent);
  const close = () => {
    setOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const move = (/** @type {KeyboardEvent} */ event) => {
    if (!open) return;
    const all = entries();
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") all[(at + 1) % all.length].focus();
    else if (event.key === "ArrowUp") all[(at - 1 + all.length) % all.length].focus();
    else if (event.key === "Tab") return setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (shown.length === 0) return null;
  return html`
    <div class="menu" ref=${box} onKeyDown=${move}>
      <button type="button" class=${className} aria-label=${text ? undefined : label} title=${label} aria-haspopup="menu" aria-expanded=${open}
        onClick=${() => setOpen(!open)}>
        ${text ? html`<span class="hidden">${label}</span> ${text}` : html`<${Icon} name=${icon} />`}
      </button>
      ${open &&
      html`<div class=${up ? "menu-list up" : "menu-list"} role="menu" aria-label=${label}>
        ${listed.current.map(
          (item) => html`
            <button key=${idOf(item)} type="button" aria-disabled=${item.isGone} role=${item.checked === undefined ? "menuitem" : item.several ? "menuitemcheckbox" : "menuitemradio"} tabindex="-1" lang=${item.lang}
              aria-checked=${item.checked} class=${classes("menu-item", item.danger && "danger", item.onlyNarrow && "only-narrow")}
              onClick=${() => {
                if (item.isGone) return;
                close();
                item.onPick();
              }}>
              ${item.icon && html`<${Icon} name=${item.icon} size=${18} />`} ${item.text}
            </button>
          `,
        )}
      </div>`}
    </div>
  `;
}

/** A list ends where its button does, unless it would begin beyond its page. @param {Element | null | undefined} list */
function keepInSight(list) {
  if (!list) return;
  const page = (list.closest("main, dialog") ?? document.documentElement).getBoundingClientRect();
  const { left, right } = list.getBoundingClientRect();
  list.classList.toggle("from-start", left < page.left || right > page.right);
}

/** @typedef {Item & {isGone?: boolean}} Listed */

const idOf = (/** @type {Item} */ { id, text }) => id ?? text;

/**
 * The items of an open menu: none moves away below the pointer. New ones follow, and who is gone keeps its place.
 * @param {Listed[]} before @param {Item[]} items
 * @returns {Listed[]}
 */
function inPlace(before, items) {
  const stayed = before.map((item) => items.find((other) => idOf(other) === idOf(item)) ?? { ...item, isGone: true });
  return [...stayed, ...items.filter((item) => !before.some((other) => idOf(other) === idOf(item)))];
}
