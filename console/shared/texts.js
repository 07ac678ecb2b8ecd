/** All texts that people read, in their language; numbers and times as they write them. */

import { signal } from "./ui.js";

/**
 * What several pages or the first ones say stands in messages/, what only one page says in the folder texts/ of its room, which
 * is loaded with it.
 * @typedef {keyof (typeof import("../messages/en.json")
 *   & typeof import("../broadcasts/texts/en.json")
 *   & typeof import("../campaigns/texts/en.json")
 *   & typeof import("../channels/texts/en.json")
 *   & typeof import("../contact_doubles/texts/en.json")
 *   & typeof import("../contact_imports/texts/en.json")
 *   & typeof import("../contacts/texts/en.json")
 *   & typeof import("../deliveries/texts/en.json")
 *   & typeof import("../exports/texts/en.json")
 *   & typeof import("../figures/texts/en.json")
 *   & typeof import("../flows/texts/en.json")
 *   & typeof import("../settings/texts/en.json")
 *   & typeof import("../triggers/texts/en.json"))} Key
 */

/** Languages by code, with the name that their speakers use. */
export const LANGUAGES = {
  en: "English",
  fr: "Français",
  es: "Español",
  pt: "Português",
  ar: "العربية",
  sw: "Kiswahili",
};
const RIGHT_TO_LEFT = ["ar"];
const KEPT = "relayboard.language";

/** The code of the language that is shown. */
export const language = signal("en");
/** The time zone in which times are shown: that of the workspace. */
export const zone = signal(Intl.DateTimeFormat().resolvedOptions().timeZone);
/** @type {import("./ui.js").Signal<Record<string, string>>} */
const texts = signal({});

/** Shows the language that was chosen, or the first of the browser's that we have. */
export async function startTexts() {
  const wished = [localStorage.getItem(KEPT), ...navigator.languages].map((code) => (code ?? "").split("-")[0]);
  await showLanguage(wished.find((code) => code in LANGUAGES) ?? "en");
}

/** How the person's region writes numbers and times in the language that is shown. A system may give the browser a name that
 *  is no language tag, such as en-US@posix. */
const locale = () => navigator.languages.find((code) => /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(code) && code.split("-")[0] === language.value) ?? language.value;

/** The folders with texts in each language, first the one that all pages need. */
const folders = new Set([new URL("../messages/", import.meta.url).href]);

/** @param {string} folder @param {string} code @returns {Promise<Record<string, string>>} */
const readTexts = async (folder, code) => (await fetch(new URL(`${code}.json`, folder))).json();

/** Adds the texts of a folder, which only some pages need. @param {URL} folder */
export async function addTexts(folder) {
  if (folders.has(folder.href)) return;
  const code = language.value;
  const added = await readTexts(folder.href, code);
  if (code !== language.value) return addTexts(folder);
  folders.add(folder.href);
  texts.value = { ...texts.value, ...added };
}

/** @param {string} code */
export async function showLanguage(code) {
  const read = await Promise.all([...folders].map((folder) => readTexts(folder, code)));
  texts.value = Object.assign({}, ...read);
  language.value = code;
  document.documentElement.lang = code;
  document.documentElement.dir = RIGHT_TO_LEFT.includes(code) ? "rtl" : "ltr";
}

/** @param {string} code */
export async function chooseLanguage(code) {
  localStorage.setItem(KEPT, code);
  await showLanguage(code);
}

/**
 * The text with this key, with values for its placeholders.
 * @param {Key} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values) {
  const text = texts.value[key] ?? key;
  return values ? text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole)) : text;
}

/**
 * The text of a word of the API, such as a status or a role; otherwise what the API says, or the word itself.
 * @param {string} family
 * @param {string} word
 * @param {string} [otherwise]
 */
export const word = (family, word, otherwise = word.replaceAll("_", " ")) => texts.value[`${family}.${word}`] ?? otherwise;

/** To make one takes longer than to draw a row. @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();
/** @type {Map<string, Intl.NumberFormat>} */
const numberFormats = new Map();

