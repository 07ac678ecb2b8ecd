/** A text with the words of a search marked. */

import { markedParts } from "../shared/marked.js";
import { html } from "../shared/ui.js";

/** @param {{text: string, search: string}} props */
export const Marked = ({ text, search }) => html`<bdi>${markedParts(text, search).map((part) => (part.isSought ? html`<mark>${part.text}</mark>` : part.text))}</bdi>`;
