/** Triggers: what starts flows by itself. */

import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { attempt } from "../parts/notices.js";
import { Empty, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { useChannelNames } from "../shared/names.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { shortTime, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { dayNames } from "../shared/weekdays.js";
import { TriggerDialog } from "./form.js";
import { TryMessage } from "./try_message.js";

/** @typedef {import("../shared/contract.js").Listed<"triggers">} Trigger */

/** What was put away is in a list of its own. */
const ARCHIVED = { view: "archived" };
/** @type {Record<string, string>} */
const ICONS = { schedule: "clock", missed_call: "call", incoming_call: "call", ticket: "ticket" };

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Triggers({ place }) {
  const isArchived = place.query.view === ARCHIVED.view;
  const list = useList("triggers", { archived: isArchived ? "true" : "false" });
  const [edited, setEdited] = useState(/** @type {Trigger | "new" | null} */ (null));
  const channelNameOf = useChannelNames(list.items.map(({ channel }) => channel));
  const add = may("write_trigger") && html`<button type="button" class="primary" onClick=${() => setEdited("new")}><${Icon} name="plus" size=${18} /> ${t("triggers.new")}</button>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("triggers.title")}</h1><span class="grows"></span>${!isEmpty && add}</header>
      <nav class="views" aria-label=${t("triggers.views")}>
        <a href=${link(["triggers"])} aria-current=${isArchived ? undefined : "true"}>${t("triggers.active")}</a>
        <a href=${link(["triggers"], ARCHIVED)} aria-current=${isArchived ? "true" : undefined}>${t("triggers.archived")}</a>
      </nav>
      ${isEmpty && html`<${Empty} icon="flow" title=${t(isArchived ? "triggers.none_archived" : "triggers.empty")} text=${t("triggers.empty_text")}>${!isArchived && add}<//>`}
      ${!isEmpty && !isArchived && html`<${TryMessage} />`}
      <ul class="stack">${list.items.map((trigger) => html`<${Row} key=${trigger.uuid} trigger=${trigger} channelNameOf=${channelNameOf} onEdit=${() => setEdited(trigger)} onChange=${list.reload} />`)}</ul>
      <${ListEnd} list=${list} />
      ${edited && html`<${TriggerDialog} trigger=${edited === "new" ? null : edited} onDone=${list.reload} onClose=${() => setEdited(null)} />`}
    </main>
  `;
}

/** @param {{trigger: Trigger, channelNameOf: ReturnType<typeof useChannelNames>, onEdit: () => void, onChange: () => void}} props */
function Row({ trigger, channelNameOf, onEdit, onChange }) {
  const { uuid, type, flow, keywords, match, channel, groups, exclude_groups, contacts, repeat, days, next_fire_on, archived, error } = trigger;
  const put = async (/** @type {boolean} */ away) => {
    const done = t(away ? "triggers.is_archived" : "triggers.is_restored");
    const turn = (/** @type {boolean} */ archived) => post("triggers", { archived }, { uuid }).then(onChange);
    await attempt(() => turn(away), done, () => turn(!away));
  };
  const drop = () =>
    confirmFirst({
      title: t("triggers.delete_ask", { flow: flow.name }),
      text: t("triggers.delete_text"),
      submit: t("act.delete"),
      onYes: async () => (await remove("triggers", { uuid }), onChange()),
    });
  const often = repeat && repeat !== "never" ? [word("repeat", repeat), repeat === "weekly" && days ? dayNames(days).join(", ") : ""].filter(Boolean).join(": ") : "";
  return html`
    <li class="card trigger">
      <header>
        <span class="empty-icon small"><${Icon} name=${ICONS[type] ?? "inbox"} size=${20} /></span>
        <div>
          <h2>${word("trigger_type", type)}</h2>
          <p>${t("triggers.starts")} <a href=${link(["flows", flow.uuid])}><bdi>${flow.name}</bdi></a></p>
        </div>
        ${may("write_trigger") && html`
          ${!archived && html`<button type="button" onClick=${onEdit}>${t("act.edit")}</button>`}
          <${Menu} label=${t("act.more_actions")} items=${[
            archived ? { text: t("act.restore"), onPick: () => put(false) } : { text: t("act.archive"), icon: "archive", onPick: () => put(true) },
            { text: t("act.delete"), icon: "trash", danger: true, onPick: drop },
          ]} />`}
      </header>
      ${keywords.length > 0 && html`<p class="tags">${keywords.map((each) => html`<span key=${each} class="tag" dir="auto">${each}</span>`)} <span class="help">${word("keyword_match", match)}</span></p>`}
      <dl class="facts">
        ${next_fire_on && html`<div><dt>${t("triggers.next")}</dt><dd><time datetime=${next_fire_on}>${shortTime(next_fire_on)}</time></dd></div>`}
        ${often && html`<div><dt>${t("triggers.repeat")}</dt><dd>${often}</dd></div>`}
        ${channel && html`<div><dt>${t("triggers.channel")}</dt><dd><bdi>${channelNameOf(channel)}</bdi></dd></div>`}
        ${groups.length > 0 && html`<div><dt>${t(type === "schedule" ? "triggers.starts_groups" : "triggers.groups")}</dt><dd>${groups.map(({ name }) => name).join(", ")}</dd></div>`}
        ${exclude_groups.length > 0 && html`<div><dt>${t("triggers.exclude_groups")}</dt><dd>${exclude_groups.map(({ name }) => name).join(", ")}</dd></div>`}
        ${contacts.length > 0 && html`<div><dt>${t("triggers.contacts")}</dt><dd>${contacts.map(({ name }) => name || t("contact.unnamed")).join(", ")}</dd></div>`}
      </dl>
      ${error && html`<p class="problem" dir="auto">${error}</p>`}
    </li>
  `;
}
