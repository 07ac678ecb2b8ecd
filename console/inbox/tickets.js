/** The tickets of the contact of a conversation. */

import { get } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { useEffect, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"tickets">} Ticket */
/** @typedef {{shown: Ticket[], isOpen: boolean, open: Ticket | undefined, refresh: () => Promise<void>}} Tickets `shown` are the open one, of which a contact
 *  has at most one, or the one closed last, and the one that was chosen */

/** Among so many of the newest the open one is found. */
const ASKED = 20;

/**
 * @param {string} contact
 * @param {string} chosen the UUID of a ticket, or empty; it is shown in any case
 * @returns {Tickets}
 */
export function useTickets(contact, chosen) {
  const [all, setAll] = useState(/** @type {Ticket[]} */ ([]));
  const load = async () => {
    const { results } = await get("tickets", { contact, page_size: ASKED });
    const isThere = !chosen || results.some(({ uuid }) => uuid === chosen);
    setAll(isThere ? results : [...results, ...(await get("tickets", { uuid: chosen })).results]);
  };
  // Without an answer the next change tells.
  const refresh = useInTurn(() => load().catch(() => {}));
  useEffect(() => void refresh(), [contact, chosen]);
  useChanges(["ticket", "deletion"], refresh, (record) => record.contact?.uuid === contact || all.some(({ uuid }) => "deleted_on" in record && record.uuid === uuid));
  const open = all.find(({ status }) => status === "open");
  const first = open ?? all.find(({ uuid }) => uuid === chosen) ?? all[0];
  const shown = all.filter((ticket) => ticket === first || ticket.uuid === chosen);
  return { shown, isOpen: !!open, open, refresh };
}
