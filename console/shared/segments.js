/** How many parts an SMS needs, which is what it costs. */

const BASIC =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿" +
  "abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENDED = "\f^{}\\[~]|€";

const letters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * Characters and segments of a text: GSM 7-bit if all of its characters are in that alphabet, otherwise UCS-2. No letter, emoji
 * or escape is divided between two.
 * @param {string} text
 */
export function countSegments(text) {
  const signs = [...text];
  const isBasic = signs.every((sign) => BASIC.includes(sign) || EXTENDED.includes(sign));
  const [single, part] = isBasic ? [160, 153] : [70, 67];
  const costs = isBasic
    ? signs.map((sign) => (EXTENDED.includes(sign) ? 2 : 1))
    : [...letters.segment(text)].flatMap(({ segment }) => (segment.length <= part ? [segment.length] : [...segment].map((sign) => sign.length)));
  const characters = costs.reduce((sum, cost) => sum + cost, 0);
  if (characters <= single) return { characters, segments: characters ? 1 : 0, isBasic };
  let [segments, room] = [1, part];
  for (const cost of costs) {
    if (cost > room) [segments, room] = [segments + 1, part];
    room -= cost;
  }
  return { characters, segments, isBasic };
}
