/** One flow, in tabs: where its contacts are, what they answered, who runs through it, its starts and its revisions. */

import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { Badge, Empty, Problem, Waiting } from "../parts/small.js";
import { Tabs } from "../parts/tabs.js";
import { get } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { number, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { DrawingTab } from "./drawing.js";
import { FlowDialog, flowItems } from "./flow_forms.js";
import { Results } from "./results.js";
import { RevisionList } from "./revisions.js";
import { Runs } from "./runs.js";
import { StartDialog } from "./start_dialog.js";
import { Starts } from "./starts.js";

/**
 * What each tab is given.
 * @typedef {{flow: import("./page.js").Flow, definition: import("./node_content.js").Definition, figures: import("./drawing.js").Figures, days: number, query: Record<string, string>, reload: () => Promise<void>}} TabProps
 */

const PERIODS = ["7", "30", "90"];
const TABS = /** @type {const} */ ([
  { name: "drawing", text: "flows.drawing", Shown: DrawingTab, isFor: () => true, hasPeriod: true },
  { name: "results", text: "flows.results", Shown: Results, isFor: () => true, hasPeriod: true },
  { name: "runs", text: "flows.runs", Shown: Runs, isFor: () => may("list_runs") },
  { name: "starts", text: "flows.starts", Shown: Starts, isFor: () => may("list_flow_starts") },
  { name: "revisions", text: "flows.revisions", Shown: RevisionList, isFor: () => may("read_flow_revisions") },
]);

/** @param {{uuid: string, tab: string | undefined, query: Record<string, string>}} props an unknown tab is the first one */
export function FlowPage({ uuid, tab, query }) {
  const days = PERIODS.includes(query.days) ? query.days : "30";
  const [flow, setFlow] = useState(/** @type {import("./page.js").Flow | null | undefined} */ (undefined));
  const [definition, setDefinition] = useState(/** @type {import("./node_content.js").Definition} */ ({ nodes: [] }));
  const [figures, setFigures] = useState(/** @type {import("./drawing.js").Figures | null} */ (null));
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState(/** @type {import("./page.js").Deed | null} */ (null));
  const count = async () => {
    const page = await get("flows", { uuid });
    setFigures(page.results.length ? await get("flow_figures", { uuid, days: Number(days) }) : null);
    setFlow(page.results[0] ?? null);
  };
  const load = async () => {
    try {
      const found = /** @type {any} */ (await get("definitions", /** @type {any} */ ({ flow: uuid, dependencies: "none" })));
      setDefinition({ nodes: [], ...found.flows[0] });
      await count();
      setProblem("");
    } catch (error) {
      setProblem(explain(error));
    }
  };
  useEffect(() => void load(), [uuid, days]);
  useChanges(["run", "flow_start"], () => count().catch(() => {}), (record) => record.flow?.uuid === uuid);
  if (problem) return html`<main id="main" class="page" tabindex="-1"><h1>${t("flows.title")}</h1><${Problem} text=${problem} onRetry=${load} /></main>`;
  if (flow === undefined) return html`<main id="main" class="page" tabindex="-1"><${Waiting} /></main>`;
  if (!flow || !figures) return html`<main id="main" class="page" tabindex="-1"><${Empty} icon="flow" title=${t("error.gone")} /></main>`;
  const tabs = TABS.filter(({ isFor }) => isFor());
  const chosen = tabs.find(({ name }) => name === tab) ?? tabs[0];
  const kept = query.days ? { days } : {};
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["flows"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${flow.name}</h1><p class="faint">${word("flow_type", flow.type)}</p>
        ${flow.archived && html`<${Badge}>${t("flows.archived")}<//>`}
        <span class="grows"></span>
        ${"hasPeriod" in chosen && html`<select aria-label=${t("overview.period")} onChange=${(/** @type {any} */ event) => go(["flows", uuid, chosen.name], { ...query, days: event.target.value })}>
          ${PERIODS.map((each) => html`<option key=${each} value=${each} selected=${each === days}>${t("overview.days", { days: number(Number(each)) })}</option>`)}
        </select>`}
        ${may("list_exports") && html`<a class="button" href=${link(["exports"], { type: "runs", flow: uuid })}><${Icon} name="download" size=${16} /> ${t("exports.runs")}</a>`}
        ${may("write_flow_revision") && !flow.archived && html`<a class="button" href=${link(["flows", uuid, "edit"])}>${t("act.edit")}</a>`}
        ${may("create_flow_start") && !flow.archived && html`<button type="button" class="primary" onClick=${() => setAsked("start")}><${Icon} name="play" size=${16} /> ${t("act.start")}</button>`}
        <${Menu} label=${t("flows.more", { name: flow.name })} items=${flowItems({ flow, onAsk: setAsked, onChange: () => count().catch(() => {}) })} />
      </header>
      <${Tabs} label=${flow.name} chosen=${chosen.name} onChoose=${(/** @type {string} */ name) => go(["flows", uuid, name], kept)}
        tabs=${tabs.map(({ name, text }) => ({ name, text: t(text), address: link(["flows", uuid, name], kept) }))}>
        <${chosen.Shown} flow=${flow} definition=${definition} figures=${figures} days=${Number(days)} query=${query} reload=${load} />
      <//>
      ${asked === "start" && html`<${StartDialog} flow=${flow} onClose=${() => (setAsked(null), count().catch(() => {}))} />`}
      ${asked && asked !== "start" && html`<${FlowDialog} deed=${asked} flow=${flow} onDone=${(/** @type {string} */ made) => (made === uuid ? load() : go(["flows", made]))} onClose=${() => setAsked(null)} />`}
    </main>
  `;
}
