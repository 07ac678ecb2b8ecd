/** Two-factor authentication of one's own account. */

import { Dialog, FormDialog } from "../parts/dialog.js";
import { QrCode } from "../parts/qr_code.js";
import { Secret } from "../parts/secret_dialog.js";
import { Badge, Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { account, startSession } from "../shared/session.js";
import { number, t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

/** @typedef {"set_up_two_factor" | "confirm_two_factor" | "renew_recovery_codes" | "switch_off_two_factor"} Step */

const FEW_CODES = 3;

export function TwoFactor() {
  const [step, setStep] = useState(/** @type {Step | null} */ (null));
  const [made, setMade] = useState({ secret: "", uri: "" });
  const [codes, setCodes] = useState(/** @type {string[]} */ ([]));
  const isOn = !!account.value?.two_factor;
  const left = account.value?.recovery_codes_left ?? 0;
  const close = () => setStep(null);
  const act = async (/** @type {Step} */ action, /** @type {FormData} */ data) => {
    const given = Object.fromEntries(["password", "code"].flatMap((name) => (data.get(name) ? [[name, String(data.get(name))]] : [])));
    const found = await post("account_actions", { action, ...given });
    setCodes(found.recovery_codes);
    if (found.secret) setMade({ secret: found.secret, uri: found.uri ?? "" });
    await startSession();
    return found.secret;
  };
  const setUp = async (/** @type {FormData} */ data) => {
    // The next dialog opens when this one has closed.
    if (await act("set_up_two_factor", data)) setTimeout(() => setStep("confirm_two_factor"));
  };
  return html`
    <section class="card" aria-labelledby="two-factor">
      <h2 id="two-factor">${t("settings.two_factor")}</h2>
      <p>${isOn ? html`<${Badge} tone="good">${t("settings.two_factor_on")}<//>` : t("settings.two_factor_text")}</p>
      ${isOn && html`<p class=${left < FEW_CODES ? "problem" : "help"}>${t("settings.codes_left", { count: number(left) })}</p>`}
      <p class="button-row">
        ${isOn
          ? html`<button type="button" onClick=${() => setStep("renew_recovery_codes")}>${t("settings.new_codes")}</button>
              <button type="button" onClick=${() => setStep("switch_off_two_factor")}>${t("settings.two_factor_off")}</button>`
          : html`<button type="button" onClick=${() => setStep("set_up_two_factor")}>${t("settings.two_factor_set_up")}</button>`}
      </p>
    </section>
    ${step === "set_up_two_factor" && html`<${FormDialog} title=${t("settings.two_factor")} submit=${t("settings.go_on")} onSubmit=${setUp} onClose=${close}>
      <p>${t("settings.two_factor_text")}</p><${PasswordField} /><//>`}
    ${step === "confirm_two_factor" && html`<${FormDialog} title=${t("settings.two_factor")} submit=${t("settings.confirm")} onClose=${close}
      onSubmit=${(/** @type {FormData} */ data) => act("confirm_two_factor", data)}>
      <p>${t("settings.scan")}</p>
      <${QrCode} text=${made.uri} label=${t("settings.scan")} />
      <p class="help">${t("settings.scan_by_hand")} <code dir="ltr">${made.secret}</code></p>
      <${CodeField} /><//>`}
    ${step === "renew_recovery_codes" && html`<${FormDialog} title=${t("settings.new_codes")} submit=${t("settings.new_codes")} onClose=${close}
      onSubmit=${(/** @type {FormData} */ data) => act("renew_recovery_codes", data)}><p>${t("settings.new_codes_text")}</p><${CodeField} /><//>`}
    ${step === "switch_off_two_factor" && html`<${FormDialog} title=${t("settings.two_factor_off")} submit=${t("settings.two_factor_off")} danger onClose=${close}
      onSubmit=${(/** @type {FormData} */ data) => act("switch_off_two_factor", data)}><${PasswordField} /><${CodeField} /><//>`}
    ${codes.length > 0 && step === null && html`<${Dialog} title=${t("settings.recovery_codes")} onClose=${() => setCodes([])}>
      <${Secret} text=${t("settings.recovery_text")} secret=${codes.join("\n")} /><//>`}
  `;
}

const PasswordField = () =>
  account.value?.has_password &&
  html`<${Field} label=${t("settings.old_password")} id="proof"><input id="proof" name="password" type="password" required autocomplete="current-password" /><//>`;

const CodeField = () => html`
  <${Field} label=${t("sign_in.code")} id="proof-code" help=${t("sign_in.code_help")}>
    <input id="proof-code" name="code" required maxlength="32" inputmode="numeric" autocomplete="one-time-code" aria-describedby="proof-code-help" /><//>
`;
