/** What was said to a gateway and what it answered, with secrets hidden. */

import { Dialog } from "../parts/dialog.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useList } from "../shared/lists.js";
import { fullTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { Time } from "./alarms.js";

/** @typedef {import("../shared/contract.js").Listed<"channel_calls">} Call */

const OUTCOMES = /** @type {const} */ (["accepted", "refused", "unanswered"]);
/** @type {Record<string, "good" | "bad" | "warn">} */
const TONES = { accepted: "good", refused: "bad", unanswered: "warn" };

/** @param {{channel: string}} props */
export function Calls({ channel }) {
  const [outcome, setOutcome] = useState("");
  const [shown, setShown] = useState(/** @type {Call | null} */ (null));
  const wanted = OUTCOMES.find((known) => known === outcome);
  const list = useList("channel_calls", { channel, ...(wanted && { outcome: wanted }) });
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <section class="channel-log" aria-labelledby="calls-title">
      <header class="page-header"><h2 id="calls-title">${t("calls.title")}</h2><span class="grows"></span>
        <select aria-label=${t("calls.outcome")} onChange=${(/** @type {any} */ event) => setOutcome(event.target.value)}>
          <option value="">${t("calls.every_outcome")}</option>
          ${OUTCOMES.map((each) => html`<option key=${each} value=${each}>${word("call_outcome", each)}</option>`)}
        </select>
        <button type="button" onClick=${list.reload}>${t("deliveries.renew")}</button></header>
      ${isEmpty
        ? html`<${Empty} icon="send" title=${t("calls.none")} text=${t("calls.none_text")} />`
        : html`<div class="table-box" tabindex="0" role="region" aria-labelledby="calls-title"><table class="table">
            <thead><tr><th scope="col">${t("calls.time")}</th><th scope="col">${t("calls.direction")}</th><th scope="col">${t("calls.outcome")}</th><th scope="col">${t("calls.answer")}</th><th scope="col" class="number">${t("calls.took")}</th></tr></thead>
            <tbody>${list.items.map((call) => html`<tr key=${call.id}>
              <td><button type="button" class="link call" onClick=${() => setShown(call)}><${Time} time=${call.created_on} /></button></td>
              <td>${call.direction === "in" ? t("calls.direction_in") : t("calls.direction_out")}</td>
              <td><${Badge} tone=${TONES[call.outcome]}>${word("call_outcome", call.outcome)}<//></td>
              <td>${call.response ? call.response.status : html`<span dir="auto">${call.error}</span>`}</td>
              <td class="number">${t("deliveries.took", { time: number(call.duration_ms) })}</td>
            </tr>`)}</tbody>
          </table></div>`}
      <${ListEnd} list=${list} />
      ${shown && html`<${CallDialog} call=${shown} onClose=${() => setShown(null)} />`}
    </section>
  `;
}

/** @param {{call: Call, onClose: () => void}} props */
const CallDialog = ({ call, onClose }) => html`
  <${Dialog} title=${t("calls.one")} onClose=${onClose} wide>
    <p><${Badge} tone=${TONES[call.outcome]}>${word("call_outcome", call.outcome)}<//> <time datetime=${call.created_on}>${fullTime(call.created_on)}</time>${" · "}${call.message === null ? t("calls.no_message") : t("calls.message", { message: number(call.message, { useGrouping: false }), part: number(call.part) })}</p>
    ${call.result && html`<p dir="auto">${call.result}</p>`}
    ${call.error && html`<p class="problem" dir="auto">${call.error}</p>`}
    <h3>${t("calls.request")}</h3>
    <pre class="sent" dir="ltr" tabindex="0">${call.request.method} ${call.request.url}${"\n"}${Object.entries(call.request.headers).map(([name, value]) => `${name}: ${value}\n`).join("")}${call.request.body === null ? "" : `\n${call.request.body}`}</pre>
    ${call.response && html`<h3>${t("calls.answer")}</h3>
      <pre class="sent" dir="ltr" tabindex="0">${call.response.status}${call.response.body ? `\n\n${call.response.body}` : ""}</pre>`}
  <//>
`;
