/** How a receiver is called: its address, its events, retries, limit and signature. */

import { FormDialog } from "../parts/dialog.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { channelName } from "../shared/names.js";
import { t, word } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"webhook_receivers">} Receiver
 * @typedef {import("../shared/contract.js").Sent<"webhook_receivers">} Changes
 */

const EVENTS = /** @type {const} */ (["mo_sms", "mt_sent", "mt_dlvd", "mo_call", "mo_miss", "mt_call", "mt_miss", "alarm", "flow"]);
const OF_WORKSPACE = /** @type {const} */ ([
  "contact.created", "contact.changed", "contact.deleted", "message.received", "message.sent", "message.failed", "ticket.opened",
  "ticket.assigned", "ticket.closed", "broadcast.done", "flow_start.done", "run.completed", "import.done", "export.done",
]);
const SIGNATURES = /** @type {const} */ (["symmetric", "ed25519"]);
const FORMATS = /** @type {const} */ (["form", "json"]);

/** Without `receiver` a channel gets one. @param {{receiver?: Receiver, taken: string[], onDone: () => void, onClose: () => void}} props */
export function ReceiverDialog({ receiver, taken, onDone, onClose }) {
  const channels = useList("channels", receiver ? null : {});
  const key = useRef(newKey());
  const isOfChannel = !receiver || receiver.kind === "channel";
  const isSubscription = receiver?.kind === "subscription";
  const free = channels.items.filter(({ uuid }) => !taken.includes(uuid));
  const save = async (/** @type {FormData} */ data) => {
    const name = receiver ? receiver.receiver : String(data.get("channel"));
    const limit = String(data.get("limit")).trim();
    const delays = String(data.get("delays")).split(/[\s,;]+/).filter(Boolean).map(Number);
    const events = EVENTS.filter((event) => data.has(`event-${event}`));
    /** @type {Changes} */
    const changes = {
      ...(isSubscription && { url: String(data.get("url")).trim(), events: OF_WORKSPACE.filter((event) => data.has(`event-${event}`)) }),
      ...(isOfChannel && { url: String(data.get("url")).trim(), events: events.length === EVENTS.length ? null : events, format: FORMATS.find((each) => each === data.get("format")) ?? "form" }),
      retry_delays_seconds: delays.length > 0 ? delays : null,
      requests_per_second: limit ? Number(limit) : null,
      signature: SIGNATURES.find((each) => each === data.get("signature")) ?? "symmetric",
    };
    await post("webhook_receivers", changes, { receiver: name }, key.current);
    onDone();
  };
  const title = receiver ? t("receiver.change") : t("receiver.add");
  return html`
    <${FormDialog} title=${title} submit=${t("act.save")} draft=${`receiver.${receiver?.receiver ?? ""}`} onSubmit=${save} onClose=${onClose} disabled=${!receiver && free.length === 0} wide>
      ${!receiver && html`<${Field} label=${t("receiver.channel")} id="channel" help=${t("receiver.channel_help")}>
        <select id="channel" name="channel" required aria-describedby="channel-help">${free.map((channel) => html`<option key=${channel.uuid} value=${channel.uuid}>${channelName(channel)}</option>`)}</select><//>`}
      ${(isOfChannel || isSubscription) && html`<${Target} url=${receiver?.url} events=${isSubscription ? OF_WORKSPACE : EVENTS} chosen=${receiver?.events} />`}
      <div class="form-grid">
        <${Field} label=${t("receiver.delays")} id="delays" help=${t("receiver.delays_help")}><input id="delays" name="delays" dir="ltr" inputmode="numeric" pattern="[0-9 ,;.]*" defaultValue=${receiver?.retry_delays_seconds?.join(", ") ?? ""} aria-describedby="delays-help" /><//>
        <${Field} label=${t("receiver.limit")} id="limit" help=${t("receiver.limit_help")}><input id="limit" name="limit" type="number" min="0.01" max="1000" step="0.01" defaultValue=${receiver?.requests_per_second ?? ""} aria-describedby="limit-help" /><//>
        ${isOfChannel && html`<${Field} label=${t("receiver.format")} id="format" help=${t("receiver.format_help")}>
          <select id="format" name="format" aria-describedby="format-help">${FORMATS.map((each) => html`<option key=${each} value=${each} selected=${each === (receiver?.format ?? "form")}>${word("event_format", each)}</option>`)}</select><//>`}
        <${Field} label=${t("receiver.signature")} id="signature" help=${t("receiver.signature_help")}>
          <select id="signature" name="signature" aria-describedby="signature-help">${SIGNATURES.map((each) => html`<option key=${each} value=${each} selected=${each === (receiver?.signature ?? "symmetric")}>${word("signature", each)}</option>`)}</select><//>
      </div>
    <//>
  `;
}

/** A new subscription to events of the workspace. @param {{onDone: () => void, onSecret: (secret: {secret: string}) => void, onClose: () => void}} props */
export function SubscriptionDialog({ onDone, onSecret, onClose }) {
  const save = async (/** @type {FormData} */ data) => {
    const events = OF_WORKSPACE.filter((event) => data.has(`event-${event}`));
    onSecret(await post("webhook_subscriptions", { url: String(data.get("url")).trim(), events }));
    onDone();
  };
  return html`
    <${FormDialog} title=${t("receiver.subscribe")} submit=${t("receiver.subscribe")} draft="subscription" onSubmit=${save} onClose=${onClose} wide>
      <p class="help">${t("receiver.subscribe_help")}</p>
      <${Target} events=${OF_WORKSPACE} chosen=${[]} />
    <//>
  `;
}

/** Where events are sent, and which. @param {{url?: string, events: readonly string[], chosen?: readonly string[] | null}} props */
const Target = ({ url, events, chosen }) => html`
  <${Field} label=${t("receiver.url")} id="url"><input id="url" name="url" type="url" required maxlength="2048" dir="ltr" defaultValue=${url ?? ""} placeholder="https://hooks.example.org/in" /><//>
  <fieldset class="boxed event-checks"><legend>${t("receiver.events")}</legend>
    ${events.map((event) => html`<label key=${event} class="event-check"><input type="checkbox" name=${`event-${event}`} defaultChecked=${!chosen || chosen.includes(event)} /> ${word("webhook_event", event)}</label>`)}
  </fieldset>
`;
