/** Gives the person a file that the page made; tables begin with the mark by which spreadsheets know their encoding. */

/** @param {string} name @param {string} type @param {string} content */
export function saveFile(name, type, content) {
  const url = URL.createObjectURL(new Blob(type === "text/csv" ? ["\ufeff", content] : [content], { type: `${type};charset=utf-8` }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
