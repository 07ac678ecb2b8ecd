/** What only administrators see of a channel: where it sends to, and of a gateway the address that it calls, its limit, and how it is called. */

import { confirmFirst } from "../parts/dialog.js";
import { attempt, notify } from "../parts/notices.js";
import { Problem } from "../parts/small.js";
import { get, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { link } from "../shared/router.js";
import { fullTime, number, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { Copied } from "../parts/secret_dialog.js";
import { CallbackUrls } from "./connect.js";
import { ChangeDialog, nameOf } from "./gateway_form.js";
import { TermsCard } from "./terms_card.js";
import { PHONE_SCHEME } from "./test_message.js";
import { useTypes } from "./types.js";

/** @typedef {import("./gateway_form.js").Settings} Settings */

/** @param {{uuid: string, onChange: () => void}} props */
export function SettingsCard({ uuid, onChange }) {
  const [settings, setSettings] = useState(/** @type {Settings | null} */ (null));
  const [problem, setProblem] = useState("");
  const [changing, setChanging] = useState(false);
  const { types } = useTypes();
  const load = () => get("channel_settings", { uuid }).then(({ results }) => (setSettings(results[0] ?? null), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void load(), [uuid]);
  if (problem) return html`<${Problem} text=${problem} onRetry=${load} />`;
  if (!settings) return null;
  const url = settings.callback_url ?? "";
  const type = types?.types.find((each) => each.type === settings.type);
  const preset = types?.presets.find((each) => each.preset === settings.preset);
  const allow = (/** @type {boolean} */ isAllowed) => attempt(() => post("channel_settings", { allow_international: isAllowed }, { uuid }).then(load));
  const askToRotate = () =>
    confirmFirst({
      title: t("deliveries.new_secret"),
      text: t("gateway.rotate_text"),
      submit: t("deliveries.new_secret"),
      onYes: async () => {
        await post("channel_settings", { rotate_secret: true }, { uuid });
        notify(t("gateway.rotated"));
        await load();
      },
    });
  return html`
    ${settings.scheme === PHONE_SCHEME && html`<section class="card" aria-labelledby="abroad-title">
      <header><h2 id="abroad-title">${t("channels.abroad")}</h2></header>
      <p class="help">${t(settings.allow_international ? "channels.abroad_yes" : "channels.abroad_no")}</p>
      <p class="actions"><button type="button" onClick=${() => allow(!settings.allow_international)}>
        ${t(settings.allow_international ? "channels.abroad_forbid" : "channels.abroad_allow")}
      </button></p>
    </section>`}
    <${TermsCard} settings=${settings} onChange=${load} />
    ${url && html`<section class="card" aria-labelledby="gateway-title">
      <header><h2 id="gateway-title">${t("gateway.title")}</h2></header>
      ${settings.embed && html`<${Copied} label=${t("connect.embed")} text=${settings.embed} />`}
      ${type && type.callback !== "none" && html`${!settings.connection && html`<p class="help">${t("gateway.callback_help")}</p>`}
        <${CallbackUrls} settings=${settings} actions=${(preset ?? type).actions} />`}
      ${settings.former_secret_until && html`<p class="help">${t("gateway.former_until", { time: fullTime(settings.former_secret_until) })}</p>`}
      <dl class="facts">
        <div><dt>${t("gateway.limit")}</dt><dd>${settings.messages_per_second === null ? t("gateway.no_limit") : number(settings.messages_per_second)}</dd></div>
        ${Object.entries(preset ? settings.fields : settings.settings).map(([name, value]) => html`<div key=${name}><dt>${nameOf(name)}</dt><dd><bdi class="url">${value}</bdi></dd></div>`)}
      </dl>
      <p class="actions">
        <button type="button" onClick=${() => setChanging(true)}>${t("gateway.change")}</button>
        <a class="button" href=${link(["channels", uuid, "connect"])}>${t("connect.again")}</a>
        ${type && type.callback !== "none" && html`<button type="button" class="quiet" onClick=${askToRotate}>${t("deliveries.new_secret")}</button>`}
      </p>
      ${changing && html`<${ChangeDialog} present=${settings} onDone=${() => (load(), onChange())} onClose=${() => setChanging(false)} />`}
    </section>`}
  `;
}
