/** How many conversations are unread and how many wait for an answer, and which tickets are open. They are asked for once, and
 *  kept by the changes that the service tells of; where those do not say enough they are asked for again, seldom. */

import { cursorOf, get } from "./api.js";
import { shown } from "./changes.js";
import { now } from "./clock.js";
import { onChange } from "./live.js";
import { account, may, phase } from "./session.js";
import { number } from "./texts.js";
import { batch, computed, effect, signal } from "./ui.js";

/**
 * @typedef {import("./contract.js").Records["message"]} Message
 * @typedef {{contact: string, assignee: string, due: string | null}} OpenTicket `assignee` is an address, or empty
 * @typedef {{uuid: string, on: string, isWaiting: boolean}} Last the newest message of a contact that this page was told of
 */

/** The least time between two askings, and the longest while somebody looks: other people read conversations, too. */
const APART_MS = 10_000;
const SELDOM_MS = 120_000;

/** Contacts whose conversations are unread, and those whose last message waits for an answer. */
const unread = signal(/** @type {ReadonlySet<string>} */ (new Set()));
const waiting = signal(/** @type {ReadonlySet<string>} */ (new Set()));
const tickets = signal(/** @type {ReadonlyMap<string, OpenTicket>} */ (new Map()));
/** The contacts on whom this person was named in a note at which they have not looked, with their names. */
export const mentions = signal(/** @type {ReadonlyMap<string, string | null>} */ (new Map()));
/** Whether there are more than one page of each. */
const more = signal({ unread: false, waiting: false, tickets: false });
/** @type {Map<string, Last>} */
let lasts = new Map();
/** What is older than this was there when the page asked. */
let askedOn = "";
/** What takes in again what was told while an answer was on its way, which may not know of it. @type {((isAgain: boolean) => unknown)[] | null} */
let meanwhile = null;
/** @type {Set<(message: Message) => void>} */
const listeners = new Set();

export const counts = computed(() => ({
  unread: { value: unread.value.size, isMore: more.value.unread },
  waiting: { value: waiting.value.size, isMore: more.value.waiting },
  mine: { value: [...tickets.value.values()].filter(({ assignee }) => assignee === account.value?.user.email).length, isMore: more.value.tickets },
  overdue: { value: [...tickets.value.values()].filter(({ due }) => due && Date.parse(due) < now.value).length, isMore: more.value.tickets },
}));

/** @param {{value: number, isMore: boolean}} count */
export const countText = ({ value, isMore }) => `${number(value)}${isMore ? "+" : ""}`;

/** The assignees of the open tickets of a contact; one that nobody has is empty. @param {string} contact */
export const assigneesOf = (contact) => [...tickets.value.values()].filter((ticket) => ticket.contact === contact).map(({ assignee }) => assignee);

/** Calls back at each message that comes in and waits for a person. @param {(message: Message) => void} listener */
export const onArrival = (listener) => void listeners.add(listener);

/** Whether a message waits for a person: nobody has archived it, and no flow has taken it. @param {Message} message */
const waits = ({ direction, status, flow, visibility, archived }) => direction === "in" && status === "handled" && !flow && visibility === "visible" && !archived;

/** Keeps the counts while somebody is signed in. */
export function startCounts() {
  let next = 0;
  let timer = 0;
  let isAsked = false;
  /** What was told, and is not kept yet. @type {((isAgain: boolean) => unknown)[]} */
  const told = [];
  const ask = async () => {
    isAsked = false;
    keepAll();
    next = Date.now() + APART_MS;
    await load().catch(() => {});
    timer = 0;
    if (isAsked) askSoon();
  };
  // One answer is waited for at a time: the older one could come last.
  const askSoon = () => {
    if (phase.value !== "in" || !may("list_conversations")) return;
    isAsked = true;
    timer ||= window.setTimeout(ask, Math.max(100, next - Date.now()));
  };
  onChange((change) => {
    if (change.kind === "reset") askSoon();
    const keep = keeperOf(change);
    if (!keep) return;
    meanwhile?.push(keep);
    if (!told.length) void shown().then(keepAll);
    told.push(keep);
    // An answer that comes takes in again what was told meanwhile.
    if (meanwhile) keepAll();
  });
  const keepAll = () => batch(() => told.splice(0).forEach((keep) => keep(false) === false && askSoon()));
  const seen = () => !document.hidden && askSoon();
  document.addEventListener("visibilitychange", seen);
  setInterval(seen, SELDOM_MS);
  effect(() => {
    if (phase.value === "in") return askSoon();
    told.length = 0;
    forget();
  });
}

function forget() {
  lasts = new Map();
  batch(() => {
    unread.value = waiting.value = new Set();
    mentions.value = new Map();
    tickets.value = new Map();
  });
}