/** @param {number} value @param {Intl.NumberFormatOptions} [options] */
export function number(value, options) {
  const key = JSON.stringify([locale(), options]);
  const made = numberFormats.get(key) ?? new Intl.NumberFormat(locale(), options);
  numberFormats.set(key, made);
  return made.format(value);
}

/** @param {string | undefined} language @param {Intl.DateTimeFormatOptions} options */
function formatOf(language, options) {
  const key = JSON.stringify([language, options]);
  const made = formats.get(key) ?? new Intl.DateTimeFormat(language, options);
  formats.set(key, made);
  return made;
}

/** @param {Date} time @param {Intl.DateTimeFormatOptions} options */
const format = (time, options) => formatOf(locale(), { ...options, timeZone: zone.value }).format(time);

/** @param {string} time */
export const clock = (time) => format(new Date(time), { hour: "2-digit", minute: "2-digit" });

/** @param {string} time */
export const fullTime = (time) => format(new Date(time), { dateStyle: "full", timeStyle: "medium" });

/** @param {string} time */
export const shortTime = (time) => format(new Date(time), { dateStyle: "medium", timeStyle: "short" });

/** @param {string} time */
export const dateText = (time) => format(new Date(time), { day: "numeric", month: "short", year: "numeric" });

/** A day or a month of the calendar. @param {string} first its first day @param {"daily" | "monthly"} period */
export const periodText = (first, period) =>
  formatOf(locale(), { ...(period === "daily" && { day: "numeric" }), month: "long", year: "numeric", timeZone: "UTC" }).format(new Date(first));

/** The day on which something happened, as a key that sorts. @param {string} time */
export const dayKey = (time) =>
  formatOf("en-CA", { timeZone: zone.value, dateStyle: "short" }).format(new Date(time));

/** The name of a day: today, yesterday, or its date. @param {string} time */
export function dayName(time) {
  const day = dayKey(time);
  if (day === dayKey(new Date().toISOString())) return t("time.today");
  if (day === dayKey(new Date(Date.now() - 86_400_000).toISOString())) return t("time.yesterday");
  return format(new Date(time), { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}

/** A time in a list: the hour today, otherwise the date. @param {string} time */
export function listTime(time) {
  if (dayKey(time) === dayKey(new Date().toISOString())) return clock(time);
  const sameYear = dayKey(time).slice(0, 4) === dayKey(new Date().toISOString()).slice(0, 4);
  return format(new Date(time), { day: "numeric", month: "short", year: sameYear ? undefined : "numeric" });
}

/** The short name of a day of UTC. @param {string} day as YYYY-MM-DD */
export const dayLabel = (day) => new Intl.DateTimeFormat(locale(), { day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(day));

/** How long something took, in its largest unit. @param {number} seconds */
export function duration(seconds) {
  /** @type {[number, string][]} */
  const units = [[86_400, "day"], [3600, "hour"], [60, "minute"]];
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, "second"];
  return number(Math.round(seconds / size), { style: "unit", unit, unitDisplay: "short" });
}

/** How large a file is. @param {number} bytes */
export function size(bytes) {
  /** @type {[number, string][]} */
  const units = [[1_000_000, "megabyte"], [1000, "kilobyte"]];
  const [one, unit] = units.find(([least]) => bytes >= least) ?? [1, "byte"];
  return number(bytes / one, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 });
}

/** The name of a language; its code where the browser knows none. @param {string} code three letters, as in contacts */
export function languageName(code) {
  const isCode = /^[a-z]{2,3}$/.test(code);
  const name = isCode ? new Intl.DisplayNames([language.value], { type: "language", fallback: "none" }).of(code) : undefined;
  return name ? name.charAt(0).toLocaleUpperCase(language.value) + name.slice(1) : code;
}

/** A language as browsers know it; nothing where they know none. @param {string | undefined} code three letters, as in contacts */
export function languageTag(code) {
  const [tag] = code && /^[a-z]{3}$/.test(code) && code !== "und" ? Intl.getCanonicalLocales(code) : [];
  return tag;
}
