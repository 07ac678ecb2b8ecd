/** The list of conversations, from the API's messages. */

import { cursorOf, get } from "../shared/api.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"messages">} Message
 * @typedef {{contact: {uuid: string, name: string | null}, last: Message, unread: number}} Conversation
 * @typedef {{folder?: string, label?: string}} Filter
 */

/**
 * @param {Filter} filter
 * @param {string | null} cursor
 * @param {AbortSignal} stop
 * @returns {Promise<{items: Conversation[], cursor: string | null}>}
 */
export async function loadConversations({ folder, label }, cursor, stop) {
  const page = await get("messages", { folder: folder || "incoming", label, cursor: cursor ?? undefined }, stop);
  return { items: byContact(page.results), cursor: cursorOf(page.next) };
}

/** The newest message of each contact. @param {Message[]} messages */
function byContact(messages) {
  /** @type {Map<string, Conversation>} */
  const found = new Map();
  for (const message of messages) {
    if (!found.has(message.contact.uuid)) found.set(message.contact.uuid, { contact: message.contact, last: message, unread: 0 });
  }
  return [...found.values()];
}
