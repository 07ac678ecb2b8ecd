/** The starts of a flow: for whom, how far they are, and a way to stop them. */

import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { listTime, number, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @param {import("./flow.js").TabProps} props */
export function Starts({ flow }) {
  const list = useList("flow_starts", {});
  useChanges(["flow_start"], list.refresh, (record) => record.flow?.uuid === flow.uuid);
  const found = list.items.filter((start) => start.flow?.uuid === flow.uuid);
  return html`
    ${found.length === 0 && !list.loading && !list.hasMore && !list.problem && html`<${Empty} icon="play" title=${t("flows.no_starts")} />`}
    <ul class="stack">${found.map(({ uuid, status, progress, groups, contacts, created_on }) => html`<li key=${uuid} class="card">
      <p><strong>${[...groups, ...contacts].map(({ name }) => name).join(", ")}</strong> <${Badge}>${word("start_status", status)}<//></p>
      <p class="faint">${listTime(created_on)} · ${number(progress.started)}${progress.total >= 0 && ` / ${number(progress.total)}`}</p></li>`)}</ul>
    <${ListEnd} list=${list} />
  `;
}
