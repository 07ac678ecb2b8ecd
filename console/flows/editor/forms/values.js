/** Properties of actions as inputs show them, and back. What is not touched stays as it was written, and what an input cannot
 *  show is left alone. */

/**
 * @typedef {{kind: string, refers_to?: string, match?: string[], is_list?: boolean, is_template?: boolean, is_translated?: boolean, is_listed?: boolean,
 *   is_required?: boolean, is_more?: boolean, longest?: number, most?: number, choices?: string[]}} FieldPart
 * @typedef {{palette: string, allowed_in: string[], fields: Record<string, FieldPart>, categories?: string[], sets_local?: string, result_field?: string}} ActionPart
 * @typedef {{name: string, kind: string, is_optional?: boolean, is_repeated?: boolean}} Argument
 * @typedef {{palette: string[], flow_types: string[], actions: Record<string, ActionPart>, routers: Record<string, string[]>, waits: Record<string, string[]>, pauses: Record<string, string[]>, hints: string[],
 *   dial: {dial_limit_seconds: number, call_limit_seconds: number}, tests: Record<string, Argument[]>, functions: Record<string, string>,
 *   context: Record<string, string[]>}} Parts what parts.json says
 * @typedef {{uuid?: string, key?: string, name?: string | null, [key: string]: unknown}} Reference
 * @typedef {[string, string][]} Rows names with their texts
 */

/** What a form does with every action of any type, beside its own properties. */
const OF_ALL = ["uuid", "type"];
const TEXTS = ["text", "long_text", "url", "choice"];

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isText = (/** @type {unknown} */ value) => typeof value === "string";
const isNumber = (/** @type {unknown} */ value) => typeof value === "number";

/** Whether an input for a property can show this value whole. @param {FieldPart} field @param {unknown} value */
export function canShow({ kind, is_list }, value) {
  if (value === undefined || value === null) return kind !== "json";
  const isOne = TEXTS.includes(kind) || kind === "attachment" ? isText : kind === "reference" ? isObject : null;
  if (isOne) return is_list ? Array.isArray(value) && value.every(isOne) : isOne(value);
  if (kind === "boolean") return typeof value === "boolean";
  const isEach = { map: isText, amounts: isNumber, flags: (/** @type {unknown} */ each) => typeof each === "boolean" }[kind];
  return !!isEach && isObject(value) && Object.values(value).every(isEach);
}

/** A value as its input has it; one that cannot be shown is empty. @param {FieldPart} field @param {unknown} value @returns {any} */
export function shown(field, value) {
  const given = canShow(field, value) ? value : undefined;
  if (field.kind === "map") return Object.entries(/** @type {Record<string, string>} */ (given ?? {}));
  if (field.kind === "amounts") return Object.entries(/** @type {Record<string, number>} */ (given ?? {})).map(([name, amount]) => [name, String(amount)]);
  if (field.kind === "flags") return Object.entries(given ?? {}).filter(([, isOn]) => isOn).map(([name]) => name);
  if (field.kind === "boolean") return given ?? false;
  return given ?? (field.is_list ? [] : field.kind === "reference" ? null : "");
}

/**
 * What to store for what an input has; undefined is nothing at all.
 * @param {FieldPart} field @param {any} input @param {unknown} before what was stored
 * @returns {unknown}
 */
export function stored(field, input, before) {
  if (same(input, shown(field, before))) return before;
  if (field.kind === "map") return Object.fromEntries(/** @type {Rows} */ (input));
  if (field.kind === "amounts") return Object.fromEntries(/** @type {Rows} */ (input).map(([name, amount]) => [name, amount.trim() === "" ? 0 : toNumber(amount)]));
  if (field.kind === "flags") return { ...(isObject(before) ? before : {}), ...Object.fromEntries((field.choices ?? []).map((name) => [name, input.includes(name)])) };
  if (input === null || input === "" || (Array.isArray(input) && input.length === 0)) return field.is_required ? (input ?? undefined) : undefined;
  return input;
}

/** A number, or what was typed for one. @param {string} text */
const toNumber = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);

/** What an action says beside what its form asks. @param {{[key: string]: any}} action @param {ActionPart | undefined} part without one all of it */
export const unknownParts = (action, part) =>
  Object.fromEntries(Object.entries(action).filter(([name, value]) => !OF_ALL.includes(name) && !(part?.fields[name] && canShow(part.fields[name], value))));

/** Whether two values are written alike, in whatever order of names. @param {unknown} one @param {unknown} other @returns {boolean} */
export function same(one, other) {
  if (one === other) return true;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((each, at) => same(each, other[at]));
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => name in other && same(one[name], other[name]));
}
