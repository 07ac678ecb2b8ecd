/** What people typed and have not sent yet. It outlives the page and a lost network; each conversation has its own. */

import { account } from "./session.js";
import { signal } from "./ui.js";

const PREFIX = "relayboard.draft.";
/** What is kept beside drafts and tells of nobody: how a table looks. */
const CHOICES = ["contacts.columns"];

/** @param {string} name */
const keyOf = (name) => `${PREFIX}${account.value?.workspace?.uuid ?? ""}.${account.value?.user.uuid ?? ""}.${name}`;

/** The keys of all drafts in this browser. */
const keys = signal(new Set(Object.keys(localStorage).filter((key) => key.startsWith(PREFIX))));
window.addEventListener("storage", ({ key, newValue }) => key?.startsWith(PREFIX) && note(key, newValue !== null));

/** @param {string} key @param {boolean} isKept */
function note(key, isKept) {
  if (keys.value.has(key) === isKept) return;
  const changed = new Set(keys.value);
  if (isKept) changed.add(key);
  else changed.delete(key);
  keys.value = changed;
}

/** Whether somebody has begun to write; whoever draws it is drawn anew when that changes. @param {string} name */
export const hasDraft = (name) => keys.value.has(keyOf(name));

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
  note(keyOf(name), !isEmpty);
  if (isEmpty) localStorage.removeItem(keyOf(name));
  else localStorage.setItem(keyOf(name), JSON.stringify(content));
}

/** The keys of all drafts of a person, in every workspace. @param {string} user */
const draftsOf = (user) =>
  Object.keys(localStorage).filter((key) => key.startsWith(PREFIX) && key.split(".")[3] === user && !CHOICES.some((name) => key.endsWith(`.${name}`)));

/** How many drafts of a person this browser keeps. @param {string} user */
export const countDrafts = (user) => draftsOf(user).length;

/** Forgets all drafts of a person who leaves this browser. @param {string} user */
export function forgetDrafts(user) {
  for (const key of draftsOf(user)) localStorage.removeItem(key), note(key, false);
}

/**
 * Calls back with a draft when another tab changes it, until the returned function is called.
 * @param {string} name
 * @param {(content: any) => void} listener told null if there is none any more
 */
export function followDraft(name, listener) {
  const key = keyOf(name);
  const changed = (/** @type {StorageEvent} */ event) => {
    if (event.key === key) listener(event.newValue ? JSON.parse(event.newValue) : null);
  };
  window.addEventListener("storage", changed);
  return () => window.removeEventListener("storage", changed);
}
