/** Answers among which the contact can choose. */

import { Icon } from "../parts/icons.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useRef } from "../shared/ui.js";

const MOST = 10;

/** @param {{choices: string[], onChange: (choices: string[] | null) => void}} props */
export function QuickReplies({ choices, onChange }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isAdded = useRef(false);
  useEffect(() => {
    if (isAdded.current) [...(box.current?.querySelectorAll("input") ?? [])].at(-1)?.focus();
    isAdded.current = false;
  }, [choices.length]);
  const pressed = (/** @type {KeyboardEvent} */ event, /** @type {number} */ at) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
    // Enter would send the answer: it adds the next choice, or goes to the one that is there.
    event.preventDefault();
    const next = box.current?.querySelectorAll("input")[at + 1];
    if (next) return next.focus();
    if (!choices[at].trim() || choices.length === MOST) return;
    isAdded.current = true;
    onChange([...choices, ""]);
  };
  return html`
  <fieldset class="quick-replies" ref=${box}>
    <legend class="hidden">${t("reply.choices")}</legend>
    ${choices.map(
      (choice, at) => html`
        <span class="quick-reply" key=${at}>
          <input type="text" maxlength="64" value=${choice} aria-label=${t("reply.choice", { number: at + 1 })} placeholder=${t("reply.choice", { number: at + 1 })}
            onKeyDown=${(/** @type {KeyboardEvent} */ event) => pressed(event, at)}
            onInput=${(/** @type {any} */ event) => onChange(choices.map((old, place) => (place === at ? event.target.value : old)))} />
          <button type="button" class="quiet tiny" aria-label=${t("act.remove")}
            onClick=${() => onChange(choices.length > 1 ? choices.filter((_, place) => place !== at) : null)}><${Icon} name="close" size=${14} /></button>
        </span>
      `,
    )}
    ${choices.length < MOST &&
    html`<button type="button" class="quiet tiny" aria-label=${t("reply.add_choice")} onClick=${() => onChange([...choices, ""])}><${Icon} name="plus" size=${16} /></button>`}
  </fieldset>
`;
}
