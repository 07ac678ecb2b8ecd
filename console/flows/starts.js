/** The starts of a flow: for whom, when, how far they are, and a way to stop them. */

import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { post } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { listTime, number, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"flow_starts">} Start */

const GOING = ["pending", "queued", "started"];
const TONES = /** @type {Record<string, "good" | "bad" | "warn" | "calm">} */ ({ completed: "good", failed: "bad", interrupted: "warn" });

/** @param {import("./flow.js").TabProps} props */
export function Starts({ flow }) {
  const list = useList("flow_starts", { flow: flow.uuid });
  useChanges(["flow_start"], list.refresh, (record) => record.flow?.uuid === flow.uuid);
  return html`
    ${list.items.length === 0 && !list.loading && !list.problem && html`<${Empty} icon="play" title=${t("flows.no_starts")} />`}
    <ul class="stack">${list.items.map((start) => html`<${StartCard} key=${start.uuid} start=${start} onStop=${list.reload} />`)}</ul>
    <${ListEnd} list=${list} />
  `;
}

/** @param {{start: Start, onStop: () => void}} props */
function StartCard({ start, onStop }) {
  const { uuid, status, progress, groups, contacts, query, error, created_on, created_by } = start;
  const names = [...groups, ...contacts].map(({ name }) => name ?? t("contact.unnamed"));
  const isKnown = progress.total >= 0;
  const stop = {
    title: t("flows.stop_ask"),
    text: isKnown ? t("flows.stop_text", { count: number(Math.max(progress.total - progress.started, 0)), done: number(progress.started) }) : t("flows.stop_unknown"),
    submit: t("broadcasts.stop"),
    onYes: async () => (await post("flow_start_actions", { starts: [uuid], action: "interrupt" }), onStop()),
  };
  return html`
    <li class="card flow-start">
      <header>
        <p class="grows"><strong dir="auto">${[...names, query].filter(Boolean).join(", ") || t("contacts.title")}</strong> <${Badge} tone=${TONES[status]}>${word("start_status", status)}<//></p>
        ${GOING.includes(status) && may("act_on_flow_starts") && html`<button type="button" class="danger" onClick=${() => confirmFirst(stop)}><${Icon} name="stop" size=${16} /> ${t("broadcasts.stop")}</button>`}
      </header>
      <p class="faint">${[listTime(created_on), created_by?.name || created_by?.email].filter(Boolean).join(" · ")} · ${isKnown ? t("flows.progress", { done: number(progress.started), total: number(progress.total) }) : t("flows.progress_unknown", { done: number(progress.started) })}</p>
      ${GOING.includes(status) && isKnown && html`<progress max=${progress.total} value=${progress.started} aria-label=${t("flows.starts")}></progress>`}
      ${error && html`<p class="problem" dir="auto">${error}</p>`}
    </li>
  `;
}
