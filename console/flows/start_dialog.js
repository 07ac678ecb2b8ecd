/** Starts a flow for groups, for contacts that match a query, and for chosen people. */

import { FormDialog } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { Recipients } from "../parts/recipients.js";
import { Field } from "../parts/small.js";
import { get, newKey, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { useAll } from "../shared/lists.js";
import { number, t } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";

const TYPED_MS = 300;

/** @typedef {import("../parts/recipients.js").Chosen} Chosen */

/** @param {{flow?: import("./page.js").Flow, given?: Partial<Chosen>, onClose: () => void}} props one is chosen if no flow is given; `given` are those for whom it is */
export function StartDialog({ flow, given = {}, onClose }) {
  const [chosen, setChosen] = useState(/** @type {Chosen} */ ({ groups: [], contacts: [], query: "", ...given }));
  const flows = useAll(flow ? null : "flows").filter(({ archived }) => !archived);
  const key = useRef(newKey());
  const query = chosen.query.trim();
  const start = async (/** @type {FormData} */ data) => {
    const body = {
      flow: flow?.uuid ?? String(data.get("flow")),
      groups: chosen.groups,
      contacts: chosen.contacts.map(({ uuid }) => uuid),
      ...(query ? { query } : {}),
      restart_participants: data.has("restart"),
      exclude_active: data.has("exclude"),
    };
    await post("flow_starts", body, undefined, key.current);
    notify(t("flows.is_started"));
  };
  const isEmpty = !query && chosen.groups.length === 0 && chosen.contacts.length === 0;
  return html`
    <${FormDialog} title=${flow ? `${t("act.start")}: ${flow.name}` : t("flow.start")} submit=${t("act.start")} disabled=${isEmpty || (!flow && flows.length === 0)} draft=${["flow.start", flow?.uuid].filter(Boolean).join(".")} onSubmit=${start} onClose=${onClose}>
      ${!flow && html`<${Field} label=${t("flow.flow")} id="start-flow">
        <select id="start-flow" name="flow" required>${flows.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid}>${name}</option>`)}</select><//>`}
      <${Recipients} draft=${chosen} onChange=${(/** @type {Partial<Chosen>} */ part) => setChosen((old) => ({ ...old, ...part }))} />
      ${query && html`<${QueryCount} query=${query} />`}
      <ul class="choices-list">
        <li><label><input type="checkbox" name="restart" defaultChecked /> ${t("flows.restart")}</label></li>
        <li><label><input type="checkbox" name="exclude" /> ${t("flows.exclude")}</label></li>
      </ul>
    <//>
  `;
}

/** How many contacts match a query, or what is wrong with it. @param {{query: string}} props */
function QueryCount({ query }) {
  const [told, setTold] = useState({ text: "", isProblem: false });
  useEffect(() => {
    const stop = new AbortController();
    const later = setTimeout(async () => {
      try {
        const { count, is_exact } = await get("contact_queries", { query }, stop.signal);
        setTold({ text: t(is_exact ? "flows.query_count" : "flows.query_more", { count: number(count) }), isProblem: false });
      } catch (error) {
        if (!stop.signal.aborted) setTold({ text: explain(error), isProblem: true });
      }
    }, TYPED_MS);
    return () => {
      clearTimeout(later);
      stop.abort();
    };
  }, [query]);
  return html`<p class=${told.isProblem ? "problem" : "help"} role="status">${told.text}</p>`;
}
