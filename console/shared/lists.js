/** Lists of the API, a page at a time by its cursors. */

import { cursorOf, get, Refused } from "./api.js";
import { useInTurn } from "./changes.js";
import { explain } from "./explain.js";
import { onChange } from "./live.js";
import { place } from "./router.js";
import { account } from "./session.js";
import { computed, signal, useEffect, useRef, useState } from "./ui.js";

/** @import { Filters, Listed, Readable } from "./contract.js" */

/**
 * @template I
 * @typedef {{items: I[], loading: boolean, problem: string, hasMore: boolean, more: () => void, reload: () => void, refresh: (told?: Told[] | null) => Promise<void>,
 *   change: (edit: (items: I[]) => I[]) => void}} List `refresh` takes over what may have changed, without losing what is shown: with the records that
 *   were `told` of the newest page, and of the others if one of them is there; without, of all that is loaded
 */

/** A record of which the stream told. @typedef {{uuid?: string | null, contact?: {uuid: string} | null}} Told */

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
  useEffect(() => onGone(name, take), [name]);

/** The same until the returned function is called. @type {(...of: Parameters<typeof useGone>) => () => void} */
const onGone = (name, take) =>
  onChange((change) => {
    if (change.kind !== "deletion") return;
    const { type, key } = change.record;
    const stays = (/** @type {any} */ item) => isThere(item) && !(key && `${type}s` === name && item.key === key);
    take((items) => (items.every(stays) ? items : items.filter(stays)));
  });

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

  /** What was told and is not taken over yet. @type {{current: Told[] | null}} */
  const told = useRef(/** @type {Told[] | null} */ ([]));
  const renew = useInTurn(async () => {
    const [{ signal: stop }, records] = [present.current, told.current];
    told.current = [];
    if (key === null) return;
    const known = state.key === key ? state.items : [];
    try {
      let page = await load(null, stop);
      const isWhole = isBeyond(known, page.items, records);
      while (isWhole && page.cursor !== null && page.items.length < known.length) {
        const next = await load(page.cursor, stop);
        page = { items: [...page.items, ...notIn(page.items, next.items)], cursor: next.cursor };
      }
      stop.throwIfAborted();
      setState((old) => (old.key === key ? { ...old, ...(isWhole ? page : renewed(old, page)) } : old));
      setProblem("");
    } catch {
      // The next change or the next page tells.
      told.current = joined(records, told.current);
    }
  });

  useEffect(() => {
    fetchPage(null);
    return () => present.current.abort();
  }, [key]);
  useEffect(() => {
    // A page that was asked for came between.
    if (!loading && told.current?.length !== 0) void renew();
  }, [loading]);

  const isPresent = state.key === key;
  return {
    items: isPresent ? state.items : [],
    loading,
    problem,
    hasMore: isPresent && state.cursor !== null,
    more: () => !loading && state.cursor && fetchPage(state.cursor),
    reload: () => void fetchPage(null),
    refresh: (records = null) => {
      told.current = joined(told.current, records);
      return renew();
    },
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

/** @param {Told[] | null} some @param {Told[] | null} others null is anything */
const joined = (some, others) => some && others && [...some, ...others];

/**
 * Whether something that was told may stand beyond the newest page.
 * @param {any[]} known @param {any[]} newest @param {Told[] | null} told
 */
function isBeyond(known, newest, told) {
  if (known.length <= newest.length) return false;
  const fresh = new Set(newest.map(idOf));
  const beyond = new Set(known.map(idOf).filter((id) => !fresh.has(id)));
  return !told || told.some(({ uuid, contact }) => beyond.has(uuid) || beyond.has(contact?.uuid));
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
    const [load, miss] = missing(() => void loadAll(name).then(known, lost));
    const known = (/** @type {Listed<N>[]} */ found) => {
      miss("");
      isKnown.current = true;
      setItems(found.filter(isThere));
    };
    // What is there already is of use until the next change asks again.
    const lost = (/** @type {unknown} */ error) => isWanted && !isKnown.current && !(error instanceof Refused && error.status === 403) && miss(explain(error));
    load();
    return () => {
      isWanted = false;
      miss("");
    };
  }, [name, state]);
  return items;
}

/** What loads a short list, and tells what went wrong, or by nothing that it is not missed. @param {() => void} load @returns {[() => void, (text: string) => void]} */
function missing(load) {
  const mine = { text: "", load };
  const miss = (/** @type {string} */ text) => {
    if (text || missed.value.includes(mine)) missed.value = [...missed.value.filter((each) => each !== mine), ...(text ? [Object.assign(mine, { text })] : [])];
  };
  return [load, miss];
}

