/** The receivers of webhooks with their health, and what administrators do with them. */

import { confirmFirst, Dialog } from "../parts/dialog.js";
import { attempt } from "../parts/notices.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { useChannelNames } from "../shared/names.js";
import { may } from "../shared/session.js";
import { duration, fullTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { ReceiverDialog, SubscriptionDialog } from "./receiver_form.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"webhook_receivers">} Receiver
 * @typedef {{secret: string | null, public_key?: string | null}} Secret
 */

/** @type {Record<string, "good" | "bad" | "warn">} */
const TONES = { healthy: "good", failing: "bad", off: "warn" };

/** @typedef {(receiver: Pick<Receiver, "channel" | "url"> & {resthook?: string | null}) => string} NameOf */

/** What receivers are called: by their channel or resthook. @param {Pick<Receiver, "channel">[]} receivers @returns {NameOf} */
export function useReceiverNames(receivers) {
  const channelNameOf = useChannelNames(receivers.map(({ channel }) => channel));
  return ({ channel, resthook, url }) => (channel ? channelNameOf(channel) : resthook || url);
}

/** @param {{list: import("../shared/lists.js").List<Receiver>, nameOf: NameOf, onChange: () => void}} props */
export function Receivers({ list, nameOf, onChange }) {
  const [secret, setSecret] = useState(/** @type {Secret | null} */ (null));
  const [adding, setAdding] = useState(false);
  const [subscribing, setSubscribing] = useState(false);
  const taken = list.items.flatMap(({ channel }) => (channel ? [channel.uuid] : []));
  const add = may("create_webhook_subscription") && html`
    <button type="button" onClick=${() => setSubscribing(true)}>${t("receiver.subscribe")}</button>
    <button type="button" onClick=${() => setAdding(true)}>${t("receiver.add")}</button>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    ${isEmpty ? html`<${Empty} icon="channel" title=${t("deliveries.empty")} text=${t("deliveries.empty_text")}>${add}<//>` : html`<p class="add-receiver">${add}</p>`}
    ${adding && html`<${ReceiverDialog} taken=${taken} onDone=${onChange} onClose=${() => setAdding(false)} />`}
    ${subscribing && html`<${SubscriptionDialog} onDone=${onChange} onSecret=${setSecret} onClose=${() => setSubscribing(false)} />`}
    <ul class="cards">
      ${list.items.map((receiver) => html`<${Card} key=${receiver.receiver} receiver=${receiver} name=${nameOf(receiver)} onChange=${onChange} onSecret=${setSecret} />`)}
    </ul>
    <${ListEnd} list=${list} />
    ${secret && html`<${Dialog} title=${t("deliveries.secret")} onClose=${() => setSecret(null)}>
      <p>${t("deliveries.secret_text")}</p>
      <p><code class="secret" dir="ltr">${secret.secret ?? secret.public_key}</code></p>
    <//>`}
  `;
}

/** @param {{receiver: Receiver, name: string, onChange: () => void, onSecret: (secret: Secret) => void}} props */
function Card({ receiver, name, onChange, onSecret }) {
  const [changing, setChanging] = useState(false);
  const isOff = receiver.health === "off";
  const key = { receiver: receiver.receiver };
  const test = async () => {
    if (await attempt(() => post("webhook_tests", undefined, key), t("deliveries.test_sent"))) onChange();
  };
  const turn = async () => (await post("webhook_receivers", { is_on: isOff }, key), onChange());
  const askToTurn = () =>
    confirmFirst({
      title: isOff ? t("deliveries.switch_on_ask", { name }) : t("deliveries.switch_off_ask", { name }),
      text: isOff ? t("deliveries.switch_on_text") : t("deliveries.switch_off_text"),
      submit: isOff ? t("deliveries.switch_on") : t("deliveries.switch_off"),
      onYes: turn,
    });
  const askToRotate = () =>
    confirmFirst({
      title: t("deliveries.new_secret"),
      text: t("deliveries.new_secret_text", { name }),
      submit: t("deliveries.new_secret"),
      onYes: async () => onSecret(await post("webhook_secrets", undefined, key)),
    });
  const isSubscription = receiver.kind === "subscription";
  const askToEnd = () =>
    confirmFirst({
      title: t("receiver.end"),
      text: t("receiver.end_text", { name }),
      submit: t("act.delete"),
      onYes: async () => (await remove("webhook_subscriptions", { id: Number(receiver.receiver) }), onChange()),
    });
  return html`
    <li class="card channel receiver">
      <header><div><h2><bdi>${name}</bdi></h2><p>${isSubscription ? t("receiver.subscription") : html`<bdi>${receiver.url}</bdi>`}</p></div>
        <${Badge} tone=${TONES[receiver.health]}>${word("receiver_health", receiver.health)}<//></header>
      ${receiver.failing_since && html`<p>${t("deliveries.given_up", { count: number(receiver.given_up), time: fullTime(receiver.failing_since) })}</p>`}
      ${receiver.switched_off_reason && html`<p dir="auto">${receiver.switched_off_reason}</p>`}
      <dl class="facts">
        <div><dt>${t("receiver.events")}</dt><dd>${receiver.events ? receiver.events.map((event) => word("webhook_event", event)).join(", ") : t("receiver.all_events")}</dd></div>
        <div><dt>${t("receiver.delays")}</dt><dd>${receiver.retry_delays_seconds ? receiver.retry_delays_seconds.map((delay) => duration(delay)).join(", ") : t("receiver.usual")}</dd></div>
        <div><dt>${t("receiver.limit")}</dt><dd>${receiver.requests_per_second === null ? t("gateway.no_limit") : number(receiver.requests_per_second)}</dd></div>
        ${receiver.kind === "channel" && html`<div><dt>${t("receiver.format")}</dt><dd>${word("event_format", receiver.format)}</dd></div>`}
        <div><dt>${t("receiver.signature")}</dt><dd>${word("signature", receiver.signature)}</dd></div>
      </dl>
      ${receiver.public_key && html`<p class="help">${t("receiver.public_key")} <code class="secret" dir="ltr">${receiver.public_key}</code></p>`}
      <p class="actions">
        ${may("write_webhook_receiver") && html`<button type="button" onClick=${() => setChanging(true)}>${t("receiver.change")}</button>`}
        ${may("send_webhook_test") && html`<button type="button" onClick=${test}>${t("deliveries.test")}</button>`}
        ${may("write_webhook_receiver") && html`<button type="button" onClick=${askToTurn}>${isOff ? t("deliveries.switch_on") : t("deliveries.switch_off")}</button>`}
        ${may("rotate_webhook_secret") && html`<button type="button" class="quiet" onClick=${askToRotate}>${t("deliveries.new_secret")}</button>`}
        ${isSubscription && may("delete_webhook_subscription") && html`<button type="button" class="quiet" onClick=${askToEnd}>${t("act.delete")}</button>`}
      </p>
      ${changing && html`<${ReceiverDialog} receiver=${receiver} taken=${[]} onDone=${onChange} onClose=${() => setChanging(false)} />`}
    </li>
  `;
}