/** What takes a change into account, which returns false if it does not say enough. @param {import("./contract.js").Change} change @returns {((isAgain: boolean) => unknown) | null} */
function keeperOf(change) {
  if (change.kind === "ticket") return () => keepTicket(change.record);
  if (change.kind === "deletion") return () => forgetGone(change.record.uuid ?? "");
  if (change.kind === "participant") return () => keepMention(change.record);
  if (change.kind === "mark") return () => keepMark(change.record.uuid, change.record.unread);
  if (change.kind === "conversation") return () => keepPlace(change.record);
  return change.kind === "message" ? (isAgain) => keepMessage(change.record, isAgain) : null;
}

async function load() {
  meanwhile = [];
  const whose = account.value?.user.uuid;
  let newestOn = askedOn;
  try {
    const [newest, notRead, toAnswer, open, named] = await Promise.all([
      get("conversations", { page_size: 1, fields: ["last_on"] }),
      get("conversations", { unread: true, fields: ["uuid"] }),
      get("conversations", { folder: "inbox", fields: ["uuid"] }),
      get("tickets", { status: "open", fields: ["uuid", "contact", "assignee", "reply_due"] }),
      get("participants", { user: account.value?.user.email, mentioned: true, fields: ["contact"] }),
    ]);
    if (phase.value !== "in" || account.value?.user.uuid !== whose) return;
    lasts = new Map();
    newestOn = newest.results[0]?.last_on ?? "";
    batch(() => {
      unread.value = new Set(notRead.results.map(({ uuid }) => uuid));
      waiting.value = new Set(toAnswer.results.map(({ uuid }) => uuid));
      tickets.value = new Map(open.results.map((ticket) => [ticket.uuid, openOf(ticket)]));
      mentions.value = new Map(named.results.flatMap(({ contact }) => (contact ? [[contact.uuid, contact.name]] : [])));
      more.value = { unread: !!cursorOf(notRead.next), waiting: !!cursorOf(toAnswer.next), tickets: !!cursorOf(open.next) };
    });
  } finally {
    const told = meanwhile ?? [];
    meanwhile = null;
    for (const keep of told) keep(true);
    askedOn = newestOn;
  }
}

/** @param {Pick<import("./contract.js").Records["ticket"], "contact" | "assignee" | "reply_due">} ticket @returns {OpenTicket} */
const openOf = ({ contact, assignee, reply_due: due }) => ({ contact: contact.uuid, assignee: assignee?.email ?? "", due });

/** @param {import("./contract.js").Records["ticket"]} ticket */
function keepTicket(ticket) {
  const { uuid, status } = ticket;
  const changed = new Map(tickets.value);
  if (status === "open") changed.set(uuid, openOf(ticket));
  else changed.delete(uuid);
  tickets.value = changed;
}

/** A ticket is gone, or a contact with all that waits of it. @param {string} uuid */
function forgetGone(uuid) {
  unread.value = changedSet(unread.value, uuid, false);
  waiting.value = changedSet(waiting.value, uuid, false);
  if (mentions.value.has(uuid)) mentions.value = new Map([...mentions.value].filter(([contact]) => contact !== uuid));
  if (tickets.value.has(uuid)) tickets.value = new Map([...tickets.value].filter(([ticket]) => ticket !== uuid));
}

/** @param {import("./contract.js").Records["participant"]} participant */
function keepMention({ user, contact, mentioned_on: on }) {
  if (!contact || user.email !== account.value?.user.email || mentions.value.has(contact.uuid) === !!on) return;
  const changed = new Map(mentions.value);
  if (on) changed.set(contact.uuid, contact.name);
  else changed.delete(contact.uuid);
  mentions.value = changed;
}

/** @param {string} contact @param {boolean} isUnread */
const keepMark = (contact, isUnread) => (unread.value = changedSet(unread.value, contact, isUnread));

/** A conversation was put away, or is back. @param {import("./contract.js").Records["conversation"]} conversation */
function keepPlace({ uuid, folder, unread_count: count }) {
  waiting.value = changedSet(waiting.value, uuid, folder === "inbox");
  keepMark(uuid, count > 0);
}

/** Takes a message into account, of which nobody is told again. Returns whether it says enough. @param {Message} message @param {boolean} isAgain */
function keepMessage(message, isAgain) {
  const contact = message.contact?.uuid;
  if (!contact) return true;
  const { uuid, created_on: on } = message;
  const last = lasts.get(contact);
  const isWaiting = waits(message);
  // Something happened with an older message: what was sent counts nowhere, and nobody knows what the others were before.
  if (last ? on < last.on : on <= askedOn) return message.direction === "out";
  lasts.set(contact, { uuid, on, isWaiting });
  if (last?.uuid === uuid && last.isWaiting === isWaiting) return true;
  waiting.value = changedSet(waiting.value, contact, isWaiting);
  if (last?.uuid === uuid && last.isWaiting) return false;
  if (!isWaiting) return true;
  unread.value = changedSet(unread.value, contact, true);
  if (!isAgain) for (const listener of listeners) listener(message);
  return true;
}

/** @param {ReadonlySet<string>} set @param {string} member @param {boolean} isIn */
function changedSet(set, member, isIn) {
  if (set.has(member) === isIn) return set;
  const changed = new Set(set);
  if (isIn) changed.add(member);
  else changed.delete(member);
  return changed;
}
