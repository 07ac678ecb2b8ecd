/** What countries, time zones and languages are chosen with: by their names, with nothing to know by heart. */

import { language, languageName, t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";
import { Icon } from "./icons.js";

/** Regions that have a code and no phone numbers of their own, and groups of countries. */
const NO_COUNTRIES = "AQ BV CP CQ DG EA EU EZ GS HM IC PN QO TF UM UN XA XB ZZ";
/** Languages that browsers have a name for, and those that many have none for. */
const LANGUAGES =
  "afr aka amh ara arg asm ast aym aze bam bel ben bho bos bre bul cat ceb ces ckb cnr cos cym dan deu div doi ell eng epo est eus ewe fao fas fil fin " +
  "fra fry gla gle glg grn guj hat hau haw heb hin hmn hrv hun hye ibo ilo ina ind isl ita jav jpn kan kat kaz khm kin kir kok kor kri kur lao lat lav " +
  "lin lit ltz lug lus mai mal mar mkd mlg mlt mni mon mri msa mya nep nld nno nob nor nso nya oci ori orm pan pol por prs pus que roh ron rus san sin " +
  "slk slv smo sna snd som sot spa sqi srp sun swa swc swe tam tat tel tgk tgl tha tir ton tsn tso tuk tur uig ukr urd uzb vie wln wol xho yid yor " +
  "yue zho zul";
const NAMED =
  "aar Afar, ach Acholi, bem Bemba, bis Bislama, bod Tibetan, din Dinka, dzo Dzongkha, fij Fijian, ful Fulah, her Herero, kam Kamba, kas Kashmiri, kau " +
  "Kanuri, kik Kikuyu, kon Kongo, kua Kuanyama, lub Luba-Katanga, luo Luo, luy Luhya, mer Meru, nbl South Ndebele, nde North Ndebele, ndo Ndonga, nus " +
  "Nuer, nyn Nyankole, pcm Nigerian Pidgin, run Kirundi, sag Sango, ssw Swati, tpi Tok Pisin, tum Tumbuka, ven Venda";
/** @type {Map<string, string>} */
const NAMES = new Map(NAMED.split(", ").map((each) => [each.slice(0, 3), each.slice(4)]));
const OTHER = "other";
const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];

const byName = (/** @type {[string, string]} */ [, name], /** @type {[string, string]} */ [, other]) => name.localeCompare(other, language.value);

/** Codes of two letters with the names of countries. @returns {[string, string][]} */
function countries() {
  const names = new Intl.DisplayNames([language.value], { type: "region", fallback: "none" });
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => `${first}${second}`.toUpperCase()));
  const isOne = (/** @type {string} */ code) => !NO_COUNTRIES.includes(code) && new Intl.Locale(`und-${code}`).region === code;
  return codes.flatMap((code) => (isOne(code) && names.of(code) ? [/** @type {[string, string]} */ ([code, names.of(code)])] : [])).sort(byName);
}

/** @param {string} code */
const nameOf = (code) => {
  const name = languageName(code);
  return name === code ? (NAMES.get(code) ?? code) : name;
};

/** Codes of three letters with the names of languages. @returns {[string, string][]} */
export const languages = () => [...LANGUAGES.split(" "), ...NAMES.keys()].map((code) => /** @type {[string, string]} */ ([code, nameOf(code)])).sort(byName);

/** @param {{id: string, value?: string | null}} props */
export function CountryChoice({ id, value }) {
  // What somebody has chosen elsewhere is not cleared by who changes something else.
  const [known] = useState(() => {
    const all = countries();
    return value && !all.some(([code]) => code === value) ? [/** @type {[string, string]} */ ([value, value]), ...all] : all;
  });
  return html`<select id=${id} name="country" aria-describedby=${`${id}-help`}>
    <option value="">–</option>
    ${known.map(([code, name]) => html`<option key=${code} value=${code} selected=${code === value}>${name}</option>`)}</select>`;
}

/** All time zones, by continent. @param {{id: string, value?: string | null}} props */
export function ZoneChoice({ id, value }) {
  const [groups] = useState(() => {
    /** @type {Map<string, string[]>} */
    const found = new Map();
    for (const zone of new Set(["UTC", ...(value ? [value] : []), ...Intl.supportedValuesOf("timeZone")])) {
      const group = zone.includes("/") ? zone.slice(0, zone.indexOf("/")) : "UTC";
      found.set(group, [...(found.get(group) ?? []), zone]);
    }
    return [...found].sort(([one], [other]) => (one < other ? -1 : 1));
  });
  return html`<select id=${id} name="timezone" aria-describedby=${`${id}-help`}>
    ${groups.map(([group, zones]) => html`<optgroup key=${group} label=${group}>${zones.sort().map((zone) => html`<option key=${zone} value=${zone} selected=${zone === value}>${zone.replaceAll("_", " ")}</option>`)}</optgroup>`)}</select>`;
}

/** Several languages in their order, the usual one first. @param {{id: string, name: string, value: string[]}} props */
export function LanguagesChoice({ id, name, value }) {
  const [chosen, setChosen] = useState(value);
  const [known] = useState(languages);
  const [isOther, setOther] = useState(false);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const list = useRef(/** @type {HTMLSelectElement | null} */ (null));
  const change = (/** @type {string[]} */ codes) => {
    setChosen(codes);
    if (!field.current) return;
    field.current.value = codes.join(" ");
    // The form keeps what is typed in its fields.
    field.current.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const add = (/** @type {string} */ code) => code && !chosen.includes(code) && change([...chosen, code]);
  const pick = (/** @type {any} */ { target }) => {
    setOther(target.value === OTHER);
    if (target.value !== OTHER) add(target.value);
    target.value = target.value === OTHER ? OTHER : "";
  };
  const type = (/** @type {any} */ { target }) => {
    if (!/^[a-z]{3}$/i.test(target.value)) return;
    add(target.value.toLowerCase());
    setOther(false);
    // The field goes, and so does the button of what is removed: the focus would go with them.
    list.current?.focus();
  };
  return html`
    <input type="hidden" name=${name} value=${chosen.join(" ")} ref=${field} onChange=${(/** @type {any} */ { target }) => setChosen(target.value.split(" ").filter(Boolean))} />
    <ol class="chosen">${chosen.map((code) => html`<li key=${code} class="tag">${nameOf(code)}
      <button type="button" class="quiet tiny" aria-label=${t("settings.remove_language", { name: nameOf(code) })} onClick=${() => (change(chosen.filter((each) => each !== code)), list.current?.focus())}><${Icon} name="close" size=${14} /></button></li>`)}</ol>
    <select ref=${list} id=${id} required=${chosen.length === 0} aria-describedby=${`${id}-help`} value=${isOther ? OTHER : ""} onChange=${pick}>
      <option value="">${t("settings.add_language")}</option>
      ${known.filter(([code]) => !chosen.includes(code)).map(([code, text]) => html`<option key=${code} value=${code}>${text}</option>`)}
      <option value=${OTHER}>${t("settings.other_language")}</option></select>
    ${isOther && html`<input class="other-language" aria-label=${t("settings.other_language")} placeholder="lug" maxlength="3" autocapitalize="off" spellcheck="false" onInput=${type} />`}`;
}
