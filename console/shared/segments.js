/** How many parts an SMS needs, which is what it costs. */

const BASIC =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿" +
  "abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENDED = "\f^{}\\[~]|€";

/**
 * Characters and segments of a text: GSM 7-bit if all of its characters are in that alphabet, otherwise UCS-2.
 * @param {string} text
 */
export function countSegments(text) {
  const isBasic = [...text].every((sign) => BASIC.includes(sign) || EXTENDED.includes(sign));
  const units = isBasic ? [...text].reduce((sum, sign) => sum + (EXTENDED.includes(sign) ? 2 : 1), 0) : text.length;
  const [single, part] = isBasic ? [160, 153] : [70, 67];
  return { characters: units, segments: units === 0 ? 0 : units <= single ? 1 : Math.ceil(units / part), isBasic };
}
