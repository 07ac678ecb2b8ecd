/** The page on which people sign in. */

import { Field } from "../parts/small.js";
import { Refused } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { go, place } from "../shared/router.js";
import { signIn } from "../shared/session.js";
import { chooseLanguage, language, LANGUAGES, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";

export function SignIn() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (/** @type {string} */ email, /** @type {string} */ password, /** @type {string} */ code) => {
    setBusy(true);
    setProblem("");
    try {
      await signIn(email, password, code);
    } catch (error) {
      setProblem(error instanceof Refused && error.status === 403 ? t("sign_in.wrong") : explain(error));
      setBusy(false);
    }
  };
  const done = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const [email, password, code] = ["email", "password", "code"].map((name) => String(data.get(name) ?? "").trim());
    void submit(email, password, code);
  };
  useEffect(() => void fromLink(submit), []);
  return html`
    <main class="sign-in" id="main">
      <form class="card" onSubmit=${done}>
        <img src=${new URL("../images/mark.svg", import.meta.url).pathname} alt="" width="48" height="48" />
        <h1>${t("sign_in.title")}</h1>
        <${Field} label=${t("sign_in.email")} id="email">
          <input id="email" name="email" type="email" required autocomplete="username" />
        <//>
        <${Field} label=${t("sign_in.password")} id="password">
          <input id="password" name="password" type="password" required autocomplete="current-password" />
        <//>
        <details>
          <summary>${t("sign_in.has_code")}</summary>
          <${Field} label=${t("sign_in.code")} id="code" help=${t("sign_in.code_help")}>
            <input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" aria-describedby="code-help" />
          <//>
        </details>
        ${problem && html`<p class="problem" role="alert">${problem}</p>`}
        <button class="primary" type="submit" disabled=${busy}>${t("sign_in.submit")}</button>
      </form>
      <${Languages} />
    </main>
  `;
}

/** Signs in with what the link of the demo names; it is a service on one's own computer. @param {(...given: string[]) => void} submit */
function fromLink(submit) {
  const { page, query } = place.value;
  if (page !== "demo") return;
  go([], {}, { replace: true });
  if (query.email && query.password) submit(query.email, query.password, "");
}

const Languages = () => html`
  <label class="languages">
    <span class="hidden">${t("shell.language")}</span>
    <select onChange=${(/** @type {Event} */ event) => chooseLanguage(/** @type {HTMLSelectElement} */ (event.target).value)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code} lang=${code} selected=${code === language.value}>${name}</option>`)}
    </select>
  </label>
`;
