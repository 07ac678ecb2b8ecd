/** Small parts that many pages use. */

import { online } from "../shared/api.js";
import { missed } from "../shared/lists.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useRef } from "../shared/ui.js";
import { Icon } from "./icons.js";

/** The initials of somebody, in one of eight colors. @param {{name: string | null | undefined, id: string}} props */
export function Avatar({ name, id }) {
  const words = (name ?? "").trim().split(/\s+/).filter(Boolean);
  const letters = words.length ? [words[0], words.length > 1 ? words[words.length - 1] : ""].map((part) => [...part][0] ?? "") : [];
  const hue = [...id].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) % 8, 0);
  const isName = letters.length > 0 && /\p{L}/u.test(letters[0]);
  return html`<span class=${`avatar hue-${hue}`} aria-hidden="true">
    ${isName ? letters.join("").toUpperCase() : html`<${Icon} name="person" size=${18} />`}
  </span>`;
}

/** What to say when there is nothing: it teaches. @param {{icon: string, title: string, text?: string, children?: any}} props */
export const Empty = ({ icon, title, text, children }) => html`
  <div class="empty">
    <span class="empty-icon"><${Icon} name=${icon} size=${28} /></span>
    <h2>${title}</h2>
    ${text && html`<p>${text}</p>`} ${children}
  </div>
`;

/** A problem with a way to try again; once a lost network is back that is done by itself. @param {{text: string, onRetry: () => void}} props */
export function Problem({ text, onRetry }) {
  const isOnline = online.value;
  const wasOffline = useRef(false);
  useEffect(() => {
    if (isOnline && wasOffline.current) onRetry();
    wasOffline.current = !isOnline;
  }, [isOnline]);
  return html`
    <div class="problem" role="alert">
      <span>${text}</span>
      <button type="button" onClick=${onRetry}>${t("act.retry")}</button>
    </div>
  `;
}

/**
 * Says that what a page or a form offers could not be loaded, and asks for it again. That the service is not reached a page says once, in its
 * frame. @param {{isInDialog?: boolean}} props
 */
export function MissedLists({ isInDialog = false }) {
  const lists = missed.value;
  return lists.length > 0 && html`<div hidden=${!isInDialog && !online.value}>
    <${Problem} text=${lists[0].text} onRetry=${() => lists.forEach(({ load }) => load())} /></div>`;
}

/**
 * The end of a list: loads more when it comes into sight, or when its button is pressed.
 * @param {{list: {loading: boolean, hasMore: boolean, more: () => void, problem: string, reload: () => void}}} props
 */
export function ListEnd({ list }) {
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  const present = useRef(list);
  present.current = list;
  useEffect(() => {
    if (!end.current || !list.hasMore || list.loading) return;
    const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && present.current.more(), {
      rootMargin: "200px",
    });
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [list.hasMore, list.loading, list.problem]);
  if (list.problem) return html`<${Problem} text=${list.problem} onRetry=${list.hasMore ? list.more : list.reload} />`;
  return html`<div class="list-end" ref=${end}>
    ${list.loading ? html`<${Waiting} />` : list.hasMore && html`<button type="button" onClick=${list.more}>${t("act.more")}</button>`}
  </div>`;
}

/** Bars in the place of what is still loaded. */
export const Waiting = () => html`<p class="waiting skeleton" role="status"><span class="hidden">${t("state.loading")}</span><span></span><span></span><span></span></p>`;

/**
 * A field of a form with its label, help and error.
 * @param {{label: string, id: string, help?: string, problem?: string, children?: any}} props
 */
export const Field = ({ label, id, help, problem, children }) => html`
  <div class="field">
    <label for=${id}>${label}</label>
    ${children}
    ${help && html`<p class="help" id=${`${id}-help`}>${help}</p>`}
    ${problem && html`<p class="problem" id=${`${id}-problem`} role="alert">${problem}</p>`}
  </div>
`;

/** @param {{tone?: "good" | "bad" | "warn" | "calm", children?: any}} props */
export const Badge = ({ tone = "calm", children }) => html`<span class=${`badge ${tone}`}>${children}</span>`;
