/** What is to be copied, such as something that cannot be read again, with a button that does it. */

import { html, useRef, useState } from "../shared/ui.js";
import { t } from "../shared/texts.js";
import { Dialog } from "./dialog.js";

/** @param {{title: string, text: string, secret: string, onClose: () => void}} props `secret` may have several lines */
export function SecretDialog({ title, text, secret, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}><${Secret} text=${text} secret=${secret} /><//>`;
}

/** @param {{text: string, secret: string}} props */
export function Secret({ text, secret }) {
  const { shown, copied, copy } = useCopy(secret);
  return html`
    <p id="secret-text">${text}</p>
    <pre class="secret-box" dir="ltr" tabindex="0" ref=${shown} aria-labelledby="secret-text">${secret}</pre>
    <p role="status"><button type="button" onClick=${copy}>${t(copied ? "settings.copied" : "settings.copy")}</button></p>
  `;
}

/** A line with what it is. @param {{label: string, text: string}} props */
export function Copied({ label, text }) {
  const { shown, copied, copy } = useCopy(text);
  return html`<div class="copied">
    <span class="faint">${label}</span>
    <code class="secret" dir="ltr" ref=${shown}>${text}</code>
    <span role="status"><button type="button" onClick=${copy} aria-label=${`${t(copied ? "settings.copied" : "settings.copy")}: ${label}`}>${t(copied ? "settings.copied" : "settings.copy")}</button></span>
  </div>`;
}

/** Copies a text that is shown; without a secure context there is no clipboard: then it is marked. @param {string} text */
function useCopy(text) {
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  const [copied, setCopied] = useState(false);
  const copy = () => {
    if (shown.current) getSelection()?.selectAllChildren(shown.current);
    navigator.clipboard?.writeText(text).then(() => setCopied(true), () => {});
  };
  return { shown, copied, copy };
}
