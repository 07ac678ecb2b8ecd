/** Rows that somebody has chosen, to do something with all of them. */

import { t } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {{chosen: ReadonlySet<string>, isAll: boolean, toggle: (id: string, isRange?: boolean) => void, set: (ids: string[]) => void, all: () => void,
 *   press: (event: KeyboardEvent, at: number) => void}} Selection
 */

/** What is chosen among the rows with these ids; only what is shown is. @param {string[]} ids @param {boolean} isAble @returns {Selection} */
export function useSelection(ids, isAble) {
  const [held, setHeld] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  const last = useRef("");
  const chosen = new Set(ids.filter((id) => held.has(id)));
  // What left the list, or is in no other folder, is not chosen when it comes back: nobody would see that it is.
  useEffect(() => {
    if (chosen.size < held.size) setHeld(chosen);
  }, [held.size > 0 && ids.join()]);
  const present = useRef({ ids, chosen });
  present.current = { ids, chosen };
  // The same function each time: a row is drawn anew only when something of it changes.
  const toggle = useMemo(() => (/** @type {string} */ id, isRange = false) => {
    const { ids, chosen } = present.current;
    const changed = new Set(chosen);
    const [from, to] = [ids.indexOf(last.current), ids.indexOf(id)];
    last.current = id;
    if (isRange && from >= 0) for (const each of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) changed.add(each);
    else if (!changed.delete(id)) changed.add(id);
    setHeld(changed);
  }, []);
  const press = (/** @type {KeyboardEvent} */ event, /** @type {number} */ at) => {
    const step = event.key === "ArrowDown" ? 1 : -1;
    if (!isAble || !ids[at]) return;
    if (event.key === " ") event.preventDefault(), toggle(ids[at], event.shiftKey);
    else if (event.shiftKey && event.key.startsWith("Arrow") && ids[at + step]) {
      if (!chosen.has(ids[at])) last.current = ids[at];
      setHeld(new Set([...chosen, ids[at], ids[at + step]]));
    }
  };
  const isAll = ids.length > 0 && chosen.size === ids.length;
  return { chosen, isAll, toggle, set: (some) => setHeld(new Set(some)), all: () => setHeld(new Set(isAll ? [] : ids)), press };
}

/** The box beside a row. By the keyboard the row itself is chosen. @param {{name: string, isChosen: boolean, onToggle: (isRange: boolean) => void}} props */
export const RowBox = ({ name, isChosen, onToggle }) => html`
  <label class="row-box"><input type="checkbox" tabindex="-1" checked=${isChosen} aria-label=${t("contacts.choose", { name })}
    onClick=${(/** @type {MouseEvent} */ event) => onToggle(event.shiftKey)} /></label>
`;
