/** What can be done with an open conversation. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { LoadedDialog } from "../parts/loaded.js";
import { Menu } from "../parts/menu.js";
import { attempt } from "../parts/notices.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { useAll } from "../shared/lists.js";
import { tell } from "../shared/live.js";
import { takenBack } from "../shared/parts.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { useKeys } from "./keys.js";

/** Dialogs are loaded when they are first opened. */
const loadLabels = () => import("./label_dialog.js");
const loadSnooze = () => import("./snooze.js");
const loadTicket = () => import("./ticket_dialog.js");

/** @typedef {import("./thread.js").Contact} Contact */
/** @typedef {"interrupt" | "block" | "unblock"} Action */

/** @param {{contact: Contact | undefined, messages: import("./thread_data.js").Message[], back: string, refresh: () => void}} props `back` is the address of the list */
export function Actions({ contact, messages, back, refresh }) {
  const [dialog, setDialog] = useState("");
  const came = messages.filter((message) => message.direction === "in" && message.visibility !== "deleted");
  const latest = came.at(-1);
  const canLabel = may("act_on_messages") && !!latest;
  const act = (/** @type {Action} */ action, /** @type {string} */ done, /** @type {Action | undefined} */ inverse = undefined) => async () => {
    if (!contact) return;
    const run = async (/** @type {Action} */ deed) => {
      await post("contact_actions", { contacts: [contact.uuid], action: deed });
      refresh();
    };
    await attempt(() => run(action), done, inverse && (() => run(inverse)));
  };
  const isArchived = came.length > 0 && came.every((message) => message.archived);
  const archive = async () => {
    if (!contact) return;
    const taken = takenBack(isArchived ? "restore_messages" : "archive_messages");
    const run = (/** @type {(key: string) => Promise<void>} */ work) => (key = newKey()) => work(key).then(refresh);
    await attempt(run((key) => taken.work([contact.uuid], key)), t(isArchived ? "inbox.moved_back" : "inbox.archived"), run(taken.undo));
  };
  const [archiveText, archiveIcon] = isArchived ? [t("inbox.move_back"), "inbox"] : [t("act.archive"), "archive"];
  const can = may("act_on_contacts") && !!contact;
  const leaveUnread = async () => {
    if (!contact) return;
    // Whoever stayed would read it at once, when the service tells that it is unread: that may come before the answer.
    location.hash = back;
    await post("conversations", { contacts: [contact.uuid], action: "unread" });
  };
  const readAgain = async () => {
    if (!contact) return;
    await post("conversations", { contacts: [contact.uuid], action: "read" });
    tell({ kind: "mark", record: { uuid: contact.uuid, unread: false } });
  };
  const canSnooze = may("act_on_conversations") && !!contact && messages.length > 0;
  useKeys({ snooze: () => canSnooze && setDialog("snooze"), archive: () => can && archive(), label: () => canLabel && setDialog("label"), ticket: () => may("create_ticket") && setDialog("ticket") });
  const block = { title: t("contact.block"), text: t("contact.block_text"), submit: t("contact.block"), onYes: act("block", t("contact.blocked")) };
  const items = [
    canLabel && { text: t("act.label"), icon: "label", onPick: () => setDialog("label"), onlyNarrow: true },
    can && { text: archiveText, icon: archiveIcon, onPick: archive, onlyNarrow: true },
    canSnooze && { text: t("snooze.title"), icon: "clock", onPick: () => setDialog("snooze"), onlyNarrow: true },
    may("act_on_conversations") && !!latest && { text: t("inbox.mark_unread"), icon: "inbox", onPick: () => attempt(leaveUnread, t("inbox.marked_unread"), readAgain) },
    may("create_ticket") && { text: t("ticket.open_new"), icon: "ticket", onPick: () => setDialog("ticket") },
    may("create_flow_start") && { text: t("flow.start"), icon: "play", onPick: () => setDialog("flow") },
    can && contact?.flow && { text: t("flow.interrupt"), icon: "stop", onPick: act("interrupt", t("flow.interrupted")) },
    can && (contact?.blocked
      ? { text: t("contact.unblock"), icon: "check", onPick: act("unblock", t("contact.unblocked"), "block") }
      : { text: t("contact.block"), icon: "block", danger: true, onPick: () => confirmFirst(block) }),
  ];
  const close = () => {
    setDialog("");
    refresh();
  };
  return html`
    <div class="actions">
      ${canLabel && html`<button type="button" class="quiet icon-only only-large" aria-label=${t("act.label")} title=${t("act.label")} onClick=${() => setDialog("label")}><${Icon} name="label" /></button>`}
      ${canSnooze && html`<button type="button" class="quiet icon-only only-large" aria-label=${t("snooze.title")} title=${t("snooze.title")} onClick=${() => setDialog("snooze")}><${Icon} name="clock" /></button>`}
      ${can && html`<button type="button" class="quiet icon-only only-large" aria-label=${archiveText} title=${archiveText} onClick=${archive}><${Icon} name=${archiveIcon} /></button>`}
      <${Menu} label=${t("act.more_actions")} items=${items} />
    </div>
    ${dialog === "label" && latest && html`<${LoadedDialog} load=${loadLabels} messages=${[latest]} onClose=${close} onUndone=${refresh} />`}
    ${dialog === "snooze" && contact && html`<${LoadedDialog} load=${loadSnooze} contact=${contact.uuid} onClose=${close} />`}
    ${dialog === "ticket" && contact && html`<${LoadedDialog} load=${loadTicket} contact=${contact.uuid} onClose=${close} />`}
    ${dialog === "flow" && contact && html`<${FlowDialog} contact=${contact} onClose=${close} />`}
  `;
}

/** @param {{contact: Contact, onClose: () => void}} props */
function FlowDialog({ contact, onClose }) {
  const flows = useAll("flows").filter((flow) => !flow.archived);
  const start = (/** @type {FormData} */ data) => post("flow_starts", { flow: String(data.get("flow")), contacts: [contact.uuid] });
  return html`
    <${FormDialog} title=${t("flow.start")} submit=${t("act.start")} disabled=${flows.length === 0} onSubmit=${start} onClose=${onClose}>
      <${Field} label=${t("flow.flow")} id="flow" help=${contact.flow ? t("flow.start_help") : undefined}>
        <select id="flow" name="flow" required>${flows.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid}>${name}</option>`)}</select>
      <//>
    <//>
  `;
}
