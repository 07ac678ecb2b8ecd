/** Lists of the API, a page at a time by its cursors. */

import { cursorOf, get, Refused } from "./api.js";
import { explain } from "./explain.js";
import { onChange } from "./live.js";
import { signal, useEffect, useRef, useState } from "./ui.js";

/** @import { Filters, Listed, Readable } from "./contract.js" */

/**
 * @template I
 * @typedef {{items: I[], loading: boolean, problem: string, hasMore: boolean, more: () => void, reload: () => void, refresh: () => void,
 *   change: (edit: (items: I[]) => I[]) => void}} List
 */

/** What the stream told to be gone, for good: an answer that was made before may come later. @type {Set<string>} */
const gone = new Set();
onChange((change) => void (change.kind === "deletion" && change.record.uuid && gone.add(change.record.uuid)));

/** Whether a record is there still, and the contact whose it is. @param {any} item */
const isThere = ({ uuid, contact }) => !gone.has(uuid) && !gone.has(contact?.uuid);

/**
 * Calls back with a function that takes out of a list what the stream tells to be gone; the same list if nothing of it is.
 * @param {string | null} name what has only a key may be made again, and is known by the `name` of the list
 * @param {(without: <I>(items: I[]) => I[]) => void} take
 */
const useGone = (name, take) =>
  useEffect(() => onChange((change) => {
    if (change.kind !== "deletion") return;
    const { type, key } = change.record;
    const stays = (/** @type {any} */ item) => isThere(item) && !(key && `${type}s` === name && item.key === key);
    take((items) => (items.every(stays) ? items : items.filter(stays)));
  }), [name]);

/**
 * The records of a list that match the filters, with a function that loads the next page.
 * @template {Readable} N
 * @param {N} name
 * @param {Filters<N> | null} query null waits
 * @returns {List<Listed<N>>}
 */
export function useList(name, query) {
  return usePages(
    query && JSON.stringify([name, query]),
    async (cursor, stop) => {
      const page = /** @type {any} */ (
        await get(name, /** @type {any} */ ({ ...query, cursor: cursor ?? undefined }), stop)
      );
      return { items: page.results, cursor: cursorOf(page.next) };
    },
    name,
  );
}

/**
 * The same for pages that are loaded in another way; `key` says which list it is, null waits.
 * @template I
 * @param {string | null} key
 * @param {(cursor: string | null, stop: AbortSignal) => Promise<{items: I[], cursor: string | null}>} ask
 * @param {string | null} [name] the list of the API
 * @returns {List<I>}
 */
export function usePages(key, ask, name = null) {
  const [state, setState] = useState({ key: "", items: /** @type {I[]} */ ([]), cursor: /** @type {string | null} */ (null) });
  const [loading, setLoading] = useState(true);
  const [problem, setProblem] = useState("");
  const present = useRef(new AbortController());
  const load = async (/** @type {string | null} */ cursor, /** @type {AbortSignal} */ stop) => {
    const page = await ask(cursor, stop);
    return { ...page, items: page.items.filter(isThere) };
  };
  useGone(name, (without) => setState((old) => {
    const items = without(old.items);
    return items === old.items ? old : { ...old, items };
  }));

  const fetchPage = async (/** @type {string | null} */ cursor) => {
    if (key === null) return;
    present.current.abort();
    const stop = (present.current = new AbortController());
    setLoading(true);
    try {
      const page = await load(cursor, stop.signal);
      if (stop.signal.aborted) return;
      setState((old) => ({ key, items: cursor ? [...old.items, ...notIn(old.items, page.items)] : page.items, cursor: page.cursor }));
      setProblem("");
    } catch (error) {
      if (stop.signal.aborted) return;
      setProblem(explain(error));
    }
    setLoading(false);
  };

  /** Takes over the newest page without losing those that were loaded after it. */
  const refresh = async () => {
    if (key === null) return;
    try {
      const page = await load(null, present.current.signal);
      if (present.current.signal.aborted) return;
      setState((old) => (old.key === key ? { ...old, ...renewed(old, page) } : old));
      setProblem("");
    } catch {
      // The next change or the next page tells.
    }
  };

  useEffect(() => {
    fetchPage(null);
    return () => present.current.abort();
  }, [key]);

  const isPresent = state.key === key;
  return {
    items: isPresent ? state.items : [],
    loading,
    problem,
    hasMore: isPresent && state.cursor !== null,
    more: () => !loading && state.cursor && fetchPage(state.cursor),
    reload: () => void fetchPage(null),
    refresh,
    change: (edit) => setState((old) => ({ ...old, items: edit(old.items) })),
  };
}

