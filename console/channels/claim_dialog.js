/** Claiming a phone by the code that it shows. */

import { FormDialog } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { QrCode } from "../parts/qr_code.js";
import { Field } from "../parts/small.js";
import { request } from "../shared/api.js";
import { useWhole } from "../shared/lists.js";
import { channelName } from "../shared/names.js";
import { t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/** @typedef {import("./page.js").Channel} Channel */

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

/** Says which phone the new one replaces before that happens, and lets people attach it beside that one. @param {{onDone: () => void, onClose: () => void}} props */
export function ClaimDialog({ onDone, onClose }) {
  const channels = useWhole("channels");
  const [typed, setTyped] = useState("");
  const isDone = useRef(false);
  const type = (/** @type {{target: HTMLInputElement}} */ { target }) => setTyped(target.value);
  const former = channels?.find((channel) => mayHave(typed, channel));
  const claim = async (/** @type {FormData} */ data) => {
    const [claim_code, phone, name] = ["claim_code", "phone", "name"].map((field) => String(data.get(field)).trim());
    const second_phone = data.has("second_phone");
    const { replaced } = await request("POST", "v1/relayers.json", { body: { claim_code, phone, name, second_phone } });
    if (replaced) notify(t("channels.replaced", { name: replaced.name || phone }));
    isDone.current = true;
  };
  return html`
    <${FormDialog} title=${t("channels.add_phone")} submit=${t("channels.claim")} disabled=${!channels} draft="channel.phone" onSubmit=${claim} onClose=${() => (isDone.current ? onDone() : onClose())}>
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
