/** A text in which addresses of web pages are links. */

import { html } from "../shared/ui.js";

const ADDRESS = /https?:\/\/[^\s<>"'`]+/giu;
/** What mostly ends a sentence, or closes what was opened before the address. */
const AFTER = /[.,;:!?)\]}؟،。»”]$/u;

/** The address at the beginning of what looks like one; a bracket belongs to it if it was opened there. @param {string} found */
function addressIn(found) {
  let address = found;
  while (AFTER.test(address) && !(address.endsWith(")") && address.split("(").length >= address.split(")").length)) address = address.slice(0, -1);
  return address;
}

/** @param {{text: string}} props */
export function Linked({ text }) {
  const parts = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const address = addressIn(found);
    if (!URL.canParse(address)) continue;
    parts.push(text.slice(end, index), html`<a href=${address} target="_blank" rel="noopener noreferrer nofollow" dir="ltr">${address}</a>`);
    end = index + address.length;
  }
  return html`${parts}${text.slice(end)}`;
}
