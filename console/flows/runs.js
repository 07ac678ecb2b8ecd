/** The runs of a flow: who went how far. */

import { Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { displayName } from "../shared/names.js";
import { link } from "../shared/router.js";
import { listTime, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @param {import("./flow.js").TabProps} props `node` of the query says at which node the contacts wait */
export function Runs({ flow, query }) {
  const list = useList("runs", { flow: flow.uuid, node: query.node, paths: "false" });
  useChanges(["run"], list.refresh, (record) => record.flow?.uuid === flow.uuid);
  if (!list.loading && !list.problem && list.items.length === 0) return html`<${Empty} icon="flow" title=${t("flows.no_runs")} />`;
  return html`
    <div class="table-box" tabindex="0" role="region" aria-label=${t("flows.runs")}>
      <table class="table"><tbody>${list.items.map(({ uuid, contact, exit_type, modified_on }) => html`<tr key=${uuid}>
        <th scope="row"><a href=${link(["contacts", contact.uuid])}><bdi>${displayName(contact.name, contact.urn ?? undefined)}</bdi></a></th>
        <td>${word("run_status", exit_type ?? "active")}</td><td>${listTime(modified_on)}</td></tr>`)}</tbody></table>
    </div>
    <${ListEnd} list=${list} />
  `;
}
