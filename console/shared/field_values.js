/** Values of contact fields as people read them, by the type of the field: a text may look like a time. */

import { dateText, shortTime } from "./texts.js";

/** @typedef {import("./contract.js").Schemas["FieldType"]} FieldType */

/** Whether a date has a time that somebody gave it. The API writes dates in the time zone of the workspace. @param {string | null | undefined} value */
export const hasTime = (value) => !!value && !/^.{10}T00:00:00/.test(value);

/** @param {string | null | undefined} value @param {FieldType} type */
export function fieldText(value, type) {
  if (!value || type !== "datetime") return value ?? "";
  return hasTime(value) ? shortTime(value) : dateText(value);
}
