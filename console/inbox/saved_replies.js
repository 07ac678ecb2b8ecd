/** Texts that a person uses again and again. They are kept in this browser. */

import { keepDraft, loadDraft } from "../shared/drafts.js";
import { t } from "../shared/texts.js";

const NAME = "saved-replies";
const SHOWN = 48;

/**
 * The menu of saved texts. @param {string} text what is written at present
 * @param {(text: string) => void} use
 */
export function savedReplies(text, use) {
  const saved = loadDraft(NAME, /** @type {string[]} */ ([]));
  const present = text.trim();
  return [
    ...saved.map((reply) => ({ text: reply.length > SHOWN ? `${reply.slice(0, SHOWN)}…` : reply, onPick: () => use(reply) })),
    present && !saved.includes(present)
      ? { text: t("reply.save"), icon: "plus", onPick: () => keepDraft(NAME, [...saved, present]) }
      : null,
    saved.includes(present)
      ? { text: t("reply.forget"), icon: "trash", onPick: () => keepDraft(NAME, saved.filter((reply) => reply !== present)) }
      : null,
    !saved.length && !present ? { text: t("reply.saved_empty"), icon: "info", onPick: () => {} } : null,
  ];
}
