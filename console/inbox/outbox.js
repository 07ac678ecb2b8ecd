/** Replies on their way to the service. They are kept until the service has them, also when the page is closed or the
 *  network is lost; each has a key, so that none is sent twice. A reply remembers the newest message that was known before
 *  it: until the service has answered, a later one may be this reply, so the conversation does not show it yet. */

import { NotReached, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { signal } from "../shared/ui.js";

/**
 * @typedef {{text: string}} QuickReply
 * @typedef {{key: string, text: string, attachments: string[], quick_replies: QuickReply[], problem: string, after: number}} Outgoing
 * @typedef {import("./thread_data.js").Message} Message
 * @typedef {(message: Message | null) => void} Sent told of the message that the service made
 */

const AGAIN_MS = 3000;
/** @type {import("../shared/ui.js").Signal<Record<string, Outgoing[]>>} */
const waiting = signal({});
/** @type {Set<string>} */
const busy = new Set();

/** The replies to a contact that the service does not have yet. @param {string} contact @returns {Outgoing[]} */
export function outboxOf(contact) {
  return waiting.value[contact] ?? [];
}

/** The id after which messages may be replies that are on their way. @param {string} contact */
export function knownUntil(contact) {
  return Math.min(...outboxOf(contact).flatMap(({ problem, after }) => (problem ? [] : [after ?? Infinity])));
}

/** Sends what an earlier page left behind. @param {string} contact @param {Sent} onSent */
export function resume(contact, onSent) {
  if (waiting.value[contact]) return;
  const kept = loadDraft(`out.${contact}`, /** @type {Outgoing[]} */ ([]));
  if (kept.length) {
    keep(contact, kept);
    void run(contact, onSent);
  }
}

/** @param {string} contact @param {Outgoing} message @param {Sent} onSent */
export function send(contact, message, onSent) {
  keep(contact, [...outboxOf(contact), message]);
  void run(contact, onSent);
}

/** @param {string} contact @param {string} key @param {Sent} onSent */
export function sendAgain(contact, key, onSent) {
  keep(contact, outboxOf(contact).map((message) => (message.key === key ? { ...message, problem: "" } : message)));
  void run(contact, onSent);
}

/** @param {string} contact @param {string} key */
export function discard(contact, key) {
  keep(contact, outboxOf(contact).filter((message) => message.key !== key));
}

/** @param {string} contact @param {Outgoing[]} messages */
function keep(contact, messages) {
  waiting.value = { ...waiting.value, [contact]: messages };
  keepDraft(`out.${contact}`, messages);
}

/** Sends in order; waits while the service cannot be reached. @param {string} contact @param {Sent} onSent */
async function run(contact, onSent) {
  if (busy.has(contact)) return;
  busy.add(contact);
  for (;;) {
    const message = outboxOf(contact).find(({ problem }) => !problem);
    if (!message) break;
    try {
      const { text, attachments, quick_replies } = message;
      const made = await post("messages", { contact, text, attachments, quick_replies }, undefined, message.key);
      onSent(made);
      discard(contact, message.key);
    } catch (error) {
      if (error instanceof NotReached) await new Promise((again) => setTimeout(again, AGAIN_MS));
      else keep(contact, outboxOf(contact).map((other) => (other.key === message.key ? { ...other, problem: explain(error) } : other)));
    }
  }
  busy.delete(contact);
}
