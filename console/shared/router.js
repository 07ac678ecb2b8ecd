/** Where a person is: the part of the address after `#`, such as `#/inbox/UUID?folder=archived`. */

import { signal } from "./ui.js";

/** @typedef {{page: string, parts: string[], query: Record<string, string>}} Place */

/**
 * The place of the address as it stands; `place` follows it a moment later.
 * @returns {Place}
 */
export function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...parts] = path.split("/").map(decoded);
  return { page: page || "", parts, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** A part of an address; one that was cut off stays as it is. @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal(read());
window.addEventListener("hashchange", () => {
  place.value = read();
});

/**
 * The address of a place, for links.
 * @param {string[]} parts
 * @param {Record<string, string | undefined | null>} [query]
 */
export function link(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/**
 * @param {string[]} parts
 * @param {Record<string, string | undefined | null>} [query]
 * @param {{replace?: boolean}} [options]
 */
export function go(parts, query = {}, { replace = false } = {}) {
  const target = link(parts, query);
  if (replace) history.replaceState(null, "", target);
  else location.hash = target;
  place.value = read();
}
