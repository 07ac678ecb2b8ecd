/** Texts that the people of the workspace use again and again. */

import { attempt } from "../parts/notices.js";
import { newKey, post, remove } from "../shared/api.js";
import { fieldText } from "../shared/field_values.js";
import { revalidate, refetch, useCached } from "../shared/lists.js";
import { folded } from "../shared/marked.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useEffect } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"saved_replies">} SavedReply */
/** @typedef {import("../shared/contract.js").Listed<"fields">} FieldRecord */

const NAME_LENGTH = 48;
const MOST_FOUND = 6;

/** What a saved text may say of the contact, as expressions of flows do. */
const VARIABLE = /@contact\.(first_name|name|fields\.[a-z0-9_]+)/g;

/** A saved text with what is known of the contact; what is not known stays to be filled in. @param {string} text @param {import("./thread.js").Contact | undefined} contact
 * @param {FieldRecord[]} fields those of the workspace: a date is written as people read it */
export const filledIn = (text, contact, fields) =>
  text.replace(VARIABLE, (whole, name) => {
    if (name.startsWith("fields.")) {
      const key = name.slice("fields.".length);
      return fieldText(contact?.fields[key], fields.find((each) => each.key === key)?.type ?? "text") || whole;
    }
    return (name === "name" ? contact?.name : contact?.name?.trim().split(/\s+/)[0]) || whole;
  });

/**
 * The entries of the menu of saved texts, those that have what is written after a slash, or null if none is sought, and the fields that they name.
 * @param {string} text what is written at present
 * @param {(reply: SavedReply) => void} use
 * @returns {[(import("../parts/menu.js").Item | null)[], SavedReply[] | null, FieldRecord[]]}
 */
export function useSavedReplies(text, use) {
  const saved = useCached("saved_replies");
  const load = () => refetch("saved_replies");
  const fields = useCached(saved.some((reply) => reply.text.includes("@contact.fields.")) ? "fields" : null);
  const present = text.trim();
  const same = saved.find((reply) => reply.text === present);
  const keep = async (/** @type {{name: string, text: string, label?: string | null, closes_ticket?: boolean}} */ reply, key = newKey()) => {
    const { uuid } = await post("saved_replies", reply, undefined, key);
    await load();
    return uuid;
  };
  const drop = (/** @type {string} */ uuid) => remove("saved_replies", { uuid }).then(load);
  const save = () => {
    let kept = "";
    return attempt(async () => (kept = await keep({ name: present.slice(0, NAME_LENGTH), text: present })), t("reply.is_saved"), () => drop(kept));
  };
  const forget = (/** @type {SavedReply} */ { uuid, name, text, label, closes_ticket }) =>
    attempt(() => drop(uuid), t("reply.is_forgotten"), (key) => keep({ name, text, label: label?.uuid ?? null, closes_ticket }, key).then(() => {}));
  const sought = /^\/([^\n]*)$/.exec(text)?.[1];
  const isSought = sought !== undefined;
  useEffect(() => void (isSought && revalidate("saved_replies")), [isSought]);
  const found = sought === undefined ? null : saved.filter((reply) => has(`${reply.name} ${reply.text}`, sought)).slice(0, MOST_FOUND);
  const entries = [
    ...saved.map((reply) => ({ id: reply.uuid, text: reply.name, onPick: () => use(reply) })),
    present && !same && may("write_saved_reply") ? { text: t("reply.save"), icon: "plus", onPick: save } : null,
    same && may("write_saved_reply") ? { text: t("reply.forget"), icon: "trash", onPick: () => forget(same) } : null,
    !saved.length && !present ? { text: t("reply.saved_empty"), icon: "info", onPick: () => {} } : null,
  ];
  return [entries, found && found.length > 0 ? found : null, fields];
}

/** What is done when a saved reply is sent, in words, or "". @param {SavedReply} reply */
const deedsOf = ({ label, closes_ticket }) => [label && t("reply.then_label", { name: label.name }), closes_ticket && t("reply.then_close")].filter(Boolean).join(" · ");

/** What a draft remembers of the saved reply it was made of, if more is done than to send it.
 * @typedef {{uuid: string, deeds: string}} Beside
 * @param {SavedReply} reply @returns {Beside | null} */
export const besideOf = (reply) => (deedsOf(reply) ? { uuid: reply.uuid, deeds: deedsOf(reply) } : null);

/** Draws the saved texts among which the keys of the box choose. @param {{found: SavedReply[], at: number, onPick: (reply: SavedReply) => void}} props */
export const FoundReplies = ({ found, at, onPick }) => html`
  <div class="found-replies" id="found-replies" role="listbox" aria-label=${t("reply.saved")}>
    ${found.map((reply, place) => html`<div key=${reply.uuid} id=${`saved-${reply.uuid}`} role="option" aria-selected=${place === at} class=${place === at ? "palette-entry is-present" : "palette-entry"} onClick=${() => onPick(reply)}>
      <strong><bdi>${reply.name}</bdi></strong> <span class="palette-text faint"><bdi>${reply.text}</bdi></span>
    </div>`)}
  </div>
`;

/** @param {string} text @param {string} sought */
const has = (text, sought) => folded(text).includes(folded(sought.trim()));
