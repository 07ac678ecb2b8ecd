/** A long list of rows of one height, of which only those near the screen are in the page. The one that is chosen and the
 *  one that has the focus stay in it, so that keys and screen readers go on from there. */

import { html, useEffect, useLayoutEffect, useRef, useState } from "../shared/ui.js";

/** Rows that are drawn before and after those on the screen; how far one scrolls until others are drawn. */
const BEYOND = 12;
const STEP = 4;
/** Until a row was measured, in pixels. */
const USUAL_HEIGHT = 80;

/**
 * @template I
 * @param {{items: I[], idOf: (item: I) => string, draw: (item: I) => any, shows: unknown[], hasMore: boolean, chosen?: string,
 *   onKeyDown?: (event: KeyboardEvent, at: number) => void}} props a row has one link, to which the Tab key comes in one
 *   row: the arrow keys go to the others. `shows` is all that is drawn in rows beside their items: what was drawn stays while
 *   both are the same
 */
export function Rows({ items, idOf, draw, shows, hasMore, chosen = "", onKeyDown }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const rows = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ first: 0, last: 2 * BEYOND });
  const [height, setHeight] = useState(USUAL_HEIGHT);
  const focused = useRef("");
  const wanted = useRef("");
  const top = useRef({ id: "", isAtStart: true });
  const ids = items.map(idOf);

  const look = () => {
    const [scroller, whole] = [scrollerOf(list.current), list.current];
    if (!scroller || !whole || !scroller.clientHeight) return;
    const above = (scroller.getBoundingClientRect().top - whole.getBoundingClientRect().top) / height;
    const seen = scroller.clientHeight / height;
    const first = Math.max(0, Math.floor((above - BEYOND) / STEP) * STEP);
    const last = Math.max(first, Math.ceil((above + seen + BEYOND) / STEP) * STEP);
    top.current = { id: ids[Math.max(0, Math.floor(above))] ?? "", isAtStart: above < 1 };
    setView((old) => (old.first === first && old.last === last ? old : { first, last }));
  };
  const present = useRef(look);
  present.current = look;
  useEffect(() => {
    const scroller = scrollerOf(list.current);
    if (!scroller || !rows.current) return;
    const again = () => present.current();
    const sized = new ResizeObserver(() => {
      const row = rows.current?.firstElementChild?.getBoundingClientRect().height;
      if (row) setHeight(row);
      again();
    });
    sized.observe(scroller);
    sized.observe(rows.current);
    scroller.addEventListener("scroll", again, { passive: true });
    return () => {
      sized.disconnect();
      scroller.removeEventListener("scroll", again);
    };
  }, []);
  // What is on the screen stays there when something comes before it.
  const known = useRef(ids);
  const drawnHeight = useRef(0);
  useLayoutEffect(() => {
    // Whoever looks at the begin sees what comes there: nothing moves, and nothing has to be measured before it is drawn.
    if (top.current.isAtStart && drawnHeight.current === height && known.current.length > 0) {
      known.current = ids;
      top.current.id = ids[0] ?? "";
      return;
    }
    drawnHeight.current = height;
    const row = rows.current?.firstElementChild?.getBoundingClientRect().height;
    if (row && Math.abs(row - height) > 0.5) setHeight(row);
    const { id, isAtStart } = top.current;
    const moved = isAtStart ? 0 : ids.indexOf(id) - known.current.indexOf(id);
    const scroller = scrollerOf(list.current);
    if (moved && scroller && ids.includes(id) && known.current.includes(id)) scroller.scrollTop += moved * height;
    known.current = ids;
    look();
  }, [ids.join(), height]);
  const linkOf = (/** @type {string} */ id) => /** @type {HTMLElement | null | undefined} */ (rows.current?.querySelector(`[data-row="${CSS.escape(id)}"] a`));
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const link = linkOf(wanted.current);
    wanted.current = "";
    link?.focus();
  });

  const took = (/** @type {string} */ id) => {
    if (focused.current === id) return;
    focused.current = id;
    setView((old) => ({ ...old }));
  };
  const goTo = (/** @type {number} */ at) => {
    if (!ids[at]) return;
    wanted.current = focused.current = ids[at];
    setView((old) => ({ ...old }));
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const at = ids.indexOf(focused.current);
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
    onKeyDown?.(event, at);
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    goTo(at + step);
  };
  const places = new Set(Array.from({ length: Math.max(0, Math.min(view.last, items.length) - view.first) }, (_, nth) => view.first + nth));
  for (const id of [chosen, focused.current]) if (ids.includes(id)) places.add(ids.indexOf(id));
  const shown = [...places].sort((one, other) => one - other);
  const stop = [focused.current, chosen, top.current.id].find((id) => places.has(ids.indexOf(id))) ?? ids[shown[0]];
  const stopped = useRef(/** @type {HTMLElement | null | undefined} */ (null));
  useLayoutEffect(() => {
    const link = linkOf(stop ?? "");
    if (link === stopped.current) return;
    stopped.current?.setAttribute("tabindex", "-1");
    link?.setAttribute("tabindex", "0");
    stopped.current = link;
  });
  // From the first row on, the page tells a row's place by itself.
  const isInOrder = shown.length === 0 || shown[shown.length - 1] === shown.length - 1;
  const size = hasMore ? -1 : items.length;
  const drawn = useDrawn();
  // Places count from the end: what comes before a row changes nothing of it.
  const line = (/** @type {number} */ at) => {
    const [id, item, fromEnd, place] = [ids[at], items[at], items.length - at, isInOrder ? undefined : at + 1];
    return drawn(id, [item, fromEnd, place, size, height, ...shows], () =>
      html`<li key=${id} data-row=${id} aria-setsize=${size} aria-posinset=${place} style=${{ top: `${-fromEnd * height}px` }}>${draw(item)}</li>`);
  };
  return html`
    <div class="drawn-rows" ref=${list} style=${{ height: `${items.length * height}px` }}>
      <ul ref=${rows} style=${{ transform: `translateY(${items.length * height}px)` }} onKeyDown=${pressed}
        onFocusIn=${(/** @type {any} */ event) => took(event.target.closest("[data-row]")?.dataset.row ?? "")}
        onFocusOut=${() => (focused.current = wanted.current)}>${shown.map(line)}</ul>
    </div>
  `;
}

/** What was drawn last, as long as all that it shows is the same: then nothing of it is compared, either. */
function useDrawn() {
  const before = useRef(/** @type {Map<string, {shows: unknown[], drawn: any}>} */ (new Map()));
  const now = /** @type {typeof before.current} */ (new Map());
  useLayoutEffect(() => {
    before.current = now;
  });
  return (/** @type {string} */ id, /** @type {unknown[]} */ shows, /** @type {() => any} */ draw) => {
    const old = before.current.get(id);
    const kept = old?.shows.length === shows.length && shows.every((each, nth) => each === old.shows[nth]) ? old : { shows, drawn: draw() };
    now.set(id, kept);
    return kept.drawn;
  };
}

/** What scrolls around a list. @param {Element | null} list @returns {HTMLElement | null} */
const scrollerOf = (list) => /** @type {HTMLElement | null} */ (list?.closest(".side-list") ?? null);
