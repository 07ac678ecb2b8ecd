/** Channels: by what the workspace talks, and whether it is alive. */

import { Icon } from "../parts/icons.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { channelName } from "../shared/names.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { duration, fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { Catalogue } from "./catalogue.js";
import { ChannelPage } from "./channel.js";
import { ConnectPage } from "./connect.js";
import { titleOf, useTypes } from "./types.js";

/** @typedef {import("../shared/contract.js").Listed<"channels">} Channel */

/** As long as opens an alarm (`LOST_AFTER` of persistence; a test compares them). */
const SILENT_SECONDS = 30 * 60;
const LOW_POWER = 20;

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Channels({ place }) {
  const [uuid, part] = place.parts;
  if (uuid === "add") return html`<${Catalogue} place=${place} />`;
  if (part === "connect") return html`<${ConnectPage} key=${uuid} uuid=${uuid} />`;
  return uuid ? html`<${ChannelPage} key=${uuid} uuid=${uuid} />` : html`<${ChannelList} />`;
}

function ChannelList() {
  const list = useList("channels", {});
  const alarms = useList("channel_alarms", {});
  useChanges(["channel", "channel_gone"], (told) => Promise.all([list.refresh(told), alarms.refresh(told)]));
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  const add = may("claim_relayer") && html`<a class="button primary" href=${link(["channels", "add"])}><${Icon} name="plus" size=${18} /> ${t("catalogue.title")}</a>`;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("channels.title")}</h1><span class="grows"></span>
        ${may("list_deliveries") && html`<a class="button" href=${link(["deliveries"])}>${t("deliveries.title")}</a>`}${add}</header>
      ${isEmpty && html`<${Empty} icon="channel" title=${t("channels.empty")} text=${t("channels.empty_text")}>${add}<//>`}
      <ul class="cards">${list.items.map((channel) => html`<${Card} key=${channel.uuid} channel=${channel} alarms=${openOf(alarms.items, channel.uuid)} />`)}</ul>
      <${ListEnd} list=${list} />
    </main>
  `;
}

/** What is wrong with a channel now. @param {import("../shared/contract.js").Listed<"channel_alarms">[]} alarms @param {string} uuid */
const openOf = (alarms, uuid) => alarms.filter((each) => !each.closed_on && each.channel?.uuid === uuid).map(({ kind }) => kind);

/** What is known of the state of a channel; on its own page without a link to it. @param {{channel: Channel, alarms?: string[], isOwn?: boolean}} props */
export function Card({ channel, alarms = [], isOwn = false }) {
  const { types } = useTypes();
  const name = channelName(channel);
  const device = channel.device;
  const silence = (Date.now() - Date.parse(channel.last_seen ?? channel.created_on)) / 1000;
  const isSilent = (!!device || channel.type === "android") && silence > SILENT_SECONDS;
  return html`
    <li class="card channel">
      <header>
        <span class="empty-icon small"><${Icon} name="channel" size=${22} /></span>
        <div><h2>${isOwn ? titleOf(types, channel.type) : html`<a href=${link(["channels", channel.uuid])}><bdi>${name}</bdi></a>`}</h2>${channel.address && channel.address !== name && html`<p><bdi>${channel.address}</bdi></p>`}</div>
        ${isSilent
          ? html`<${Badge} tone="bad">${t("channels.silent", { time: duration(silence) })}<//>`
          : !channel.refused_on && !channel.down_since && html`<${Badge} tone="good">${t("channels.alive")}<//>`}
      </header>
      <dl class="facts">
        ${!isOwn && html`<div><dt>${t("channels.type")}</dt><dd>${titleOf(types, channel.type)}</dd></div>`}
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
