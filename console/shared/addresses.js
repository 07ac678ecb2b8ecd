/** The numbers of contacts whose name nobody knows, for records that say only the UUID and the name of a contact. */

import { get } from "./api.js";
import { useEffect, useState } from "./ui.js";

/** A query may be 1,000 characters long. */
const MOST_IN_A_QUERY = 20;

/**
 * The first URN of each contact without a name, by UUID, as soon as it is known; empty for one that has none.
 * @param {{uuid: string, name: string | null}[]} contacts
 * @returns {Map<string, string>}
 */
export function useAddresses(contacts) {
  const [known, setKnown] = useState(/** @type {Map<string, string>} */ (new Map()));
  const unknown = new Set(contacts.filter(({ uuid, name }) => !name && !known.has(uuid)).map(({ uuid }) => uuid));
  const asked = [...unknown].slice(0, MOST_IN_A_QUERY).join(" ");
  useEffect(() => {
    if (!asked) return;
    const uuids = asked.split(" ");
    // A query that does not name the status finds active contacts only.
    const query = `(${uuids.map((uuid) => `uuid = ${uuid}`).join(" OR ")}) AND (status = active OR status != active)`;
    // Without an answer they stay without a name: the list is of use all the same.
    get("contacts", { query }).then(
      ({ results }) =>
        setKnown((old) => new Map([...old, ...uuids.map(none), ...results.map(({ uuid, urns }) => pair(uuid, urns[0]))])),
      () => {},
    );
  }, [asked]);
  return known;
}

/** @param {string} uuid @param {string} [urn] @returns {[string, string]} */
const pair = (uuid, urn) => [uuid, urn ?? ""];

/** @param {string} uuid */
const none = (uuid) => pair(uuid);
