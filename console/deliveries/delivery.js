/** One delivery: what was sent, each attempt, and sending it again. */

import { Dialog } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { Badge, Problem, Waiting } from "../parts/small.js";
import { get, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { may } from "../shared/session.js";
import { fullTime, number, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { TONES } from "./page.js";

/** @typedef {import("../shared/contract.js").Found<"delivery">} Delivery */

/** @param {{uuid: string, onClose: () => void, onSent: () => void}} props */
export function DeliveryDialog({ uuid, onClose, onSent }) {
  const [delivery, setDelivery] = useState(/** @type {Delivery | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = () => get("delivery", { uuid }).then((found) => (setDelivery(found), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void load(), [uuid]);
  const sendAgain = async () => {
    try {
      const { resent } = await post("delivery_actions", { action: "resend", deliveries: [uuid] });
      notify(t("deliveries.sent_again", { count: number(resent) }));
      onSent();
      load();
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return html`
    <${Dialog} title=${delivery ? delivery.event : t("deliveries.list")} onClose=${onClose} wide>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!delivery && !problem && html`<${Waiting} />`}
      ${delivery && html`
        <p><${Badge} tone=${TONES[delivery.status]}>${word("delivery_status", delivery.status)}<//> <bdi class="url">${delivery.url}</bdi></p>
        ${delivery.status !== "pending" && may("act_on_deliveries") && html`<p><button type="button" class="primary" onClick=${sendAgain}>${t("deliveries.send_again")}</button></p>`}
        <h3>${t("deliveries.attempts")}</h3>
        <ol class="attempts">${delivery.attempt_log.map((attempt) => html`<${Attempt} attempt=${attempt} />`)}</ol>
        <h3>${t("deliveries.body")}</h3>
        <pre class="sent" dir="ltr" tabindex="0">${delivery.body}</pre>
      `}
    <//>
  `;
}

/** @param {{attempt: Delivery["attempt_log"][number]}} props */
const Attempt = ({ attempt }) => html`
  <li>
    <time datetime=${attempt.finished_on}>${fullTime(attempt.finished_on)}</time> · ${t("deliveries.took", { time: number(attempt.duration_ms) })}
    ${attempt.response && html` · <strong>${attempt.response.status}</strong>`}
    ${attempt.error && html`<p class="problem" dir="auto">${attempt.error}</p>`}
    <details><summary>${t("deliveries.details")}</summary>
      <pre class="sent" dir="ltr" tabindex="0">${[attempt.request.method, attempt.request.url ?? ""].join(" ")}${"\n"}${lines(attempt.request.headers)}${attempt.response ? `\n\n${attempt.response.status}\n${lines(attempt.response.headers)}\n\n${attempt.response.body ?? ""}` : ""}</pre>
    </details>
  </li>
`;

/** @param {Record<string, string>} headers */
const lines = (headers) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n");
