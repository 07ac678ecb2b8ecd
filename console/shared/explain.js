/** What went wrong, in words that say what to do. */

import { NotReached, Refused } from "./api.js";
import { t } from "./texts.js";

/** @param {unknown} error */
export function explain(error) {
  if (error instanceof NotReached) return t("error.offline");
  if (!(error instanceof Refused)) return t("error.page");
  if (error.status === 401) return t("error.signed_out");
  if (error.status === 403) return error.message || t("error.forbidden");
  if (error.status === 404) return t("error.gone");
  if (error.status === 429) return t("error.too_many");
  if (error.status >= 500) return t("error.service");
  return saidOf(error.message) || t("error.page");
}

/** Without the API's names of what people typed or followed. @param {string} text */
function saidOf(text) {
  if (text.startsWith("Parameter uuid ")) return t("error.gone");
  const said = text.replace(/^Parameter [a-z_]+: /, "");
  return said.charAt(0).toUpperCase() + said.slice(1);
}
