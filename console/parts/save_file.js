/** Gives the person a file that the page made. */

/** @param {string} name @param {string} type @param {string} content */
export function saveFile(name, type, content) {
  const url = URL.createObjectURL(new Blob(["\ufeff", content], { type: `${type};charset=utf-8` }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
