/** Texts that the people of the workspace use again and again. */

import { attempt } from "../parts/notices.js";
import { post, remove } from "../shared/api.js";
import { loadAll } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { useEffect, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"saved_replies">} SavedReply */

const NAME_LENGTH = 48;

/**
 * The entries of the menu of saved texts.
 * @param {string} text what is written at present
 * @param {(text: string) => void} use
 */
export function useSavedReplies(text, use) {
  const [saved, setSaved] = useState(/** @type {SavedReply[]} */ ([]));
  const load = () => loadAll("saved_replies").then(setSaved, () => {});
  useEffect(() => void load(), []);
  const present = text.trim();
  const same = saved.find((reply) => reply.text === present);
  const save = () => attempt(() => post("saved_replies", { name: present.slice(0, NAME_LENGTH), text: present }).then(load), t("reply.is_saved"));
  const forget = (/** @type {string} */ uuid) => attempt(() => remove("saved_replies", { uuid }).then(load));
  return [
    ...saved.map((reply) => ({ id: reply.uuid, text: reply.name, onPick: () => use(reply.text) })),
    present && !same && may("write_saved_reply") ? { text: t("reply.save"), icon: "plus", onPick: save } : null,
    same && may("write_saved_reply") ? { text: t("reply.forget"), icon: "trash", onPick: () => forget(same.uuid) } : null,
    !saved.length && !present ? { text: t("reply.saved_empty"), icon: "info", onPick: () => {} } : null,
  ];
}
