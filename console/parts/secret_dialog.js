/** Shows something that cannot be read again, with a button that copies it. */

import { html, useRef, useState } from "../shared/ui.js";
import { t } from "../shared/texts.js";
import { Dialog } from "./dialog.js";

/** @param {{title: string, text: string, secret: string, onClose: () => void}} props `secret` may have several lines */
export function SecretDialog({ title, text, secret, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}><${Secret} text=${text} secret=${secret} /><//>`;
}

/** @param {{text: string, secret: string}} props */
export function Secret({ text, secret }) {
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  const [copied, setCopied] = useState(false);
  const copy = () => {
    // Without a secure context there is no clipboard: then what is to be copied is marked.
    if (shown.current) getSelection()?.selectAllChildren(shown.current);
    navigator.clipboard?.writeText(secret).then(() => setCopied(true), () => {});
  };
  return html`
    <p id="secret-text">${text}</p>
    <pre class="secret-box" dir="ltr" tabindex="0" ref=${shown} aria-labelledby="secret-text">${secret}</pre>
    <p role="status"><button type="button" onClick=${copy}>${t(copied ? "settings.copied" : "settings.copy")}</button></p>
  `;
}
