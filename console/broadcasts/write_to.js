/** From lists of people to the form of a message to them. */

import { notify } from "../parts/notices.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { go } from "../shared/router.js";
import { t } from "../shared/texts.js";
import { DRAFT, NOTHING } from "./draft.js";

/** The most contacts for whom the API takes a message, or a start of a flow, by their UUIDs. */
const MOST_NAMED = 100;

/** Whether a request can name so many; if not, people are told. @param {import("./draft.js").Named[]} contacts */
export function canName(contacts) {
  if (contacts.length > MOST_NAMED) notify(t("contacts.too_many_to_write"), true);
  return contacts.length <= MOST_NAMED;
}

/** @param {import("./draft.js").Named[]} contacts */
export function writeTo(contacts) {
  if (!canName(contacts)) return;
  keepDraft(DRAFT, { ...NOTHING, ...loadDraft(DRAFT, NOTHING), contacts });
  go(["broadcasts", "new"]);
}

/** To all who match a query. @param {string} query */
export function writeToMatching(query) {
  keepDraft(DRAFT, { ...NOTHING, ...loadDraft(DRAFT, NOTHING), query, groups: [], contacts: [] });
  go(["broadcasts", "new"]);
}
