/** Times that people type: in the time zone of the workspace, as those that they read. */

import { zone } from "./texts.js";

/** The offset of the zone from UTC at a moment, in milliseconds. @param {number} moment */
function offsetAt(moment) {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone.value, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
  }).formatToParts(new Date(moment));
  const value = (/** @type {string} */ type) => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(value("year"), value("month") - 1, value("day"), value("hour"), value("minute"), value("second")) - Math.floor(moment / 1000) * 1000;
}

/**
 * The moment that a field of the type `datetime-local` means, for the API; undefined for an empty field.
 * @param {string} local such as 2026-03-02T10:00
 */
export function toMoment(local) {
  if (!local) return undefined;
  const asUtc = Date.parse(`${local}Z`);
  // The offset at the moment that was found may differ from that at the first guess, when clocks change between them.
  const guess = asUtc - offsetAt(asUtc);
  return new Date(asUtc - offsetAt(guess)).toISOString();
}

/** What a field of the type `datetime-local` shows for a moment. @param {number} moment */
export const toLocal = (moment) => new Date(moment + offsetAt(moment)).toISOString().slice(0, 16);
