/** A surface that people move and enlarge: by mouse, wheel, touch and keyboard, with a small map of the whole. */

import { Icon } from "../parts/icons.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {{x: number, y: number, scale: number}} View where the corner of the drawing is, in pixels of the surface
 * @typedef {{width: number, height: number, boxes: import("./layout.js").Box[], shown: import("./layout.js").Box | undefined, label: string, children: any,
 *   keys?: string, fits?: unknown, onGrab?: (event: PointerEvent) => boolean, onView?: (seen: import("./layout.js").Box, scale: number) => void}} Props
 *   `shown` comes into sight whenever it changes; the children stay the same object while they need not be drawn again. The view
 *   is set anew when `fits` changes, by default the size; what `onGrab` takes does not move the drawing; `onView` is told which part is seen
 */

const MOST = 2;
const LEAST = 0.02;
/** Texts can still be read. */
const READABLE = 0.8;
const STEP = 1.25;
const PAN = 80;
const MARGIN = 16;
const CLICK = 4;
const MAP = { width: 150, height: 170 };

/** @param {Props} props */
export function Canvas({ width, height, boxes, shown, label, children, keys = t("canvas.keys"), fits = `${width} ${height}`, onGrab = () => false, onView }) {
  const area = useRef(/** @type {HTMLElement | null} */ (null));
  const [size, setSize] = useState({ width: 1, height: 1 });
  const [view, setView] = useState(/** @type {View} */ ({ x: MARGIN, y: MARGIN, scale: 1 }));
  const whole = () => fitting(size, { width, height }, LEAST);
  const zoom = (/** @type {number} */ factor, at = { x: size.width / 2, y: size.height / 2 }) => setView((old) => zoomed(old, factor, at));
  const measure = () => {
    const { clientWidth, clientHeight } = /** @type {HTMLElement} */ (area.current);
    setSize({ width: clientWidth, height: clientHeight });
    return { width: clientWidth, height: clientHeight };
  };
  useLayoutEffect(() => {
    const fit = fitting(measure(), { width, height }, READABLE);
    // The entry is what people look for first.
    setView({ ...fit, x: boxes[0] ? measure().width / 2 - (boxes[0].x + boxes[0].width / 2) * fit.scale : fit.x, ...(fit.scale === READABLE ? { y: MARGIN } : {}) });
    const resized = new ResizeObserver(measure);
    resized.observe(/** @type {HTMLElement} */ (area.current));
    return () => resized.disconnect();
  }, [fits]);
  useEffect(() => {
    if (shown) setView((old) => revealing(old, shown, measure()));
  }, [shown]);
  useLayoutEffect(() => onView?.({ x: -view.x / view.scale, y: -view.y / view.scale, width: size.width / view.scale, height: size.height / view.scale }, view.scale), [view, size]);
  const hands = useHands(area, setView, zoom, onGrab);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = /** @type {Record<string, () => void>} */ ({ "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), 0: () => setView(whole()) });
    const moves = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [0, PAN], ArrowDown: [0, -PAN], ArrowLeft: [PAN, 0], ArrowRight: [-PAN, 0] });
    const move = event.target === area.current ? moves[event.key] : undefined;
    if (!steps[event.key] && !move) return;
    event.preventDefault();
    if (move) setView((old) => ({ ...old, x: old.x + move[0], y: old.y + move[1] }));
    else steps[event.key]();
  };
  return html`
    <div class="canvas">
      <div class="flow-box" ref=${area} dir="ltr" tabindex="0" role="region" aria-label=${label} aria-describedby="canvas-keys" onKeyDown=${press} ...${hands}>
        <div class="flow-drawing" style=${{ width: `${width}px`, height: `${height}px`, transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})` }}>${children}</div>
      </div>
      <p id="canvas-keys" class="hidden">${keys}</p>
      <div class="canvas-tools" role="group" aria-label=${t("canvas.size")}>
        <button type="button" class="icon-only" aria-label=${t("canvas.larger")} onClick=${() => zoom(STEP)}><${Icon} name="plus" size=${18} /></button>
        <button type="button" class="icon-only" aria-label=${t("canvas.smaller")} onClick=${() => zoom(1 / STEP)}><${Icon} name="minus" size=${18} /></button>
        <button type="button" class="icon-only" aria-label=${t("canvas.fit")} onClick=${() => setView(whole())}><${Icon} name="fit" size=${18} /></button>
      </div>
      <${Minimap} whole=${{ width, height }} boxes=${boxes} view=${view} size=${size} onMove=${setView} />
    </div>
  `;
}

/** The drawing as large as the surface takes, no smaller than that. @param {{width: number, height: number}} size @param {{width: number, height: number}} whole @param {number} least @returns {View} */
function fitting(size, whole, least) {
  const scale = Math.max(least, Math.min(1, (size.width - 2 * MARGIN) / whole.width, (size.height - 2 * MARGIN) / whole.height));
  return { scale, x: (size.width - whole.width * scale) / 2, y: (size.height - whole.height * scale) / 2 };
}

/** What is below the point stays there. @param {View} view @param {number} factor @param {{x: number, y: number}} at @returns {View} */
function zoomed(view, factor, at) {
  const scale = Math.min(MOST, Math.max(LEAST, view.scale * factor));
  const change = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * change, y: at.y - (at.y - view.y) * change };
}

/** With the box in sight and readable; a view that shows it already stays. @param {View} view @param {import("./layout.js").Box} box @param {{width: number, height: number}} size @returns {View} */
function revealing(view, box, size) {
  const scale = Math.max(view.scale, READABLE);
  const [left, top] = [view.x + box.x * scale, view.y + box.y * scale];
  const isSeen = scale === view.scale && left >= 0 && top >= 0 && left + box.width * scale <= size.width && top + box.height * scale <= size.height;
  return isSeen ? view : { scale, x: size.width / 2 - (box.x + box.width / 2) * scale, y: size.height / 2 - (box.y + box.height / 2) * scale };
}

/**
 * Dragging with one pointer, pinching with two, and the wheel.
 * @param {{current: HTMLElement | null}} area @param {(change: (old: View) => View) => void} setView @param {(factor: number, at: {x: number, y: number}) => void} zoom @param {(event: PointerEvent) => boolean} onGrab
 */
function useHands(area, setView, zoom, onGrab) {
  const held = useRef({ pointers: /** @type {Map<number, {x: number, y: number}>} */ (new Map()), moved: 0 });
  const zoomNow = useRef(zoom);
  zoomNow.current = zoom;
  const place = (/** @type {{clientX: number, clientY: number}} */ { clientX, clientY }) => {
    const { left, top } = /** @type {HTMLElement} */ (area.current).getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  useEffect(() => {
    const turn = (/** @type {WheelEvent} */ event) => {
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const [dx, dy] = event.shiftKey && !event.deltaX ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
      if (event.ctrlKey || event.metaKey) zoomNow.current(Math.exp(-event.deltaY * unit * 0.004), place(event));
      else setView((old) => ({ ...old, x: old.x - dx * unit, y: old.y - dy * unit }));
    };
    // A listener of the template could not keep the page from scrolling.
    area.current?.addEventListener("wheel", turn, { passive: false });
    return () => area.current?.removeEventListener("wheel", turn);
  }, []);
  const { pointers } = held.current;
  const drop = (/** @type {PointerEvent} */ event) => void pointers.delete(event.pointerId);
  return {
    onPointerDown: (/** @type {PointerEvent} */ event) => {
      if (event.button !== 0) return;
      if (pointers.size === 0) held.current.moved = 0;
      if (pointers.size === 0 && onGrab(event)) return;
      pointers.set(event.pointerId, place(event));
    },
    onPointerMove: (/** @type {PointerEvent} */ event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = place(event);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      held.current.moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (held.current.moved > CLICK) area.current?.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, now);
      if (other) zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), other);
      else setView((old) => ({ ...old, x: old.x + now.x - before.x, y: old.y + now.y - before.y }));
    },
    onPointerUp: drop,
    onPointerCancel: drop,
    // Whoever dragged meant no node.
    onClickCapture: (/** @type {MouseEvent} */ event) => event.detail > 0 && held.current.moved > CLICK && event.stopPropagation(),
  };
}

/** @param {{whole: {width: number, height: number}, boxes: import("./layout.js").Box[], view: View, size: {width: number, height: number}, onMove: (view: View) => void}} props */
function Minimap({ whole, boxes, view, size, onMove }) {
  const scale = Math.min(MAP.width / whole.width, MAP.height / whole.height);
  const isWhole = view.x >= 0 && view.y >= 0 && view.x + whole.width * view.scale <= size.width && view.y + whole.height * view.scale <= size.height;
  const all = useMemo(() => boxes.map(({ x, y, width, height }) => `M${x},${y}h${width}v${height}h${-width}z`).join(""), [boxes]);
  const move = (/** @type {any} */ event) => {
    if (!event.buttons) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const { left, top } = event.currentTarget.getBoundingClientRect();
    onMove({ scale: view.scale, x: size.width / 2 - ((event.clientX - left) / scale) * view.scale, y: size.height / 2 - ((event.clientY - top) / scale) * view.scale });
  };
  if (isWhole) return null;
  return html`
    <svg class="canvas-map" aria-hidden="true" width=${whole.width * scale} height=${whole.height * scale} viewBox=${`0 0 ${whole.width} ${whole.height}`} onPointerDown=${move} onPointerMove=${move}>
      <path d=${all} /><rect x=${-view.x / view.scale} y=${-view.y / view.scale} width=${size.width / view.scale} height=${size.height / view.scale} vector-effect="non-scaling-stroke" />
    </svg>
  `;
}
