/** From lists of people to the form of a message to them. */

import { notify } from "../parts/notices.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { go } from "../shared/router.js";
import { t } from "../shared/texts.js";
import { DRAFT, NOTHING } from "./draft.js";

/** The most contacts to whom the API takes a message by their UUIDs. */
const MOST_WRITTEN_TO = 100;

/** @param {import("./draft.js").Named[]} contacts */
export function writeTo(contacts) {
  if (contacts.length > MOST_WRITTEN_TO) return notify(t("contacts.too_many_to_write"), true);
  keepDraft(DRAFT, { ...NOTHING, ...loadDraft(DRAFT, NOTHING), contacts });
  go(["broadcasts", "new"]);
}

/** To all who match a query, or are in a group. @param {{query?: string, members_of?: string}} who */
export function writeToMatching({ query = "", members_of: group }) {
  keepDraft(DRAFT, { ...NOTHING, ...loadDraft(DRAFT, NOTHING), query, groups: group ? [group] : [] });
  go(["broadcasts", "new"]);
}
