/** Work for more records than the API takes in one request: part by part, each with a key, so that it is done once. */

import { newKey, post, Refused } from "./api.js";

/** The most records that one action of the API takes. */
export const PART = 100;

/**
 * @template T
 * @typedef {{records: T[], key: string, problem: unknown, isDone: boolean}} Part what was not tried has no problem
 */

/** @template T @param {T[]} records @returns {Part<T>[]} */
export function partsOf(records) {
  const count = Math.ceil(records.length / PART);
  return Array.from({ length: count }, (_, place) => ({ records: records.slice(place * PART, (place + 1) * PART), key: newKey(), problem: null, isDone: false }));
}

/**
 * Does the work for each part that is not done yet. A part that is refused for what is in it does not hold up the others;
 * anything else would meet all of them. One that is refused gets a new key: nothing was done by the former.
 * @template T
 * @param {Part<T>[]} parts
 * @param {(records: T[], key: string) => Promise<unknown>} work
 * @param {() => boolean} goesOn asked before each part; a good place to show how far it is
 */
export async function workOn(parts, work, goesOn) {
  for (const part of parts.filter(({ isDone }) => !isDone)) {
    if (!goesOn()) return;
    try {
      await work(part.records, part.key);
      Object.assign(part, { isDone: true, problem: null });
    } catch (problem) {
      part.problem = problem;
      const isRefused = problem instanceof Refused;
      if (isRefused) part.key = newKey();
      if (!isRefused || ![400, 404, 409].includes(problem.status)) return;
    }
  }
}

/** The key of one request of several that are sent for something with a key. @param {string} key @param {number} at */
export const keyOf = (key, at) => `${key}-${at}`;

const INVERSE = /** @type {const} */ ({ add: "remove", remove: "add", archive_messages: "restore_messages", restore_messages: "archive_messages" });

/**
 * One doing of an action on contacts, and what takes it back as far as it changed anything: who was in the group before, and what
 * was archived before, stays so. What changed meanwhile is rather in the inbox than not: nobody would see it in the archive.
 * @param {keyof typeof INVERSE} action @param {string} [group] for the first two
 */
export function takenBack(action, group) {
  /** @type {{changed: string[], changed_after: string, changed_until: string}[]} */
  const done = [];
  const given = group ? { group } : {};
  return {
    /** @param {string[]} contacts their UUIDs @param {string} [key] */
    work: async (contacts, key) => {
      const told = await post("contact_actions", { contacts, action, ...given, list_changed: true }, undefined, key);
      if (told) done.push(told);
    },
    /** @param {string} key */
    undo: async (key) => {
      for (const [at, { changed, changed_after, changed_until }] of done.entries()) {
        const which = group ? given : action === "restore_messages" ? { changed_after, changed_until } : { changed_after };
        if (changed.length > 0) await post("contact_actions", { contacts: changed, action: INVERSE[action], ...which }, undefined, keyOf(key, at));
      }
      done.length = 0;
    },
  };
}

/** The records of the parts that are done, or of those that are not. @template T @param {Part<T>[]} parts @param {boolean} areDone */
export const recordsOf = (parts, areDone) => parts.flatMap(({ records, isDone }) => (isDone === areDone ? records : []));