/** How long a cached list counts as fresh. */
const FRESH_MS = 5 * 60_000;
/** The least time from one asking to the next when somebody comes to what offers it. */
const REVALIDATE_MS = 1000;

/**
 * A short list that all who show it share, with the time and the `state` with which it was asked for last.
 * @template {Readable} N
 * @typedef {{items: import("./ui.js").Signal<Listed<N>[] | null>, askedOn: number, state: unknown, ask: () => Promise<void>, renew: () => Promise<void>, shown: (by: number) => void}} Cached
 */

/** By person, workspace and name. @type {Map<string, Cached<any>>} */
const lists = new Map();

/** @template {Readable} N @param {N} name @returns {Cached<N>} */
function cachedList(name) {
  const key = [account.value?.workspace.uuid, account.value?.user.uuid, name].join();
  const cached = lists.get(key) ?? newCached(name);
  lists.set(key, cached);
  return cached;
}

/** @template {Readable} N @param {N} name @returns {Cached<N>} */
function newCached(name) {
  /** @type {Cached<N>["items"]} */
  const items = signal(null);
  let shownBy = 0;
  /** @type {Promise<void> | null} */
  let running = null;
  const [load, miss] = missing(() => void cached.ask());
  const known = (/** @type {Listed<N>[]} */ found) => {
    miss("");
    items.value = found.filter(isThere);
  };
  const lost = (/** @type {unknown} */ error) => {
    if (error instanceof Refused && error.status === 403) return;
    cached.askedOn = 0;
    if (shownBy > 0 && !items.value) miss(explain(error));
  };
  /** @type {Cached<N>} */
  const cached = {
    items,
    askedOn: 0,
    state: undefined,
    ask: () => {
      cached.askedOn = Date.now();
      return (running ??= loadAll(name).then(known, lost).finally(() => (running = null)));
    },
    // An answer that is on its way may have been made before.
    renew: async () => {
      await running;
      await cached.ask();
    },
    shown: (by) => {
      shownBy += by;
      if (shownBy === 0) miss("");
    },
  };
  onGone(name, (without) => void (items.value &&= without(items.value)));
  onChange((change) => void (change.kind === "reset" && shownBy > 0 && isOld(cached) && load()));
  return cached;
}

/** @param {Cached<any>} cached */
const isOld = ({ askedOn }) => Date.now() - askedOn > FRESH_MS;

// Whoever comes from another page may have changed there what is cached.
const page = computed(() => place.value.page);
page.subscribe(() => lists.forEach((cached) => (cached.askedOn = 0)));

/**
 * The records of a short list that does not depend on what is opened, such as topics beside each conversation: asked for once by
 * each page, for all that show it, and again after some minutes. The stream tells only what of it is gone: what offers a choice of
 * it asks when somebody comes to it (`revalidateOnFocus`).
 * @template {Readable} N
 * @param {N | null} name null asks for nothing
 * @param {unknown} [state] when it is another, the list is asked for again, whoever asked before
 * @returns {Listed<N>[]}
 */
export function useCached(name, state) {
  const cached = name && cachedList(name);
  useEffect(() => {
    if (!cached) return;
    cached.shown(1);
    const isOther = state !== undefined && state !== cached.state;
    if (isOther) cached.state = state;
    if (isOther || isOld(cached)) void cached.ask();
    return () => cached.shown(-1);
  }, [cached, state]);
  return cached?.items.value ?? NOTHING;
}

/** What is known of a cached list, for what is drawn by those that use it. @template {Readable} N @param {N} name @returns {Listed<N>[]} */
export const cachedItems = (name) => cachedList(name).items.value ?? NOTHING;

/** Asks again for a cached list of which something was changed here. @param {Readable} name */
export const refetch = (name) => cachedList(name).renew();

/** Asks again for a cached list of which somebody may choose now. @param {Readable} name */
export const revalidate = (name) => void (Date.now() - cachedList(name).askedOn > REVALIDATE_MS && cachedList(name).ask());

/** What a control that offers a choice of a cached list is given, so that it knows it when it is opened. @param {Readable} name */
export const revalidateOnFocus = (name) => ({ onFocus: () => revalidate(name), onPointerEnter: () => revalidate(name) });

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
