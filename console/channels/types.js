/** What can be added: types of channels and presets, as the API lists them. They do not change while the page is open. */

import { get } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { addTexts, language, word } from "../shared/texts.js";
import { useEffect, useState } from "../shared/ui.js";

/**
 * @typedef {import("../shared/contract.js").Found<"channel_types">} Types
 * @typedef {Types["types"][number]} Type
 * @typedef {Types["presets"][number]} Preset
 * @typedef {{name: string, title: string, type: Type, preset?: Preset}} Entry a type, or a preset of one
 */

/** @type {Promise<Types> | null} */
let asked = null;

/** With what the forms say of their fields. @returns {Promise<Types>} */
async function load() {
  const [found] = await Promise.all([get("channel_types"), addTexts(new URL("./texts/", import.meta.url))]);
  return found;
}

/** What can be added, and what went wrong. @returns {{types: Types | null, problem: string, load: () => Promise<void>}} */
export function useTypes() {
  const [types, setTypes] = useState(/** @type {Types | null} */ (null));
  const [problem, setProblem] = useState("");
  const ask = async () => {
    try {
      setTypes(await (asked ??= load()));
      setProblem("");
    } catch (error) {
      asked = null;
      setProblem(explain(error));
    }
  };
  useEffect(() => void ask(), []);
  return { types, problem, load: ask };
}

/** Phones, then everything by its title; last the type that presets are made of: with it nearly all others can be added. @param {Types} found @returns {Entry[]} */
export function listEntries({ types, presets }) {
  const isMadeUpon = (/** @type {Type} */ { type }) => presets.some((each) => each.type === type);
  const plain = types.map((type) => ({ name: type.type, title: type.title, type }));
  const ready = presets.flatMap((preset) => {
    const type = types.find((each) => each.type === preset.type);
    return type ? [{ name: preset.preset, title: preset.title, type, preset }] : [];
  });
  const byTitle = (/** @type {Entry} */ one, /** @type {Entry} */ other) => one.title.localeCompare(other.title, language.value);
  return [
    ...plain.filter(({ type }) => type.is_phone),
    ...[...plain.filter(({ type }) => !type.is_phone && !isMadeUpon(type)), ...ready].sort(byTitle),
    ...plain.filter(({ type }) => !type.is_phone && isMadeUpon(type)),
  ];
}

/** What it is for, in the person's language or as the API says it. @param {Entry} entry */
export const helpOf = ({ name, type, preset }) => sentence(word("channel_help", name, (preset ?? type).help));

/** What a setting of a type, or a field of a preset, is for. @param {string} owner the name of the type or preset @param {{name: string, help: string}} setting */
export const settingHelp = (owner, { name, help }) => sentence(word("setting_help", `${owner}.${name}`, help));

/** The title of a type by its name; a dash until the types are known. @param {Types | null} found @param {string} name @param {string | null} [preset] */
export const titleOf = (found, name, preset) =>
  found?.presets.find((each) => each.preset === preset)?.title ?? found?.types.find((each) => each.type === name)?.title ?? (found ? name : "–");

/** With a capital letter, as the API's help texts have none. @param {string} text */
export const sentence = (text) => text.charAt(0).toLocaleUpperCase(language.value) + text.slice(1);
