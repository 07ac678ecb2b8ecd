/** Who wrote an outgoing message: a person of the workspace, a flow, a broadcast, or nobody who is known. */

import { cachedItems, useCached } from "./lists.js";
import { account } from "./session.js";
import { t } from "./texts.js";
import { computed } from "./ui.js";

/** @typedef {Pick<import("./contract.js").Listed<"messages">, "author" | "flow" | "broadcast" | "direction">} Written */

/** The names of the people of the workspace by their UUID. */
const names = computed(() => new Map(cachedItems("users").map(({ uuid, name, email }) => [uuid, name || email])));

/** Asks for the names, unless they are known, while the caller is drawn. */
export const useAuthors = () => void useCached("users");

/** Whether the person who is signed in wrote it. @param {Written} message */
export const isOwn = ({ author }) => !!author && author === account.value?.user.uuid;

/** What distinguishes writers: two messages with the same one are of one sender. @param {Written} message */
export const senderOf = ({ direction, author, flow, broadcast }) => [direction, author, flow?.uuid, broadcast].join();

/** How the writer of an outgoing message is called, in a word or two. @param {Written} message */
export function authorName(message) {
  if (isOwn(message)) return t("author.you");
  if (message.author) return names.value.get(message.author) ?? t("author.somebody");
  if (message.broadcast !== null) return t("resource.broadcasts");
  return message.flow ? message.flow.name : t("author.unknown");
}
