/** On which terms a channel sends: when automatic messages go, and of SMS what one costs and how texts are written. */

import { FormDialog } from "../parts/dialog.js";
import { Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { number, t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { PHONE_SCHEME } from "./test_message.js";

/** @typedef {import("./gateway_form.js").Settings} Settings */

const DECIMALS = { maximumFractionDigits: 6 };

/** @param {{settings: Settings, onChange: () => void}} props */
export function TermsCard({ settings, onChange }) {
  const [changing, setChanging] = useState(false);
  const { transliterate, cost_per_segment: cost, sending_hours: hours, automatic_per_day: budget } = settings;
  const isSms = settings.scheme === PHONE_SCHEME;
  const save = async (/** @type {FormData} */ data) => {
    const [costs, most, times] = ["cost_per_segment", "automatic_per_day", "sending_hours"].map((name) => String(data.get(name) ?? "").trim());
    const ofSms = isSms ? { cost_per_segment: costs ? Number(costs) : null, transliterate: data.has("transliterate") } : {};
    await post("channel_settings", { ...ofSms, automatic_per_day: most ? Number(most) : null, sending_hours: times || null }, { uuid: settings.uuid });
    onChange();
  };
  return html`
    <section class="card" aria-labelledby="terms-title">
      <header><h2 id="terms-title">${t("terms.title")}</h2></header>
      <dl class="facts">
        ${isSms && html`<div><dt>${t("terms.cost")}</dt><dd>${cost === null ? t("terms.none") : number(cost, DECIMALS)}</dd></div>`}
        <div><dt>${t("terms.hours")}</dt><dd><bdi dir="ltr">${hours ?? t("terms.none")}</bdi></dd></div>
        <div><dt>${t("terms.budget")}</dt><dd>${budget === null ? t("terms.none") : number(budget)}</dd></div>
        ${isSms && html`<div><dt>${t("terms.transliterate")}</dt><dd>${t(transliterate ? "terms.yes" : "terms.no")}</dd></div>`}
      </dl>
      <p class="actions"><button type="button" onClick=${() => setChanging(true)}>${t("terms.change")}</button></p>
      ${changing && html`<${FormDialog} title=${t("terms.change")} submit=${t("act.save")} draft=${`terms.${settings.uuid}`} onSubmit=${save} onClose=${() => setChanging(false)}>
        ${isSms && html`<${Field} label=${t("terms.cost")} id="cost_per_segment" help=${t("terms.cost_help")}>
          <input id="cost_per_segment" name="cost_per_segment" type="number" min="0" max="1000" step="0.000001" defaultValue=${cost ?? ""} aria-describedby="cost_per_segment-help" /><//>`}
        <${Field} label=${t("terms.hours")} id="sending_hours" help=${t("terms.hours_help")}>
          <input id="sending_hours" name="sending_hours" dir="ltr" maxlength="64" placeholder="mon-fri 08:00-18:00" defaultValue=${hours ?? ""} aria-describedby="sending_hours-help" /><//>
        <${Field} label=${t("terms.budget")} id="automatic_per_day" help=${t("terms.budget_help")}>
          <input id="automatic_per_day" name="automatic_per_day" type="number" min="0" max="1000000" step="1" defaultValue=${budget ?? ""} aria-describedby="automatic_per_day-help" /><//>
        ${isSms && html`<div class="field"><label class="event-check"><input id="transliterate" name="transliterate" type="checkbox" defaultChecked=${transliterate} aria-describedby="transliterate-help" /> ${t("terms.transliterate")}</label>
          <p class="help" id="transliterate-help">${t("terms.transliterate_help")}</p></div>`}
      <//>`}
    </section>
  `;
}
