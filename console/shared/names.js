/** How contacts and channels are called. */

import { useAll } from "./lists.js";
import { dateText, t } from "./texts.js";
import { useMemo } from "./ui.js";

/** The part of a URN that people know: the number or the name. @param {string | null | undefined} urn */
export const addressOf = (urn) => (urn ?? "").split("#")[0].split(":").slice(1).join(":");

const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** The first name of which people see something that they can click. @param {(string | null | undefined)[]} names */
const firstSeen = (...names) => names.find((each) => each && SEEN.test(each));

/** @param {string | null | undefined} name @param {string | null | undefined} urn */
export const displayName = (name, urn) => firstSeen(name, addressOf(urn)) ?? t("contact.unnamed");

/**
 * @typedef {{uuid: string, name: string | null}} ChannelRef
 * @typedef {ChannelRef & Partial<Pick<import("./contract.js").Listed<"channels">, "address" | "device" | "created_on">>} NamedChannel
 */

/** A channel without a name, as phones can be, is called by its number, else its device, else its day. @param {NamedChannel} channel */
export const channelName = ({ name, address, device, created_on }) =>
  firstSeen(name, address, device?.name) ?? (created_on ? t("channels.registered", { time: dateText(created_on) }) : t("contact.unnamed"));

/**
 * The same for channels of which only the name is told: what else is known of those without one is asked for.
 * @param {(ChannelRef | null)[]} told
 * @returns {(channel: ChannelRef) => string}
 */
export function useChannelNames(told) {
  const isNeeded = told.some((each) => each && !firstSeen(each.name));
  const known = useAll(isNeeded ? "channels" : null);
  return useMemo(() => (channel) => channelName({ ...known.find(({ uuid }) => uuid === channel.uuid), ...channel }), [known]);
}
