/** The days of a week, as schedules name them. */

import { language } from "./texts.js";

/** From Monday on. */
export const DAYS = "MTWRFSU";

/** A Monday. */
const MONDAY = Date.UTC(2024, 0, 1);

/** The short names of days. @param {string} days letters of `DAYS` */
export const dayNames = (days) =>
  [...days].map((day) =>
    new Intl.DateTimeFormat(language.value, { weekday: "short", timeZone: "UTC" }).format(new Date(MONDAY + DAYS.indexOf(day) * 86_400_000)),
  );
