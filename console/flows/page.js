/** Flows: what runs, how far people came, and what they answered. */

import { Icon } from "../parts/icons.js";
import { Loaded } from "../parts/loaded.js";
import { Menu } from "../parts/menu.js";
import { Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { CalendarPage } from "./calendar.js";
import { FlowPage } from "./flow.js";
import { FlowDialog, flowItems } from "./flow_forms.js";
import { ImportPage } from "./import.js";
import { StartDialog } from "./start_dialog.js";
import { TemplatesPage } from "./templates.js";

/** @typedef {import("../shared/contract.js").Listed<"flows">} Flow */
/** @typedef {import("./flow_forms.js").Deed | "start"} Deed */

const ENDS = /** @type {const} */ (["completed", "active", "interrupted", "expired"]);
/** What was put away is in a list of its own. */
const ARCHIVED = { view: "archived" };

const loadEditor = () => import("./editor/page.js");

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Flows({ place }) {
  const [uuid, part] = place.parts;
  if (uuid === "calendar") return html`<${CalendarPage} />`;
  if (uuid === "import" && may("write_definitions")) return html`<${ImportPage} />`;
  if (uuid === "templates" && may("write_definitions")) return html`<${TemplatesPage} name=${part} />`;
  if (uuid && part === "edit" && may("write_flow_revision")) return html`<${Loaded} key=${uuid} load=${loadEditor} uuid=${uuid} query=${place.query} />`;
  if (uuid) return html`<${FlowPage} key=${uuid} uuid=${uuid} tab=${part} query=${place.query} />`;
  return html`<${FlowList} key=${place.query.view} isArchived=${place.query.view === ARCHIVED.view} />`;
}

/** @param {{isArchived: boolean}} props */
function FlowList({ isArchived }) {
  const list = useList("flows", { archived: isArchived ? "true" : "false" });
  const [sought, setSought] = useState("");
  const [asked, setAsked] = useState(/** @type {{deed: Deed, flow: Flow | null} | null} */ (null));
  useChanges(["run", "flow_start"], list.refresh);
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  const parts = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = list.items.filter(({ name, labels }) => parts.every((part) => [name, ...labels.map((label) => label.name)].some((each) => each.toLowerCase().includes(part))));
  const ways = html`
    ${may("write_definitions") && html`<a class="button" href=${link(["flows", "import"])}>${t("flow_import.import")}</a>
      <a class="button" href=${link(["flows", "templates"])}>${t("templates.from")}</a>`}
    ${may("write_flow") && html`<button type="button" class="primary" onClick=${() => setAsked({ deed: "new", flow: null })}><${Icon} name="plus" size=${18} /> ${t("flows.new")}</button>`}`;
  const done = (/** @type {string} */ uuid) => (asked?.deed === "label" || asked?.deed === "change" ? list.reload() : go(["flows", uuid, ...(asked?.deed === "new" ? ["edit"] : [])]));
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("flows.title")}</h1><span class="grows"></span>
        ${may("read_calendar") && html`<a class="button quiet" href=${link(["flows", "calendar"])}><${Icon} name="clock" size=${18} /> ${t("calendar.title")}</a>`}
        ${!isEmpty && ways}</header>
      <div class="list-tools">
        <nav class="views" aria-label=${t("flows.views")}>
          <a href=${link(["flows"])} aria-current=${isArchived ? undefined : "true"}>${t("flows.active")}</a>
          <a href=${link(["flows"], ARCHIVED)} aria-current=${isArchived ? "true" : undefined}>${t("flows.archived")}</a>
        </nav>
        ${!isEmpty && html`<input type="search" aria-label=${t("flows.search")} placeholder=${t("flows.search")} value=${sought} onInput=${(/** @type {any} */ { target }) => setSought(target.value)} />`}
      </div>
      ${isEmpty && html`<${Empty} icon="flow" title=${t(isArchived ? "flows.none_archived" : "flows.empty")} text=${t("flows.empty_text")}>${!isArchived && ways}<//>`}
      ${sought && found.length === 0 && !list.loading && !list.hasMore && html`<p class="help" role="status">${t("flows.none_found")}</p>`}
      <ul class="cards">${found.map((flow) => html`<${Card} key=${flow.uuid} flow=${flow} onAsk=${(/** @type {Deed} */ deed) => setAsked({ deed, flow })} onChange=${list.reload} />`)}</ul>
      <${ListEnd} list=${list} />
      ${asked?.deed === "start" && asked.flow && html`<${StartDialog} flow=${asked.flow} onClose=${() => (setAsked(null), list.refresh())} />`}
      ${asked && asked.deed !== "start" && html`<${FlowDialog} deed=${asked.deed} flow=${asked.flow} onDone=${done} onClose=${() => setAsked(null)} />`}
    </main>
  `;
}

/** @param {{flow: Flow, onAsk: (deed: Deed) => void, onChange: () => void}} props */
function Card({ flow, onAsk, onChange }) {
  const all = ENDS.reduce((sum, end) => sum + flow.runs[end], 0);
  return html`
    <li class="card flow-card">
      <header>
        <div><h2><a href=${link(["flows", flow.uuid])}>${flow.name}</a></h2><p>${word("flow_type", flow.type)} · ${listTime(flow.modified_on)}</p></div>
        ${may("create_flow_start") && !flow.archived && html`<button type="button" onClick=${() => onAsk("start")}><${Icon} name="play" size=${16} /> ${t("act.start")}</button>`}
        <${Menu} label=${t("flows.more", { name: flow.name })} items=${flowItems({ flow, onAsk, onChange })} />
      </header>
      ${flow.labels.length > 0 && html`<p class="tags inline">${flow.labels.map(({ uuid, name }) => html`<span key=${uuid} class="tag">${name}</span>`)}</p>`}
      <div class="shares" aria-hidden="true">${ENDS.map((end) => flow.runs[end] > 0 && html`<span key=${end} class=${`share ${end}`} style=${{ flexGrow: flow.runs[end] }}></span>`)}</div>
      <dl class="figures">
        <div><dt>${t("flows.runs")}</dt><dd>${number(all)}</dd></div>
        ${ENDS.map((end) => html`<div key=${end}><dt><span class=${`dot ${end}`}></span>${word("run_status", end)}</dt><dd>${number(flow.runs[end])}</dd></div>`)}
      </dl>
      ${flow.results.length > 0 && html`<h3>${t("flows.results")}</h3><ul>${flow.results.map(({ key, name, categories }) => html`<li key=${key}>${name}: <span class="tags inline">${categories.map((category) => html`<span class="tag">${category}</span>`)}</span></li>`)}</ul>`}
    </li>
  `;
}
