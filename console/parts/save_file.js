/** Gives the person a file that the page made; tables begin with the mark by which spreadsheets know their encoding. */

/** @param {string} name @param {string} type @param {string | Uint8Array<ArrayBuffer>} content */
export function saveFile(name, type, content) {
  const url = URL.createObjectURL(new Blob(type === "text/csv" ? ["\ufeff", content] : [content], { type: `${type};charset=utf-8` }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** What spreadsheets take for a formula: a sign in whatever width, perhaps after characters that cannot be seen. The service has the same rule. */
const FORMULA = /^(?:[\t\r]|[\s\p{Cc}\p{Cf}\uFE00-\uFE0F]*[=+\-@\u2212])/u;

/** Rows as CSV; a text that a spreadsheet would take for a formula is quoted by an apostrophe. @param {string[][]} rows */
export const toCsv = (rows) =>
  rows.map((row) => row.map((text) => `"${(FORMULA.test(text.normalize("NFKC")) ? `'${text}` : text).replaceAll('"', '""')}"`).join(",")).join("\r\n") + "\r\n";
