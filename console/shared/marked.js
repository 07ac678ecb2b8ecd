/** The words of a search in a text that has them, as the service reads both: in any case, with or without accents. */

const WORD_SIGN = /[\p{L}\p{N}\p{M}]/u;
/** Scripts whose words stand without spaces: what is sought may begin within them. */
const UNDIVIDED = /[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;
/** How much of a text comes before its first word that was sought. */
const BEFORE = 40;

/** A text as searches read it. @param {string} text */
export const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** @param {string} search */
const wordsOf = (search) => folded(search).split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/**
 * The text in parts, from a little before the first word that was sought.
 * @param {string} text
 * @param {string} search
 * @returns {{text: string, isSought: boolean}[]}
 */
export function markedParts(text, search) {
  const letters = [...text];
  const read = letters.map(folded);
  const plain = read.join("");
  // A letter may become several signs, or none: each of them knows its place in the text.
  const places = read.flatMap((signs, at) => Array.from({ length: signs.length }, () => at));
  const sought = new Set();
  for (const word of wordsOf(search)) {
    for (let at = plain.indexOf(word); at >= 0; at = plain.indexOf(word, at + word.length)) {
      if (at > 0 && WORD_SIGN.test(plain[at - 1]) && !UNDIVIDED.test(word)) continue;
      for (let place = at; place < at + word.length; place++) sought.add(places[place]);
    }
  }
  const first = letters.findIndex((_, at) => sought.has(at));
  const from = first > BEFORE ? first - BEFORE : 0;
  /** @type {{text: string, isSought: boolean}[]} */
  const parts = from > 0 ? [{ text: "…", isSought: false }] : [];
  letters.slice(from).forEach((letter, place) => {
    const isSought = sought.has(from + place);
    const last = parts.at(-1);
    if (last && last.isSought === isSought) last.text += letter;
    else parts.push({ text: letter, isSought });
  });
  return parts;
}
