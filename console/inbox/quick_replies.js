/** Answers among which the contact can choose. */

import { Icon } from "../parts/icons.js";
import { t } from "../shared/texts.js";
import { html } from "../shared/ui.js";

const MOST = 10;

/** @param {{choices: string[], onChange: (choices: string[] | null) => void}} props */
export const QuickReplies = ({ choices, onChange }) => html`
  <fieldset class="quick-replies">
    <legend class="hidden">${t("reply.choices")}</legend>
    ${choices.map(
      (choice, at) => html`
        <span class="quick-reply" key=${at}>
          <input type="text" maxlength="64" value=${choice} aria-label=${t("reply.choice", { number: at + 1 })} placeholder=${t("reply.choice", { number: at + 1 })}
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
