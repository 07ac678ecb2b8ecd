/** How contacts are called. */

import { t } from "./texts.js";

/** The part of a URN that people know: the number or the name. @param {string | null | undefined} urn */
export const addressOf = (urn) => (urn ?? "").split("#")[0].split(":").slice(1).join(":");

/** @param {string | null | undefined} name @param {string | null | undefined} urn */
export const displayName = (name, urn) => name || addressOf(urn) || t("contact.unnamed");
