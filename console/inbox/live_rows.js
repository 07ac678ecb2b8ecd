/** Keeps the rows of the inbox by what the stream tells. Of a conversation of which it does not tell enough, the one row is
 *  asked for. */

import { get } from "../shared/api.js";
import { LIST_APART_MS, useChanges } from "../shared/changes.js";
import { useEffect, useRef } from "../shared/ui.js";

/**
 * @typedef {import("./conversation_list.js").Conversation} Conversation
 * @typedef {import("../shared/contract.js").Filters<"conversations">} Filters
 * @typedef {import("../shared/contract.js").Records} Records
 * @typedef {Records["message"] | Records["ticket"] | Records["conversation"] | Records["mark"]} Told
 */

/** More conversations than these seldom change at once, which nothing tells enough of; then the list is asked for. */
const MOST_ROWS = 20;
const SNOOZED = "snoozed";
/** What the API counts. */
const MOST_UNREAD = 100;
/** By which of its filters a row tells whether it is in the list. */
const PLAIN_FILTERS = ["folder", "unread", "assignee"];

/** The folder in which the service has a message, by its rule. @returns {Conversation["folder"]} @param {Records["message"]} message */
function folderOf({ direction, visibility, status, flow }) {
  if (direction === "in") {
    if (status !== "handled") return null;
    return visibility === "archived" ? "archived" : visibility !== "visible" ? null : flow ? "flows" : "inbox";
  }
  if (visibility !== "visible") return null;
  return status === "failed" ? "failed" : status === "queued" || status === "errored" ? "outbox" : "sent";
}

/**
 * The row after a message, or null if the message does not say enough. @param {Conversation} row @param {Records["message"]} message
 * @returns {Conversation | null}
 */
function withMessage(row, message) {
  const last = row.last_message;
  const isSame = last.uuid === message.uuid;
  const isOut = message.direction === "out";
  if (!isSame && message.created_on <= row.last_on) return isOut ? row : null;
  if (message.visibility === "deleted") return null;
  const [before, now] = [isSame ? folderOf(last) : null, folderOf(message)];
  // Whoever archives, restores or labels does so with messages that were counted already.
  if (isSame && !isOut && (before ?? now) !== now) return null;
  if (isSame && !sameLabels(last, message)) return null;
  const came = now === "inbox" && before === null;
  const unread = came ? Math.min(MOST_UNREAD, row.unread_count + 1) : row.unread_count;
  // What is put away stays so unless somebody writes; what came back stays until another message is the last.
  const stays = row.folder === SNOOZED ? !came : isSame && !!row.snoozed_until;
  const placed = stays ? {} : { folder: now, snoozed_until: null, snoozed_by: null };
  return { ...row, ...placed, contact: message.contact ?? row.contact, last_message: message, last_on: message.created_on, unread_count: unread };
}

/** @param {Records["message"]} one @param {Records["message"]} other */
const sameLabels = (one, other) => one.labels.map(({ uuid }) => uuid).join() === other.labels.map(({ uuid }) => uuid).join();

/** @param {Conversation} row @param {Records["ticket"]} ticket @returns {Conversation} */
function withTicket(row, { uuid, topic, assignee, status, reply_due }) {
  if (status === "open") return { ...row, ticket: { uuid, topic, assignee, reply_due }, has_open_ticket: true };
  return row.ticket?.uuid === uuid ? { ...row, ticket: null, has_open_ticket: false } : row;
}

/** @param {Conversation} row @param {Records["conversation"]} told @returns {Conversation} */
const withPlace = (row, { folder, unread_count, snoozed_until, snoozed_by }) => ({ ...row, folder, unread_count, snoozed_until, snoozed_by });

/** The row after something that was told, or null if it has to be asked for. @param {Conversation} row @param {Told} told */
export function withTold(row, told) {
  if ("direction" in told) return withMessage(row, told);
  if ("topic" in told) return withTicket(row, told);
  if ("folder" in told) return withPlace(row, told);
  return { ...row, unread_count: told.unread ? Math.max(1, row.unread_count) : 0 };
}

/** Whether a row belongs to a list, as far as a row can tell. @param {Conversation} row @param {Filters} filters */
function belongs({ folder: place, unread_count: unread, ticket }, { folder, unread: isUnread, assignee }) {
  if (folder && place !== folder) return false;
  if (isUnread && unread === 0) return false;
  return !assignee || ticket?.assignee?.email === assignee;
}

/** Whether a conversation that is not in a list can belong to it after this. @param {Told} told @param {Filters} filters
 * @param {boolean} hasMore whether it may stand on a page that is not loaded */
