/** A test message to an address of one's own, through one channel. */

import { Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { t } from "../shared/texts.js";
import { html } from "../shared/ui.js";

export const PHONE_SCHEME = "tel";

/** The fields of a form. @param {{scheme: string, to?: string}} props `to` is filled in */
export const TestFields = ({ scheme, to = "" }) => html`
  <${Field} label=${t(scheme === PHONE_SCHEME ? "channels.test_number" : "channels.test_address")} id="test-number">
    <input id="test-number" name="test-number" type=${scheme === PHONE_SCHEME ? "tel" : "text"} dir="ltr" required maxlength="240" placeholder=${scheme === PHONE_SCHEME ? "+250788123123" : ""} defaultValue=${to} /><//>
  <${Field} label=${t("settings.text")} id="test-text"><textarea id="test-text" name="test-text" rows="3" required maxlength="640" dir="auto" defaultValue=${t("channels.test_text")}></textarea><//>
`;

/** @param {string} channel @param {string} scheme @param {FormData} data @param {string} key of the request */
export function sendTest(channel, scheme, data, key) {
  const typed = String(data.get("test-number")).trim();
  const path = scheme === PHONE_SCHEME ? typed.replace(/[\s()-]/g, "") : typed;
  return post("channel_tests", { urn: `${scheme}:${path}`, text: String(data.get("test-text")) }, { uuid: channel }, key);
}

/** The scheme of a channel of which nobody told it: nearly all types have one. @param {string[] | undefined} schemes */
export const likelyScheme = (schemes) => (!schemes || schemes.includes(PHONE_SCHEME) ? PHONE_SCHEME : (schemes[0] ?? PHONE_SCHEME));
