/** Choosing a folder or a label: those of every day as tabs with their counts, the others in a menu. */

import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { get } from "../shared/api.js";
import { counts, countText } from "../shared/counts.js";
import { useAll } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { number, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";

export const SNOOZED = "snoozed";
export const [TO_ANSWER, MINE, UNREAD, ALL] = ["inbox", "mine", "unread", "all"];

/** @type {[string, import("../shared/texts.js").Key, "waiting" | "mine" | "unread" | undefined][]} */
const TABS = [
  [TO_ANSWER, "folder.inbox", "waiting"],
  [MINE, "tickets.mine", "mine"],
  [UNREAD, "folder.unread", "unread"],
  [ALL, "inbox.all", undefined],
];
/** @type {[string, import("../shared/texts.js").Key][]} */
const OTHERS = [
  [SNOOZED, "folder.snoozed"],
  ["flows", "folder.flows"],
  ["archived", "folder.archived"],
  ["outbox", "folder.outbox"],
  ["sent", "folder.sent"],
  ["failed", "folder.failed"],
];

/** How many are put away, asked for when somebody opens the menu. @param {number} opened how often */
function useSnoozedCount(opened) {
  const [count, setCount] = useState("");
  useEffect(() => {
    if (opened === 0) return;
    const keep = (/** @type {any} */ { count: { value, is_exact: isExact } }) => setCount(value ? `${number(value)}${isExact ? "" : "+"}` : "");
    get("conversations", { folder: SNOOZED, count: true, page_size: 1, fields: ["uuid"] }).then(keep, () => {});
  }, [opened]);
  return count;
}

/** The folder of an address: what waits for an answer, unless somebody looks for something. @param {Record<string, string>} query */
export const folderShown = ({ folder, label, search }) => folder || (label || search ? ALL : TO_ANSWER);

/** @param {{folder: string, label: string, search: string}} props */
export function Folders({ folder, label, search }) {
  const [opened, setOpened] = useState(0);
  const labels = useAll(may("list_labels") ? "labels" : null, opened);
  const snoozed = useSnoozedCount(opened);
  const folders = OTHERS.map(([name, text]) => ({ id: name, text: name === SNOOZED && snoozed ? `${t(text)} (${snoozed})` : t(text), checked: name === folder, onPick: () => go(["inbox"], { folder: name, search }) }));
  const labelled = labels.map(({ uuid, name }) => ({ id: uuid, text: name ?? "", icon: "label", checked: uuid === label, onPick: () => go(["inbox"], { label: uuid, search }) }));
  const exported = may("list_exports") && { text: t("exports.title"), icon: "download", onPick: () => go(["exports"], { type: "messages", folder: OTHERS.some(([name]) => name === folder) ? folder : "" }) };
  const other = OTHERS.find(([name]) => name === folder);
  const chosen = label ? labels.find(({ uuid }) => uuid === label)?.name : other && t(other[1]);
  const tabs = TABS.filter(([, , count]) => count !== "mine" || may("list_tickets"));
  return html`
    <${Menu} label=${t("inbox.more_folders")} items=${[...folders, ...labelled, exported]} text=${html`${chosen ?? t("inbox.more")} <${Icon} name="down" size=${16} />`}
      className=${chosen ? "quiet folder-button is-chosen" : "quiet folder-button"} onOpen=${() => setOpened(opened + 1)} />
    <nav class="views folders" aria-label=${t("inbox.folders")}>
      ${tabs.map(([name, text, count]) => html`<a key=${name} href=${link(["inbox"], { folder: name === TO_ANSWER && !search ? "" : name, search })} aria-current=${name === folder && !label ? "true" : undefined}>
          ${t(text)}${count && html` <${TabCount} of=${count} />`}</a>`)}
    </nav>`;
}

/** Drawn by itself: most messages change nothing else of the folders. @param {{of: "waiting" | "mine" | "unread"}} props */
function TabCount({ of }) {
  const count = counts.value[of];
  return count.value > 0 && html`<span class="tab-count">${countText(count)}</span>`;
}
