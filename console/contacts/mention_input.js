/** A field for a note: "@" names colleagues, who are told. */

import { useCached, revalidateOnFocus } from "../shared/lists.js";
import { account } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"users">} User */

const ANSWERING = ["administrator", "editor", "agent"];
const MOST_FOUND = 6;
/** What the API takes. */
const MOST_MENTIONS = 20;

const nameOf = (/** @type {User} */ { name, email }) => name || email;

/** Who can be named. @param {boolean} isWanted @returns {User[]} */
export const useColleagues = (isWanted) => useCached(isWanted ? "users" : null).filter(({ role, email }) => ANSWERING.includes(role) && email !== account.value?.user.email);

/** The list is drawn after the field. @param {{as?: "input" | "textarea", list: string, colleagues: User[]} & Record<string, unknown>} props `list` is the id of what is found; the rest is the field's */
export function MentionInput({ as = "input", list, colleagues, ...field }) {
  const [sought, setSought] = useState(/** @type {string | null} */ (null));
  const [at, setAt] = useState(0);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const found = sought === null ? [] : colleagues.filter((each) => nameOf(each).toLowerCase().includes(sought.toLowerCase())).slice(0, MOST_FOUND);
  const typed = () => {
    const { value, selectionStart } = /** @type {HTMLInputElement} */ (input.current);
    setSought(/(?:^|\s)@([^@\n]*)$/.exec(value.slice(0, selectionStart ?? 0))?.[1] ?? null);
    setAt(0);
  };
  const pick = (/** @type {User} */ colleague) => {
    const shown = /** @type {HTMLInputElement} */ (input.current);
    const end = shown.selectionStart ?? shown.value.length;
    shown.setRangeText(`@${nameOf(colleague)} `, shown.value.lastIndexOf("@", end - 1), end, "end");
    shown.focus();
    shown.dispatchEvent(new Event("input", { bubbles: true }));
    setSought(null);
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (found.length === 0) return;
    if (event.key === "ArrowDown") setAt((at + 1) % found.length);
    else if (event.key === "ArrowUp") setAt((at - 1 + found.length) % found.length);
    else if (event.key === "Enter" || event.key === "Tab") pick(found[at]);
    else if (event.key === "Escape") setSought(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const combobox = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": found.length > 0, "aria-controls": found.length > 0 ? list : undefined, "aria-activedescendant": found[at] ? `${list}-${at}` : undefined };
  return html`
    <${as} ref=${input} required maxlength="10000" autocomplete="off" onInput=${typed} onKeyDown=${pressed} onBlur=${() => setSought(null)} ...${revalidateOnFocus("users")} ...${combobox} ...${field} />
    ${found.length > 0 && html`<div class="found-replies colleagues" id=${list} role="listbox" aria-label=${t("mention.colleagues")}>
      ${found.map((each, place) => html`<div key=${each.email} id=${`${list}-${place}`} role="option" aria-selected=${place === at} class=${place === at ? "palette-entry is-present" : "palette-entry"}
        onMouseDown=${(/** @type {Event} */ event) => (event.preventDefault(), pick(each))}><bdi>${nameOf(each)}</bdi></div>`)}
    </div>`}
  `;
}

/** The addresses of those whom a text names, as a request gives them; a name that begins with that of another is theirs alone. @param {string} text @param {User[]} colleagues
 * @returns {{mentions?: string[]}} */
export function mentionsIn(text, colleagues) {
  let rest = text;
  const mentions = colleagues.toSorted((a, b) => nameOf(b).length - nameOf(a).length).flatMap((each) => {
    const isNamed = rest.includes(`@${nameOf(each)}`);
    rest = rest.replaceAll(`@${nameOf(each)}`, " ");
    return isNamed ? [each.email] : [];
  });
  return mentions.length > 0 ? { mentions: mentions.slice(0, MOST_MENTIONS) } : {};
}
