/** Flows: what runs, how far people came, and what they answered. */

import { Icon } from "../parts/icons.js";
import { Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { CalendarPage } from "./calendar.js";
import { FlowPage } from "./flow.js";
import { StartDialog } from "./start_dialog.js";

/** @typedef {import("../shared/contract.js").Listed<"flows">} Flow */

const ENDS = /** @type {const} */ (["completed", "active", "interrupted", "expired"]);

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Flows({ place }) {
  const [uuid] = place.parts;
  if (uuid === "calendar") return html`<${CalendarPage} />`;
  return uuid ? html`<${FlowPage} key=${uuid} uuid=${uuid} query=${place.query} />` : html`<${FlowList} />`;
}

function FlowList() {
  const list = useList("flows", { archived: "false" });
  const [starting, setStarting] = useState(/** @type {Flow | null} */ (null));
  useChanges(["run", "flow_start"], list.refresh);
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("flows.title")}</h1><span class="grows"></span>
        ${may("list_triggers") && html`<a class="button" href=${link(["triggers"])}><${Icon} name="play" size=${18} /> ${t("triggers.title")}</a>`}
        ${may("list_campaigns") && html`<a class="button" href=${link(["campaigns"])}><${Icon} name="campaign" size=${18} /> ${t("campaigns.title")}</a>`}
        ${may("read_calendar") && html`<a class="button" href=${link(["flows", "calendar"])}><${Icon} name="clock" size=${18} /> ${t("calendar.title")}</a>`}</header>
      ${isEmpty && html`<${Empty} icon="flow" title=${t("flows.empty")} text=${t("flows.empty_text")} />`}
      <ul class="cards">${list.items.map((flow) => html`<${Card} key=${flow.uuid} flow=${flow} onStart=${() => setStarting(flow)} />`)}</ul>
      <${ListEnd} list=${list} />
      ${starting && html`<${StartDialog} flow=${starting} onClose=${() => (setStarting(null), list.refresh())} />`}
    </main>
  `;
}

/** @param {{flow: Flow, onStart: () => void}} props */
function Card({ flow, onStart }) {
  const all = ENDS.reduce((sum, end) => sum + flow.runs[end], 0);
  return html`
    <li class="card flow-card">
      <header>
        <span class="empty-icon small"><${Icon} name="flow" size=${20} /></span>
        <div><h2><a href=${link(["flows", flow.uuid])}>${flow.name}</a></h2><p>${word("flow_type", flow.type)} · ${listTime(flow.modified_on)}</p></div>
        ${may("create_flow_start") && html`<button type="button" onClick=${onStart}><${Icon} name="play" size=${16} /> ${t("act.start")}</button>`}
      </header>
      <div class="shares" aria-hidden="true">${ENDS.map((end) => flow.runs[end] > 0 && html`<span key=${end} class=${`share ${end}`} style=${{ flexGrow: flow.runs[end] }}></span>`)}</div>
      <dl class="figures">
        <div><dt>${t("flows.runs")}</dt><dd>${number(all)}</dd></div>
        ${ENDS.map((end) => html`<div key=${end}><dt><span class=${`dot ${end}`}></span>${word("run_status", end)}</dt><dd>${number(flow.runs[end])}</dd></div>`)}
      </dl>
      ${flow.results.length > 0 && html`<h3>${t("flows.results")}</h3><ul>${flow.results.map(({ key, name, categories }) => html`<li key=${key}>${name}: <span class="tags inline">${categories.map((category) => html`<span class="tag">${category}</span>`)}</span></li>`)}</ul>`}
    </li>
  `;
}
