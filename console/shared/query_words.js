/** What can be written next in a contact query. */

import { get } from "./api.js";
import { useEffect, useState } from "./ui.js";

/** @typedef {import("./contract.js").Found<"contact_query_words">} Words */

/** @returns {Words | null} */
export function useQueryWords() {
  const [words, setWords] = useState(/** @type {Words | null} */ (null));
  useEffect(() => {
    get("contact_query_words").then(setWords, () => {});
  }, []);
  return words;
}

/**
 * Whole queries that continue what is typed: with a property, or with an operator after one.
 * @param {string} typed
 * @param {Words | null} words
 */
export function completions(typed, words) {
  if (!words || !typed) return [];
  const known = [...words.attributes, ...words.fields];
  const [, before, begun] = /^(.*?)([\w.]*)$/s.exec(typed) ?? ["", "", typed];
  const after = /([\w.]+)\s+$/.exec(typed)?.[1];
  const property = known.find(({ key }) => key === after);
  if (property) return property.operators.map((operator) => `${typed}${operator} `);
  if (!begun) return [];
  return known.filter(({ key }) => key.startsWith(begun.toLowerCase()) && key !== begun).map(({ key }) => `${before}${key} `);
}