/** @param {any} item */
const idOf = (item) => item.uuid ?? item.id;

/**
 * What a form offers: the records of a list, and before them those chosen already that it does not have. A list may be on its way,
 * cut short, or have no place for them any more: a form that is saved meanwhile keeps what it was opened with.
 * @template I
 * @param {I[]} list
 * @param {readonly any[]} chosen empty ones are nothing
 * @param {string} [id] what tells them apart
 * @returns {I[]}
 */
export function withChosen(list, chosen, id = "uuid") {
  const known = new Set(list.map((each) => /** @type {any} */ (each)[id]));
  return [...chosen.filter((each) => each?.[id] && !known.has(each[id])), ...list];
}

/** What of a page is not known yet: a record may have moved up while the page was on its way. @template I @param {I[]} known @param {I[]} page */
function notIn(known, page) {
  const ids = new Set(known.map(idOf));
  return page.filter((item) => idOf(item) === undefined || !ids.has(idOf(item)));
}

/**
 * The newest page before what is known of older ones. If the list had only one page, the new one is all there is.
 * @template I
 * @param {{items: I[], cursor: string | null}} old
 * @param {{items: I[], cursor: string | null}} page
 */
function renewed(old, page) {
  if (page.cursor === null || old.items.length <= page.items.length) return page;
  const fresh = new Set(page.items.map(idOf));
  return { items: [...page.items, ...old.items.filter((item) => !fresh.has(idOf(item)))], cursor: old.cursor };
}

/** The short lists that are missed: what went wrong, and what asks for each again. @type {import("./ui.js").Signal<{text: string, load: () => void}[]>} */
export const missed = signal([]);

/**
 * All records of a short list, such as labels or topics, up to four pages; kept for the page's life. One that cannot be loaded is
 * among those that are `missed`; whoever may not see it is offered nothing.
 * @template {Readable} N
 * @param {N | null} name null asks for nothing
 * @param {unknown} [state] when it changes, the list is asked for again
 * @returns {Listed<N>[]}
 */
export const useAll = (name, state) => useWhole(name, state) ?? NOTHING;

/** The same each time: what depends on it is not done again. @type {any[]} */
const NOTHING = [];

/**
 * The same, or null until it is there.
 * @template {Readable} N
 * @param {N | null} name
 * @param {unknown} [state]
 * @returns {Listed<N>[] | null}
 */
export function useWhole(name, state) {
  const [items, setItems] = useState(/** @type {Listed<N>[] | null} */ (null));
  const isKnown = useRef(false);
  useGone(name, (without) => setItems((old) => old && without(old)));
  useEffect(() => {
    if (!name) return;
    let isWanted = true;
    const mine = { text: "", load: () => void loadAll(name).then(known, lost) };
    const miss = (/** @type {string} */ text) => {
      if (text || missed.value.includes(mine)) missed.value = [...missed.value.filter((each) => each !== mine), ...(text ? [Object.assign(mine, { text })] : [])];
    };
    const known = (/** @type {Listed<N>[]} */ found) => {
      miss("");
      isKnown.current = true;
      setItems(found.filter(isThere));
    };
    // What is there already is of use until the next change asks again.
    const lost = (/** @type {unknown} */ error) => isWanted && !isKnown.current && !(error instanceof Refused && error.status === 403) && miss(explain(error));
    mine.load();
    return () => {
      isWanted = false;
      miss("");
    };
  }, [name, state]);
  return items;
}

/**
 * @template {Readable} N
 * @param {N} name
 * @param {Filters<N>} [query]
 * @returns {Promise<Listed<N>[]>}
 */
export async function loadAll(name, query) {
  /** @type {Listed<N>[]} */
  const items = [];
  let cursor = null;
  for (let pages = 0; pages < 4; pages++) {
    const page = /** @type {any} */ (await get(name, /** @type {any} */ ({ ...query, cursor: cursor ?? undefined })));
    items.push(...page.results);
    cursor = cursorOf(page.next);
    if (!cursor) break;
  }
  return items;
}
