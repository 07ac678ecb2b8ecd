/** By which channel a message to a contact goes, and what that channel takes now. */

import { get } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { useEffect, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Found<"contact_routes">} Route */

/** The longest time that a browser's timer takes. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * How a message to a contact goes now; asked again with each message of the contact and when what it says ends. Null if it is not known.
 * @param {string} contact @returns {Route | null}
 */
export function useRoute(contact) {
  const [route, setRoute] = useState(/** @type {Route | null} */ (null));
  const load = useInTurn(() => get("contact_routes", { contact }).then(setRoute, () => setRoute(null)));
  useEffect(() => void load(), [contact]);
  // Only what the contact writes changes it, and the stream tells of a message again when it is labelled or archived.
  const told = useRef(0);
  useChanges(["message"], load, ({ contact: its, direction, id }) => {
    const isNew = its?.uuid === contact && direction === "in" && id > told.current;
    if (isNew) told.current = id;
    return isNew;
  });
  const until = route?.takes_text_until;
  useEffect(() => {
    if (!until) return;
    const ends = setTimeout(load, Math.min(Math.max(0, Date.parse(until) - Date.now()) + 1000, LONGEST_MS));
    return () => clearTimeout(ends);
  }, [contact, until]);
  return route;
}
