/** What happened in a conversation: messages, and everything else that happened between them. */

import { cursorOf, get } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { onChange } from "../shared/live.js";
import { useEffect, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"messages">} Message
 * @typedef {import("../shared/contract.js").Listed<"contact_timeline">} Item
 * @typedef {{items: Item[], messages: Message[], loading: boolean, problem: string, hasOlder: boolean,
 *   older: () => void, refresh: () => Promise<void>, add: (message: Message | null) => void}} Thread
 */

/** How many pages are read at most to come to a message that somebody looks for. */
const MOST_PAGES = 20;

/**
 * @param {string} contact
 * @param {string} [since] the time of a message that somebody looks for: everything after it is loaded
 * @returns {Thread} the items are in the order of time, the newest last
 */
export function useThread(contact, since = "") {
  const [items, setItems] = useState(/** @type {Item[]} */ ([]));
  const [cursor, setCursor] = useState(/** @type {string | null | undefined} */ (undefined));
  const [loading, setLoading] = useState(true);
  const [problem, setProblem] = useState("");

  const load = async (/** @type {string | undefined} */ from) => {
    try {
      const page = await get("contact_timeline", { contact, cursor: from });
      setItems((old) => merged(old, page.results));
      const next = cursorOf(page.next);
      if (from !== undefined || cursor === undefined) setCursor(next);
      setProblem("");
      return { next, oldest: page.results.at(-1)?.time ?? "" };
    } catch (error) {
      setProblem(explain(error));
    } finally {
      setLoading(false);
    }
  };
  const add = (/** @type {Message | null} */ message) => {
    if (message) setItems((old) => merged(old, [{ type: "message", time: message.created_on, message }]));
  };
  const isLost = useRef(false);
  const refresh = useInTurn(async () => {
    const isWhole = isLost.current;
    isLost.current = false;
    let page = await load(undefined);
    for (let pages = 1; isWhole && page?.next && page.oldest > items[0]?.time && pages < MOST_PAGES; pages++) page = await load(page.next);
    isLost.current ||= isWhole && !page;
  });
  useEffect(() => {
    let isLeft = false;
    const goBack = async () => {
      let page = await load(cursor ?? undefined);
      for (let pages = 1; page?.next && page.oldest > since && pages < MOST_PAGES && !isLeft; pages++) page = await load(page.next);
    };
    if (since && (items.length === 0 || since < items[0].time) && cursor !== null) void goBack();
    return () => {
      isLeft = true;
    };
  }, [contact, since]);
  useEffect(() => {
    if (!since) void refresh();
    return onChange((change) => {
      if (change.kind !== "message" || change.record.contact?.uuid !== contact) return;
      add(change.record);
      if (change.record.status === "failed") void refresh();
    });
  }, [contact]);
  // What was deleted stays known: an answer that was made before would bring it back.
  const shown = items.filter(({ message }) => message?.visibility !== "deleted");
  const messages = shown.flatMap(({ message }) => (message ? [message] : []));
  const channel = messages.findLast((message) => message.channel)?.channel?.uuid;
  // Whatever is shown may have changed, and more may have come than a page has.
  useChanges(["run", "ticket"], (told) => ((isLost.current ||= !told), refresh()), (record) => record.contact?.uuid === contact);
  // It tells of notes, too.
  useChanges(["conversation"], (told) => told && refresh(), (record) => record.uuid === contact);
  // The stream has no calls, but a channel changes when its phone has reported some.
  useChanges(["channel"], (told) => told && refresh(), (record) => !channel || record.uuid === channel);
  return { items: shown, messages, loading, problem, hasOlder: !!cursor, older: () => void load(cursor ?? undefined), refresh, add };
}

/** What distinguishes an item. @param {Item} item */
export function keyOf({ type, time, message, channel_event, run, ticket_event, note }) {
  const of = message?.uuid ?? channel_event?.id ?? run?.uuid ?? note?.uuid ?? `${ticket_event?.ticket}${ticket_event?.type}${time}`;
  return `${type}-${of}`;
}

/** Both lists as one, oldest first, with the newer state of each item. @param {Item[]} old @param {Item[]} page */
function merged(old, page) {
  const byKey = new Map(old.map((item) => [keyOf(item), item]));
  for (const item of page) {
    // The stream may have told of a message what happened after this answer was made, and the page what it deleted since.
    const known = byKey.get(keyOf(item))?.message;
    const isNews = !known || !item.message || known.modified_on < item.message.modified_on;
    if (isNews || (known.modified_on === item.message?.modified_on && known.visibility !== "deleted")) byKey.set(keyOf(item), item);
  }
  return [...byKey.values()].sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : (a.message?.id ?? 0) - (b.message?.id ?? 0)));
}
