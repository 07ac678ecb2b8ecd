/** Webhooks: who is told of what happens, and what became of each delivery. */

import { confirmFirst } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { post } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { DeliveryDialog } from "./delivery.js";
import { Receivers, useReceiverNames } from "./receivers.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"deliveries">} Delivery
 * @typedef {import("../shared/contract.js").Listed<"webhook_receivers">} Receiver
 */

export const STATUSES = /** @type {const} */ (["pending", "delivered", "failed"]);
/** @type {Record<string, "good" | "bad" | "warn">} */
export const TONES = { delivered: "good", failed: "bad", pending: "warn" };
const KEPT_DAYS = 7;

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Deliveries({ place }) {
  const { status = "", receiver = "" } = place.query;
  const [chosen] = place.parts;
  const wanted = STATUSES.find((known) => known === status);
  const receivers = useList("webhook_receivers", {});
  const list = useList("deliveries", { ...(wanted && { status: wanted }), ...(receiver && { receiver }) });
  const nameOf = useReceiverNames([...receivers.items, ...list.items]);
  const choose = (/** @type {Record<string, string>} */ changed) => go(["deliveries"], { status, receiver, ...changed });
  const renew = () => (list.reload(), receivers.reload());
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <h1>${t("deliveries.title")}</h1><span class="grows"></span>
        <button type="button" onClick=${renew}>${t("deliveries.renew")}</button>
      </header>
      <${Receivers} list=${receivers} nameOf=${nameOf} onChange=${renew} />
      <header class="page-header">
        <h2>${t("deliveries.list")}</h2><span class="grows"></span>
        <select aria-label=${t("deliveries.receiver")} onChange=${(/** @type {any} */ event) => choose({ receiver: event.target.value })}>
          <option value="">${t("deliveries.every_receiver")}</option>
          ${receivers.items.map((each) => html`<option key=${each.receiver} value=${each.receiver} selected=${each.receiver === receiver}>${nameOf(each)}</option>`)}
        </select>
        <select aria-label=${t("deliveries.status")} onChange=${(/** @type {any} */ event) => choose({ status: event.target.value })}>
          <option value="">${t("deliveries.every_status")}</option>
          ${STATUSES.map((each) => html`<option key=${each} value=${each} selected=${each === status}>${word("delivery_status", each)}</option>`)}
        </select>
        ${may("act_on_deliveries") && html`<button type="button" onClick=${() => askForFailed(receiver, renew)}>${t("deliveries.resend_failed")}</button>`}
      </header>
      ${list.items.length === 0 && !list.loading && !list.problem
        ? html`<${Empty} icon="send" title=${t("deliveries.none")} text=${t("deliveries.none_text")} />`
        : html`<${Table} items=${list.items} receivers=${receivers.items} nameOf=${nameOf} query=${place.query} />`}
      <${ListEnd} list=${list} />
      ${chosen && html`<${DeliveryDialog} key=${chosen} uuid=${chosen} onClose=${() => choose({})} onSent=${renew} />`}
    </main>
  `;
}

/** @param {string} receiver @param {() => void} onDone */
function askForFailed(receiver, onDone) {
  const since = new Date(Date.now() - KEPT_DAYS * 24 * 3600 * 1000).toISOString();
  confirmFirst({
    title: t("deliveries.resend_failed"),
    text: t("deliveries.resend_failed_text"),
    submit: t("deliveries.send_again"),
    onYes: async () => {
      const { resent } = await post("delivery_actions", { action: "resend_failed", since, ...(receiver && { receiver }) });
      notify(t("deliveries.sent_again", { count: number(resent) }));
      onDone();
    },
  });
}

/** @param {{items: Delivery[], receivers: Receiver[], nameOf: import("./receivers.js").NameOf, query: Record<string, string>}} props */
const Table = ({ items, receivers, nameOf, query }) => html`
  <div class="table-box" tabindex="0" role="region" aria-label=${t("deliveries.list")}>
    <table class="table">
      <thead><tr>
        <th scope="col">${t("deliveries.event")}</th><th scope="col">${t("deliveries.receiver")}</th>
        <th scope="col">${t("deliveries.status")}</th><th scope="col">${t("deliveries.attempts")}</th>
        <th scope="col">${t("deliveries.made")}</th>
      </tr></thead>
      <tbody>
        ${items.map((each) => html`
          <tr key=${each.uuid}>
            <td><a class="delivery-link" href=${link(["deliveries", each.uuid], query)}>${each.event}</a></td>
            <td><bdi>${nameOf(receiverOf(each, receivers) ?? each)}</bdi></td>
            <td><${Badge} tone=${TONES[each.status]}>${word("delivery_status", each.status)}<//></td>
            <td>${number(each.attempts)}</td>
            <td><time datetime=${each.created_on} title=${fullTime(each.created_on)}>${listTime(each.created_on)}</time></td>
          </tr>
        `)}
      </tbody>
    </table>
  </div>
`;

/** @param {Delivery} delivery @param {Receiver[]} receivers */
function receiverOf(delivery, receivers) {
  const key = delivery.subscriber === null ? delivery.channel?.uuid : String(delivery.subscriber);
  return receivers.find((each) => each.receiver === key);
}
