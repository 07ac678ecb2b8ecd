/** Channels: by what the workspace talks, and whether it is alive. */

import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Badge, Empty, Field, ListEnd } from "../parts/small.js";
import { notify } from "../parts/notices.js";
import { request } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { channelName } from "../shared/names.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { duration, fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { QrCode } from "../parts/qr_code.js";
import { ChannelPage } from "./channel.js";
import { GatewayDialog } from "./gateway_form.js";

/** @typedef {import("../shared/contract.js").Listed<"channels">} Channel */

const SILENT_SECONDS = 15 * 60;
const LOW_POWER = 20;

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Channels({ place }) {
  const [uuid] = place.parts;
  return uuid ? html`<${ChannelPage} key=${uuid} uuid=${uuid} />` : html`<${ChannelList} />`;
}

function ChannelList() {
  const list = useList("channels", {});
  const alarms = useList("channel_alarms", {});
  const [adding, setAdding] = useState(/** @type {"" | "phone" | "gateway"} */ (""));
  useChanges(["channel", "channel_gone"], () => Promise.all([list.refresh(), alarms.refresh()]));
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  const add = html`
    ${may("change_channel_settings") && html`<button type="button" onClick=${() => setAdding("gateway")}><${Icon} name="plus" size=${18} /> ${t("gateway.add")}</button>`}
    ${may("claim_relayer") && html`<button type="button" class="primary" onClick=${() => setAdding("phone")}><${Icon} name="plus" size=${18} /> ${t("channels.add_phone")}</button>`}
  `;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("channels.title")}</h1><span class="grows"></span>
        ${may("list_deliveries") && html`<a class="button" href=${link(["deliveries"])}>${t("deliveries.title")}</a>`}${add}</header>
      ${isEmpty && html`<${Empty} icon="channel" title=${t("channels.empty")} text=${t("channels.empty_text")}>${add}<//>`}
      <ul class="cards">${list.items.map((channel) => html`<${Card} key=${channel.uuid} channel=${channel} alarms=${openOf(alarms.items, channel.uuid)} />`)}</ul>
      <${ListEnd} list=${list} />
      ${adding === "phone" && html`<${ClaimDialog} channels=${list.items} onClose=${() => (setAdding(""), list.reload())} />`}
      ${adding === "gateway" && html`<${GatewayDialog} onDone=${(/** @type {string} */ uuid) => go(["channels", uuid])} onClose=${() => setAdding("")} />`}
    </main>
  `;
}

/** What is wrong with a channel now. @param {import("../shared/contract.js").Listed<"channel_alarms">[]} alarms @param {string} uuid */
const openOf = (alarms, uuid) => alarms.filter((each) => !each.closed_on && each.channel?.uuid === uuid).map(({ kind }) => kind);

/** What is known of the state of a channel. @param {{channel: Channel, alarms?: string[]}} props */
export function Card({ channel, alarms = [] }) {
  const name = channelName(channel);
  const device = channel.device;
  const silence = channel.last_seen ? (Date.now() - Date.parse(channel.last_seen)) / 1000 : 0;
  const isSilent = !!device && silence > SILENT_SECONDS;
  return html`
    <li class="card channel">
      <header>
        <span class="empty-icon small"><${Icon} name="channel" size=${22} /></span>
        <div><h2><a href=${link(["channels", channel.uuid])}><bdi>${name}</bdi></a></h2>${channel.address && channel.address !== name && html`<p><bdi>${channel.address}</bdi></p>`}</div>
        ${isSilent
          ? html`<${Badge} tone="bad">${t("channels.silent", { time: duration(silence) })}<//>`
          : !channel.refused_on && !channel.down_since && html`<${Badge} tone="good">${t("channels.alive")}<//>`}
      </header>
      <dl class="facts">
        <div><dt>${t("channels.type")}</dt><dd>${channel.type}</dd></div>
        ${alarms.length > 0 && html`<div><dt>${t("alarms.title")}</dt><dd>${alarms.map((kind) => html`<${Badge} key=${kind} tone="bad">${word("alarm_kind", kind)}<//> `)}</dd></div>`}
        ${channel.last_seen && html`<div><dt>${t("contact.last_seen")}</dt><dd><time title=${fullTime(channel.last_seen)}>${listTime(channel.last_seen)}</time></dd></div>`}
        ${device && html`<div><dt>${t("channels.device")}</dt><dd>${device.name}</dd></div>`}
        ${device && html`<div><dt>${t("channels.power")}</dt><dd><${Power} level=${device.power_level ?? -1} isCharging=${device.power_status === "CHA" || device.power_status === "FUL"} /></dd></div>`}
        ${device?.network_type && html`<div><dt>${t("channels.network")}</dt><dd>${device.network_type}</dd></div>`}
      </dl>
      ${channel.down_since && html`<p class="help"><${Badge} tone="bad">${t("channels.down")}<//> <time title=${fullTime(channel.down_since)}>${listTime(channel.down_since)}</time>: ${t("channels.down_help")}</p>`}
      ${channel.refused_on && html`<p class="help"><${Badge} tone="bad">${t("channels.refused")}<//> <time title=${fullTime(channel.refused_on)}>${listTime(channel.refused_on)}</time>: ${word("refusal", channel.refused_reason ?? "")}</p>`}
    </li>
  `;
}

/** @param {{level: number, isCharging: boolean}} props */
const Power = ({ level, isCharging }) =>
  level < 0
    ? "–"
    : html`<span class="power"><meter min="0" max="100" low=${LOW_POWER} high="50" optimum="100" value=${level} aria-label=${t("channels.power")}></meter>
        ${number(level / 100, { style: "percent" })} ${isCharging ? t("channels.charging") : ""}</span>`;

const FEWEST_DIGITS = 6;

/**
 * Whether somebody may have typed the number of this phone: as it is, or as it is dialled in its country.
 * @param {string} typed @param {Channel} channel
 */
const mayHave = (typed, { device, address }) => {
  const digits = typed.replace(/\D/g, "").replace(/^0+/, "");
  const own = (address ?? "").replace(/\D/g, "");
  return !!device && digits.length >= FEWEST_DIGITS && (/^\s*(\+|00)/.test(typed) ? own === digits : own.endsWith(digits));
};

/** Says which phone the new one replaces, and lets people attach it beside that one. @param {{channels: Channel[], onClose: () => void}} props */
function ClaimDialog({ channels, onClose }) {
  const [typed, setTyped] = useState("");
  const type = (/** @type {{target: HTMLInputElement}} */ { target }) => setTyped(target.value);
  const former = channels.find((channel) => mayHave(typed, channel));
  const claim = async (/** @type {FormData} */ data) => {
    const [claim_code, phone, name] = ["claim_code", "phone", "name"].map((field) => String(data.get(field)).trim());
    const second_phone = data.has("second_phone");
    const { replaced } = await request("POST", "v1/relayers.json", { body: { claim_code, phone, name, second_phone } });
    if (replaced) notify(t("channels.replaced", { name: replaced.name || phone }));
  };
  return html`
    <${FormDialog} title=${t("channels.add_phone")} submit=${t("channels.claim")} draft="channel.phone" onSubmit=${claim} onClose=${onClose}>
      <p class="help">${t("channels.guide_help")} <a href="guides/phones" target="_blank" rel="noopener">${t("channels.guide")}</a></p>
      <ol class="steps">
        <li>${t("channels.step_install")}</li>
        <li>${t("channels.step_server", { address: location.origin })} <${QrCode} text=${location.origin} label=${t("channels.qr", { address: location.origin })} /></li>
        <li>${t("channels.step_code")}</li>
      </ol>
      <${Field} label=${t("channels.code")} id="claim_code"><input id="claim_code" name="claim_code" required maxlength="64" dir="ltr" placeholder="K7Q W3Z P9M" autocomplete="off" autocapitalize="characters" spellcheck="false" /><//>
      <${Field} label=${t("channels.number")} id="phone"><input id="phone" name="phone" type="tel" required placeholder="+250788123123"
        onInput=${type} onChange=${type} /><//>
      ${former && html`<p class="help" role="status">${t("channels.replaces", { name: channelName(former), number: former.address ?? "" })}</p>
        <div class="field"><label class="event-check"><input type="checkbox" name="second_phone" /> ${t("channels.second_phone")}</label></div>`}
      <${Field} label=${t("channels.name")} id="name"><input id="name" name="name" maxlength="64" /><//>
    <//>
  `;
}
