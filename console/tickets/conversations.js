/** The conversations of the tickets that are shown, kept by what the stream tells. */

import { withTold } from "../inbox/live_rows.js";
import { get } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { PART, partsOf } from "../shared/parts.js";
import { useEffect, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../inbox/conversation_list.js").Conversation} Conversation */

/**
 * The conversation of each of these contacts, by UUID, as soon as it is known; null for one without messages.
 * @param {string[]} contacts
 * @returns {Map<string, Conversation | null>}
 */
export function useConversations(contacts) {
  const [known, setKnown] = useState(/** @type {Map<string, Conversation | null>} */ (new Map()));
  const present = useRef({ contacts, known });
  present.current = { contacts, known };
  // One after the other: an answer that was asked for earlier would take the place of a newer one. Without an answer the rows
  // say less: the list is of use all the same, and the next change asks again.
  const turn = useRef(Promise.resolve());
  const ask = (/** @type {string[]} */ uuids) => (turn.current = turn.current.then(() => load(uuids)).catch(() => {}));
  const load = async (/** @type {string[]} */ uuids) => {
    for (const { records } of partsOf(uuids)) {
      const { results } = await get("conversations", { contacts: records, page_size: PART });
      setKnown((old) => new Map([...old, ...records.map(none), ...results.map(pair)]));
    }
  };
  const unknown = [...new Set(contacts)].filter((uuid) => !known.has(uuid)).join();
  useEffect(() => {
    if (unknown) void ask(unknown.split(","));
  }, [unknown]);
  useChanges(["message", "ticket", "conversation", "mark"], async (records) => {
    const shown = new Set(present.current.contacts);
    const rows = new Map(present.current.known);
    const unclear = records ? new Set() : shown;
    /** What may have changed unseen is asked for when it is shown again. */
    const gone = new Set(records ? [] : [...rows.keys()].filter((uuid) => !shown.has(uuid)));
    for (const told of records ?? []) {
      const uuid = told.contact?.uuid ?? told.uuid;
      const row = rows.get(uuid);
      const after = row && withTold(row, told);
      if (after) rows.set(uuid, after);
      else (shown.has(uuid) ? unclear : gone).add(uuid);
    }
    const changed = [...rows].filter(([uuid, row]) => row !== present.current.known.get(uuid));
    if (changed.length + gone.size > 0) setKnown((old) => new Map([...old, ...changed].filter(([uuid]) => !gone.has(uuid))));
    await ask([...unclear]);
  });
  return known;
}

/** @param {string} uuid @returns {[string, null]} */
const none = (uuid) => [uuid, null];

/** @param {Conversation} row @returns {[string, Conversation]} */
const pair = (row) => [row.uuid, row];
