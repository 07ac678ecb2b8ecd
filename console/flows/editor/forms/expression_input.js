/** A field for a text with expressions: after an @ it offers what can come next. */

import { word } from "../../../shared/texts.js";
import { classes, html, useLayoutEffect, useMemo, useRef, useState } from "../../../shared/ui.js";
import { completionsAt, isOpen } from "./completing.js";
import { say } from "./parts.js";

/**
 * @param {{id: string, value: string, names: import("./completing.js").Names, onInput: (text: string) => void, rows?: number, longest?: number, isPlain?: boolean,
 *   label?: string, describedby?: string, dir?: string, inputmode?: string, lang?: string}} props with `rows` it has several lines; a plain one has no expressions
 */
export function ExpressionInput({ id, value, names, onInput, rows, longest, isPlain = false, label, describedby, dir = "auto", inputmode, lang }) {
  const field = useRef(/** @type {HTMLTextAreaElement | HTMLInputElement | null} */ (null));
  const placed = useRef(/** @type {number | null} */ (null));
  const [caret, setCaret] = useState(/** @type {number | null} */ (null));
  const [moved, setChosen] = useState(/** @type {number | null} */ (null));
  const found = useMemo(() => (caret === null || isPlain ? null : completionsAt(value, caret, names)), [value, caret, names]);
  // Enter and Tab take what is chosen: nothing, as long as what stands there may be all that is meant.
  const chosen = moved ?? (found?.isBegun ? 0 : -1);
  useLayoutEffect(() => {
    if (placed.current === null) return;
    field.current?.setSelectionRange(placed.current, placed.current);
    placed.current = null;
  });
  const type = (/** @type {any} */ { target }) => {
    setCaret(target.selectionStart);
    setChosen(null);
    onInput(target.value);
  };
  const take = (/** @type {number} */ at) => {
    const item = found?.items[at];
    if (!found || !item || caret === null) return;
    const until = found.from + item.insert.length;
    placed.current = until;
    setCaret(until);
    setChosen(null);
    onInput(value.slice(0, found.from) + item.insert + value.slice(caret));
    field.current?.focus();
  };
  const move = (/** @type {KeyboardEvent} */ event) => {
    if (!found) return;
    const count = found.items.length;
    if (event.key === "ArrowDown") setChosen((chosen + 1) % count);
    else if (event.key === "ArrowUp") setChosen((Math.max(chosen, 0) + count - 1) % count);
    else if (chosen >= 0 && (event.key === "Enter" || event.key === "Tab")) take(chosen);
    else if (event.key === "Escape") setCaret(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shared = {
    id, dir, lang, inputmode, maxlength: longest, value, "aria-label": label, autocomplete: "off", spellcheck: rows ? undefined : false,
    "aria-autocomplete": isPlain ? undefined : "list", "aria-controls": found ? `${id}-list` : undefined, "aria-activedescendant": found && chosen >= 0 ? `${id}-${chosen}` : undefined,
    "aria-describedby": [describedby, `${id}-open`].filter(Boolean).join(" "), ref: field, onInput: type, onKeyDown: move, onBlur: () => setCaret(null),
    onClick: (/** @type {any} */ { target }) => setCaret(target.selectionStart),
  };
  return html`<div class="expression">
    ${rows ? html`<textarea ...${shared} rows=${rows}></textarea>` : html`<input type="text" ...${shared} />`}
    <span class="hidden" role="status">${found && say("flow_form.completions", { count: found.items.length })}</span>
    ${found && html`<ul id=${`${id}-list`} class="completions" role="listbox" aria-label=${say("flow_form.next")}>
      ${found.items.map(({ label: shown, help, called }, at) => html`<li key=${shown} id=${`${id}-${at}`} role="option" aria-selected=${at === chosen} class=${classes(at === chosen && "chosen")}
        onMouseDown=${(/** @type {MouseEvent} */ event) => (event.preventDefault(), take(at))}><code dir="ltr">${shown}</code> <span class="faint" dir="auto">${called ? word("flow_function", called) : help}</span></li>`)}
    </ul>`}
    <p class="help warn" id=${`${id}-open`}>${!isPlain && isOpen(value) && !found && say("flow_form.not_closed")}</p>
  </div>`;
}
