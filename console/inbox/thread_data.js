/** What happened in a conversation: messages, and calls and flows between them. */

import { cursorOf, get } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { useChanges } from "../shared/changes.js";
import { onChange } from "../shared/live.js";
import { may } from "../shared/session.js";
import { useEffect, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"messages">} Message
 * @typedef {{key: string, time: string, kind: "call" | "flow", word: string, name?: string | null}} Event
 * @typedef {{messages: Message[], events: Event[], loading: boolean, problem: string, hasOlder: boolean,
 *   older: () => void, refresh: () => Promise<void>}} Thread
 */

/** @param {string} contact @returns {Thread} */
export function useThread(contact) {
  const [messages, setMessages] = useState(/** @type {Message[]} */ ([]));
  const [events, setEvents] = useState(/** @type {Event[]} */ ([]));
  const [cursor, setCursor] = useState(/** @type {string | null} */ (null));
  const [loading, setLoading] = useState(true);
  const [problem, setProblem] = useState("");
  const running = useRef(/** @type {Promise<void> | null} */ (null));

  const load = async (/** @type {string | null} */ from) => {
    try {
      const page = await get("messages", { contact, cursor: from ?? undefined });
      setMessages((old) => merged(old, page.results));
      if (from !== null || cursor === null) setCursor(cursorOf(page.next));
      setProblem("");
    } catch (error) {
      setProblem(explain(error));
    }
    setLoading(false);
  };
  const refresh = async () => {
    running.current ??= load(null).finally(() => (running.current = null));
    await running.current;
  };
  useEffect(() => {
    refresh();
    loadEvents(contact).then(setEvents, () => {});
    return onChange(({ kind, record }) => {
      if (kind === "message" && record.contact?.uuid === contact) setMessages((old) => merged(old, [record]));
    });
  }, [contact]);
  useChanges(["run"], () => (refresh(), loadEvents(contact).then(setEvents, () => {})), (run) => run.contact?.uuid === contact);
  return { messages, events, loading, problem, hasOlder: cursor !== null, older: () => load(cursor), refresh };
}

/** Both lists as one, oldest first, with the newer state of each message. @param {Message[]} old @param {Message[]} page */
function merged(old, page) {
  const byId = new Map([...old, ...page].map((message) => [message.id, message]));
  return [...byId.values()].sort((a, b) => (a.created_on < b.created_on ? -1 : a.created_on > b.created_on ? 1 : a.id - b.id));
}

/** @param {string} contact @returns {Promise<Event[]>} */
async function loadEvents(contact) {
  if (!may("list_messages")) return [];
  const [calls, runs] = await Promise.all([get("channel_events", { contact }), get("runs", { contact })]);
  return [
    ...calls.results.map((call) => ({ key: `call-${call.id}`, time: call.occurred_on, kind: /** @type {const} */ ("call"), word: call.type })),
    ...runs.results.flatMap((run) => flowEvents(run)),
  ];
}

/** @param {import("../shared/contract.js").Listed<"runs">} run @returns {Event[]} */
function flowEvents(run) {
  const name = run.flow?.name;
  const began = { key: `run-${run.uuid}`, time: run.created_on, kind: /** @type {const} */ ("flow"), word: "started", name };
  if (!run.exited_on) return [began];
  return [began, { ...began, key: `${began.key}-end`, time: run.exited_on, word: run.exit_type ?? "completed" }];
}
