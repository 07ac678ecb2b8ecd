/** Campaigns: messages and flows around a date of each contact. */

import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Empty, Field, ListEnd } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { useAll, useList, withChosen } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { dateText, number, t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";
import { CampaignPage } from "./campaign.js";

/** @typedef {import("../shared/contract.js").Listed<"campaigns">} Campaign */

/** What was put away is in a list of its own. */
const ARCHIVED = { view: "archived" };

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Campaigns({ place }) {
  const [uuid] = place.parts;
  return uuid ? html`<${CampaignPage} key=${uuid} uuid=${uuid} />` : html`<${CampaignList} key=${place.query.view} isArchived=${place.query.view === ARCHIVED.view} />`;
}

/** @param {{isArchived: boolean}} props */
function CampaignList({ isArchived }) {
  const list = useList("campaigns", { archived: isArchived ? "true" : "false" });
  const [adding, setAdding] = useState(false);
  const add = may("write_campaign") && html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" size=${18} /> ${t("campaigns.new")}</button>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("campaigns.title")}</h1><span class="grows"></span>
        ${may("read_calendar") && html`<a class="button" href=${link(["flows", "calendar"])}><${Icon} name="clock" size=${18} /> ${t("calendar.title")}</a>`}
        ${!isEmpty && add}</header>
      <nav class="views" aria-label=${t("campaigns.views")}>
        <a href=${link(["campaigns"])} aria-current=${isArchived ? undefined : "true"}>${t("campaigns.active")}</a>
        <a href=${link(["campaigns"], ARCHIVED)} aria-current=${isArchived ? "true" : undefined}>${t("campaigns.archived")}</a>
      </nav>
      ${isEmpty && html`<${Empty} icon="campaign" title=${t(isArchived ? "campaigns.none_archived" : "campaigns.empty")} text=${t("campaigns.empty_text")}>${!isArchived && add}<//>`}
      <ul class="stack">${list.items.map((campaign) => html`
        <li key=${campaign.uuid} class="card campaign"><header>
          <span class="empty-icon small"><${Icon} name="campaign" size=${20} /></span>
          <div><h2><a href=${link(["campaigns", campaign.uuid])}><bdi>${campaign.name}</bdi></a></h2>
            <p>${t("campaigns.for_group", { group: campaign.group.name })} · ${dateText(campaign.created_on)}</p></div>
        </header></li>`)}</ul>
      <${ListEnd} list=${list} />
      ${adding && html`<${CampaignDialog} campaign=${null} onDone=${(/** @type {Campaign} */ made) => go(["campaigns", made.uuid])} onClose=${() => setAdding(false)} />`}
    </main>
  `;
}

/** The name and the group of a campaign; without one it is created. @param {{campaign: Campaign | null, onDone: (campaign: Campaign) => void, onClose: () => void}} props */
export function CampaignDialog({ campaign, onDone, onClose }) {
  const groups = withChosen(useAll("groups").filter(({ status }) => status === "ready"), [campaign?.group]);
  const key = useRef(newKey());
  const save = async (/** @type {FormData} */ data) => {
    const written = { name: String(data.get("name")).trim(), group: String(data.get("group")) };
    onDone(await post("campaigns", written, campaign ? { uuid: campaign.uuid } : undefined, key.current));
  };
  return html`
    <${FormDialog} title=${t(campaign ? "campaigns.change" : "campaigns.new")} submit=${t("act.save")} draft=${`campaign.${campaign?.uuid ?? ""}`} onSubmit=${save} onClose=${onClose}>
      <${Field} label=${t("contact.name")} id="campaign-name"><input id="campaign-name" name="name" required maxlength="64" dir="auto" defaultValue=${campaign?.name ?? ""} /><//>
      <${Field} label=${t("campaigns.group")} id="campaign-group" help=${t("campaigns.group_help")}>
        <select id="campaign-group" name="group" required aria-describedby="campaign-group-help">
          <option value="">${t("gateway.not_chosen")}</option>
          ${groups.map(({ uuid, name, count }) => html`<option key=${uuid} value=${uuid} selected=${uuid === campaign?.group.uuid}>${count === undefined ? name : `${name} (${number(count)})`}</option>`)}
        </select><//>
    <//>
  `;
}
