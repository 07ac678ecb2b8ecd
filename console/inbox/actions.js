/** What can be done with an open conversation. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { attempt } from "../parts/notices.js";
import { Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { useAll } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { useKeys } from "./keys.js";
import { LabelDialog } from "./label_dialog.js";
import { TicketDialog } from "./ticket_dialog.js";

/** @typedef {import("./thread.js").Contact} Contact */

/** @param {{contact: Contact | undefined, messages: import("./thread_data.js").Message[], refresh: () => void}} props */
export function Actions({ contact, messages, refresh }) {
  const [dialog, setDialog] = useState("");
  const latest = messages.findLast((message) => message.direction === "in" && message.visibility !== "deleted");
  const canLabel = may("act_on_messages") && !!latest;
  const act = (/** @type {"archive_messages" | "interrupt" | "block" | "unblock"} */ action, /** @type {string} */ done) => async () => {
    if (!contact) return;
    await attempt(() => post("contact_actions", { contacts: [contact.uuid], action }), done);
    refresh();
  };
  const archive = act("archive_messages", t("inbox.archived"));
  const can = may("act_on_contacts") && !!contact;
  useKeys({ archive: () => can && archive(), label: () => canLabel && setDialog("label"), ticket: () => may("create_ticket") && contact && setDialog("ticket") });
  const block = { title: t("contact.block"), text: t("contact.block_text"), submit: t("contact.block"), onYes: act("block", t("contact.blocked")) };
  const items = [
    canLabel && { text: t("act.label"), icon: "label", onPick: () => setDialog("label"), onlyNarrow: true },
    can && { text: t("act.archive"), icon: "archive", onPick: archive, onlyNarrow: true },
    may("create_ticket") && { text: t("ticket.open_new"), icon: "ticket", onPick: () => setDialog("ticket") },
    may("create_flow_start") && { text: t("flow.start"), icon: "play", onPick: () => setDialog("flow") },
    can && contact?.flow && { text: t("flow.interrupt"), icon: "stop", onPick: act("interrupt", t("flow.interrupted")) },
    can && (contact?.blocked
      ? { text: t("contact.unblock"), icon: "check", onPick: act("unblock", t("contact.unblocked")) }
      : { text: t("contact.block"), icon: "block", danger: true, onPick: () => confirmFirst(block) }),
  ];
  const close = () => {
    setDialog("");
    refresh();
  };
  return html`
    <div class="actions">
      ${canLabel && html`<button type="button" class="quiet icon-only only-large" aria-label=${t("act.label")} title=${t("act.label")} onClick=${() => setDialog("label")}><${Icon} name="label" /></button>`}
      ${can && html`<button type="button" class="quiet icon-only only-large" aria-label=${t("act.archive")} title=${t("act.archive")} onClick=${archive}><${Icon} name="archive" /></button>`}
      <${Menu} label=${t("act.more_actions")} items=${items} />
    </div>
    ${dialog === "label" && latest && html`<${LabelDialog} messages=${[latest]} onClose=${close} />`}
    ${dialog === "ticket" && contact && html`<${TicketDialog} contact=${contact.uuid} onClose=${close} />`}
    ${dialog === "flow" && contact && html`<${FlowDialog} contact=${contact} onClose=${close} />`}
  `;
}

/** @param {{contact: Contact, onClose: () => void}} props */
function FlowDialog({ contact, onClose }) {
  const flows = useAll("flows").filter((flow) => !flow.archived);
  const start = (/** @type {FormData} */ data) => post("flow_starts", { flow: String(data.get("flow")), contacts: [contact.uuid] });
  return html`
    <${FormDialog} title=${t("flow.start")} submit=${t("act.start")} onSubmit=${start} onClose=${onClose}>
      <${Field} label=${t("flow.flow")} id="flow" help=${contact.flow ? t("flow.start_help") : undefined}>
        <select id="flow" name="flow" required>${flows.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid}>${name}</option>`)}</select>
      <//>
    <//>
  `;
}
