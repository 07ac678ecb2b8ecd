/** What people typed and have not sent yet. It outlives the page and a lost network; each conversation has its own. */

import { account } from "./session.js";

/** @param {string} name */
const keyOf = (name) => `relayboard.draft.${account.value?.workspace?.uuid ?? ""}.${account.value?.user.uuid ?? ""}.${name}`;

/**
 * @template T
 * @param {string} name
 * @param {T} none
 * @returns {T}
 */
export function loadDraft(name, none) {
  try {
    const kept = localStorage.getItem(keyOf(name));
    return kept ? JSON.parse(kept) : none;
  } catch {
    return none;
  }
}

/** Keeps a draft; one without content is forgotten. @param {string} name @param {unknown} content */
export function keepDraft(name, content) {
  const isEmpty = !content || (Array.isArray(content) && content.length === 0);
  if (isEmpty) localStorage.removeItem(keyOf(name));
  else localStorage.setItem(keyOf(name), JSON.stringify(content));
}
