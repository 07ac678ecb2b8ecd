/** Replies on their way to the service. They are kept until the service has them, also when the page is closed or the
 *  network is lost; each has a key, so that none is sent twice. */

import { NotReached, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { signal } from "../shared/ui.js";

/**
 * @typedef {{text: string}} QuickReply
 * @typedef {{key: string, text: string, attachments: string[], quick_replies: QuickReply[], problem: string}} Outgoing
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

/** Sends what an earlier page left behind. @param {string} contact @param {() => void} onSent */
export function resume(contact, onSent) {
  if (waiting.value[contact]) return;
  const kept = loadDraft(`out.${contact}`, /** @type {Outgoing[]} */ ([]));
  if (kept.length) {
    keep(contact, kept);
    void run(contact, onSent);
  }
}

/** @param {string} contact @param {Outgoing} message @param {() => void} onSent */
export function send(contact, message, onSent) {
  keep(contact, [...outboxOf(contact), message]);
  void run(contact, onSent);
}

/** @param {string} contact @param {string} key */
export function sendAgain(contact, key) {
  keep(contact, outboxOf(contact).map((message) => (message.key === key ? { ...message, problem: "" } : message)));
  void run(contact, () => {});
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

/** Sends in order; waits while the service cannot be reached. @param {string} contact @param {() => void} onSent */
async function run(contact, onSent) {
  if (busy.has(contact)) return;
  busy.add(contact);
  for (;;) {
    const message = outboxOf(contact).find(({ problem }) => !problem);
    if (!message) break;
    try {
      const { text, attachments, quick_replies } = message;
      await post("messages", { contact, text, attachments, quick_replies }, undefined, message.key);
      await onSent();
      discard(contact, message.key);
    } catch (error) {
      if (error instanceof NotReached) await new Promise((again) => setTimeout(again, AGAIN_MS));
      else keep(contact, outboxOf(contact).map((other) => (other.key === message.key ? { ...other, problem: explain(error) } : other)));
    }
  }
  busy.delete(contact);
}
