/** Choosing a folder or a label. */

import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { useAll } from "../shared/lists.js";
import { go } from "../shared/router.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

/** @type {[string, import("../shared/texts.js").Key][]} */
const FOLDERS = [
  ["", "folder.all"],
  ["inbox", "folder.inbox"],
  ["unread", "folder.unread"],
  ["flows", "folder.flows"],
  ["archived", "folder.archived"],
  ["outbox", "folder.outbox"],
  ["sent", "folder.sent"],
  ["failed", "folder.failed"],
];

/** @param {{folder: string, label: string, search: string}} props */
export function Folders({ folder, label, search }) {
  const [opened, setOpened] = useState(0);
  const labels = useAll(may("list_labels") ? "labels" : null, opened);
  const folders = FOLDERS.map(([name, text]) => ({
    text: t(text),
    checked: name === folder && !label,
    onPick: () => go(["inbox"], { folder: name, search }),
  }));
  const labelled = labels.map(({ uuid, name }) => ({
    id: uuid,
    text: name ?? "",
    icon: "label",
    checked: uuid === label,
    onPick: () => go(["inbox"], { label: uuid, search }),
  }));
  const exported = may("list_exports") && { text: t("exports.title"), icon: "download", onPick: () => go(["exports"], { type: "messages", folder }) };
  const shown = labels.find(({ uuid }) => uuid === label)?.name ?? t(FOLDERS.find(([name]) => name === folder)?.[1] ?? "folder.all");
  return html`<${Menu} label=${t("inbox.folders")} items=${[...folders, ...labelled, exported]} text=${html`${shown} <${Icon} name="down" size=${16} />`}
    className="quiet folder-button" onOpen=${() => setOpened(opened + 1)} />`;
}
