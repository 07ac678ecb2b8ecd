/** Replies on their way to the service. They are kept until the service has them, also when the page is closed or the
 *  network is lost; each has a key, so that none is sent twice. A reply remembers the newest message that was known before
 *  it: until the service has answered, a later one may be this reply, so the conversation does not show it yet. */

import { newKey, NotReached, post, Refused } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { phase } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { computed, signal } from "../shared/ui.js";

/**
 * @typedef {{text: string}} QuickReply
 * @typedef {{key: string, text: string, attachments: string[], quick_replies: QuickReply[], template?: {uuid: string, variables: string[]}, saved_reply?: string, send_on?: string, problem: string, after: number}} Outgoing
 *   `template` goes instead of the text, which is how it reads; `send_on` is the time that somebody chose
 * @typedef {import("./thread_data.js").Message} Message
 * @typedef {(message: Message | null) => void} Sent told of the message that the service made
 */

const AGAIN_MS = 3000;
/** @type {import("../shared/ui.js").Signal<Record<string, Outgoing[]>>} */
const waiting = signal({});
/** @type {Set<string>} */
const busy = new Set();
/** Who shows what the service made of a reply: the conversation that was opened last. @type {Map<string, Sent>} */
const shownBy = new Map();
/** The end of the name under which the browser keeps the replies to a contact. */
const KEPT = /\.out\.([^.]+)$/;

/** The replies to a contact that the service does not have yet. @param {string} contact @returns {Outgoing[]} */
export function outboxOf(contact) {
  return waiting.value[contact] ?? [];
}

/** The replies that the service refused, by contact, until somebody sends them again or throws them away. */
export const refusedReplies = computed(
  () => new Map(Object.entries(waiting.value).map(([contact, messages]) => [contact, messages.filter(({ problem }) => problem)])),
);

/** The first reply to a contact that the service refused. @param {string} contact @returns {Outgoing | undefined} */
export const refusedReplyTo = (contact) => refusedReplies.value.get(contact)?.[0];

/** The id after which messages may be replies that are on their way. @param {string} contact */
export function knownUntil(contact) {
  return Math.min(...outboxOf(contact).flatMap(({ problem, after }) => (problem ? [] : [after ?? Infinity])));
}

/** Sends what earlier pages left behind, once somebody is signed in: people may not open these conversations again. */
export function startOutbox() {
  phase.subscribe((present) => {
    // The next person in this tab neither sees nor sends what is another's.
    if (present === "out") waiting.value = {};
    if (present === "in") for (const name of Object.keys(localStorage)) resume(KEPT.exec(name)?.[1]);
  });
}

/** @param {string | undefined} contact */
function resume(contact) {
  if (!contact || outboxOf(contact).length) return;
  const kept = loadKept(contact);
  if (!kept.length) return;
  waiting.value = { ...waiting.value, [contact]: kept };
  void run(contact);
}

/** Tells of each reply that the service makes, also of those that an earlier page left behind. @param {string} contact @param {Sent} onSent */
export function follow(contact, onSent) {
  shownBy.set(contact, onSent);
  resume(contact);
}

/** @param {string} contact @param {Outgoing} message */
export function send(contact, message) {
  change(contact, (messages) => [...messages, message]);
  void run(contact);
}

/** @param {string} contact @param {string} key */
export function sendAgain(contact, key) {
  // What was to be sent at a time that is over goes now; it was refused, so another key asks for something new.
  const fresh = (/** @type {Outgoing} */ message) => (message.send_on && Date.parse(message.send_on) < Date.now() ? { ...message, key: newKey(), send_on: undefined } : message);
  change(contact, (messages) => messages.map((message) => (message.key === key ? { ...fresh(message), problem: "" } : message)));
  void run(contact);
}

/** @param {string} contact @param {string} key */
export function discard(contact, key) {
  change(contact, (messages) => messages.filter((message) => message.key !== key));
}

/** @param {string} contact @param {string} key @param {string} problem */
function tellProblem(contact, key, problem) {
  change(contact, (messages) => messages.map((message) => (message.key === key ? { ...message, problem } : message)));
}

/** The saved reply is gone, and with it what was to be done besides: whoever sends it again sends the text. @param {string} contact @param {Outgoing} message */
function onlyText(contact, { key, saved_reply: _, ...rest }) {
  const plain = { ...rest, key: newKey(), problem: t("reply.deeds_gone") };
  change(contact, (messages) => messages.map((each) => (each.key === key ? plain : each)));
}

/** @param {string} contact */
const loadKept = (contact) => loadDraft(`out.${contact}`, /** @type {Outgoing[]} */ ([]));

/** Other tabs keep their replies at the same place, so each changes only its own. @param {string} contact @param {(messages: Outgoing[]) => Outgoing[]} edit */
function change(contact, edit) {
  waiting.value = { ...waiting.value, [contact]: edit(outboxOf(contact)) };
  keepDraft(`out.${contact}`, edit(loadKept(contact)));
}

/** Sends in order; waits while the service cannot be reached. @param {string} contact */
async function run(contact) {
  if (busy.has(contact)) return;
  busy.add(contact);
  for (;;) {
    const message = outboxOf(contact).find(({ problem }) => !problem);
    if (!message) break;
    try {
      const { text, attachments, quick_replies, template, saved_reply, send_on } = message;
      const content = template ? { template: template.uuid, template_variables: template.variables } : { text, attachments, quick_replies, ...(saved_reply ? { saved_reply } : {}) };
      const made = await post("messages", { contact, ...content, ...(send_on ? { send_on } : {}) }, undefined, message.key);
      shownBy.get(contact)?.(made);
      discard(contact, message.key);
    } catch (error) {
      // It was not refused: whoever signs in again sends it.
      if (error instanceof Refused && error.status === 401) break;
      if (error instanceof NotReached) await new Promise((again) => setTimeout(again, AGAIN_MS));
      else if (message.saved_reply && error instanceof Refused && error.fields.saved_reply) onlyText(contact, message);
      else tellProblem(contact, message.key, explain(error));
    }
  }
  busy.delete(contact);
}