function mayEnter(told, { folder, unread, assignee }, hasMore) {
  if ("direction" in told) return (!assignee || hasMore) && (unread ? folderOf(told) === "inbox" : !folder || folderOf(told) === folder);
  if ("folder" in told) return (!assignee || hasMore) && (unread ? told.unread_count > 0 : !folder || told.folder === folder);
  if ("topic" in told) return !!assignee && told.status === "open" && told.assignee?.email === assignee;
  return !!unread && told.unread;
}

/**
 * @param {import("../shared/lists.js").List<Conversation>} list
 * @param {Filters} filters
 */
export function useLiveRows(list, filters) {
  const present = useRef({ list, filters });
  present.current = { list, filters };
  /** What was told while a page was on its way. */
  const missed = useRef(/** @type {Told[]} */ ([]));
  useEffect(() => {
    // The page that has come may have been made before what was told meanwhile.
    if (list.loading || missed.current.length === 0) return;
    void list.refresh(missed.current);
    missed.current = [];
  }, [list.loading]);
  useChanges(["message", "ticket", "conversation", "mark", "row"], async (records) => {
    if (!records) return list.refresh();
    const { list: shown, filters: asked } = present.current;
    if (shown.loading) missed.current = [...missed.current, ...records];
    const rows = new Map(shown.items.map((row) => [row.uuid, row]));
    /** @type {Set<string>} */
    const unknown = new Set();
    /** @type {Map<string, Conversation>} */
    const fresh = new Map();
    const { told, whole } = splitChanges(records, asked);
    const oldest = shown.hasMore ? (shown.items.at(-1)?.last_on ?? "") : "";
    for (const each of told) {
      const contact = each.contact?.uuid ?? each.uuid;
      const row = rows.get(contact);
      const after = row && withTold(row, each);
      if (after) rows.set(contact, after);
      else if (row || (mayEnter(each, asked, shown.hasMore) && !("created_on" in each && each.created_on < oldest))) unknown.add(contact);
    }
    for (const [contact, row] of whole) if (unknown.delete(contact)) fresh.set(contact, row);
    if (unknown.size > MOST_ROWS) return shown.refresh();
    const found = await askedRows(asked, unknown).catch(() => null);
    // Without an answer the next change tells; meanwhile somebody may have chosen another folder.
    if (!found || JSON.stringify(asked) !== JSON.stringify(present.current.filters)) return;
    present.current.list.change((items) => {
      const kept = items.filter(({ uuid }) => !unknown.has(uuid) && !fresh.has(uuid)).map((item) => rows.get(item.uuid) ?? item);
      const come = [...found, ...[...fresh.values()].filter((row) => belongs(row, asked))];
      const all = [...kept.filter((row) => belongs(row, asked)), ...come.filter(({ last_on }) => !shown.hasMore || last_on >= oldest)];
      return isSorted(all) ? all : all.sort((one, other) => (one.last_on > other.last_on ? -1 : one.last_on < other.last_on ? 1 : 0));
    });
  }, undefined, LIST_APART_MS);
}

/**
 * The changes without the rows, and by contact the conversations of which a message and then the row were told, and nothing after it.
 * @param {(Told | Records["row"])[]} records @param {Filters} filters
 */
function splitChanges(records, filters) {
  /** @type {Told[]} */
  const told = [];
  /** @type {Map<string, Records["message"]>} */
  const messages = new Map();
  /** @type {Map<string, Conversation>} */
  const whole = new Map();
  const isPlain = Object.entries(filters).every(([name, value]) => value === undefined || PLAIN_FILTERS.includes(name));
  for (const record of records) {
    if ("last_on" in record) {
      const message = messages.get(record.uuid);
      if (isPlain && message?.contact && message.created_on === record.last_on)
        whole.set(record.uuid, { ...record, contact: message.contact, last_message: message });
      continue;
    }
    told.push(record);
    const contact = record.contact?.uuid ?? record.uuid;
    whole.delete(contact);
    if ("direction" in record) messages.set(contact, record);
  }
  return { told, whole };
}

/**
 * The rows of conversations as the service has them, of those that belong to the list, by one request.
 * @param {Filters} asked @param {Set<string>} unknown UUIDs of their contacts
 * @returns {Promise<Conversation[]>}
 */
async function askedRows(asked, unknown) {
  return unknown.size === 0 ? [] : (await get("conversations", { ...asked, contacts: [...unknown] })).results;
}

/** @param {Conversation[]} rows */
const isSorted = (rows) => rows.every((row, at) => at === 0 || rows[at - 1].last_on >= row.last_on);
