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
  const ask = async (/** @type {string[]} */ uuids) => {
    for (const { records } of partsOf(uuids)) {
      const { results } = await get("conversations", { contacts: records, page_size: PART });
      setKnown((old) => new Map([...old, ...records.map(none), ...results.map(pair)]));
    }
  };
  const unknown = [...new Set(contacts)].filter((uuid) => !known.has(uuid)).join();
  useEffect(() => {
    // Without an answer the rows say less: the list is of use all the same, and the next change asks again.
    if (unknown) ask(unknown.split(",")).catch(() => {});
  }, [unknown]);
  useChanges(["message", "ticket", "conversation", "mark"], async (records) => {
    const shown = new Set(present.current.contacts);
    const rows = new Map(present.current.known);
    const unclear = records ? new Set() : shown;
    for (const told of records ?? []) {
      const uuid = told.contact?.uuid ?? told.uuid;
      const row = rows.get(uuid);
      const after = row && withTold(row, told);
      if (after) rows.set(uuid, after);
      else if (shown.has(uuid)) unclear.add(uuid);
    }
    const changed = [...rows].filter(([uuid, row]) => row !== present.current.known.get(uuid));
    if (changed.length > 0) setKnown((old) => new Map([...old, ...changed]));
    await ask([...unclear]).catch(() => {});
  });
  return known;
}

/** @param {string} uuid @returns {[string, null]} */
const none = (uuid) => [uuid, null];

/** @param {Conversation} row @returns {[string, Conversation]} */
const pair = (row) => [row.uuid, row];
