/** The page on which people sign in. */

import { Field } from "../parts/small.js";
import { explain } from "../shared/explain.js";
import { signInWithToken } from "../shared/session.js";
import { chooseLanguage, language, LANGUAGES, t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

export function SignIn() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const done = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (event.target));
    setBusy(true);
    setProblem("");
    try {
      await signInWithToken(String(data.get("token")));
    } catch (error) {
      setProblem(explain(error));
      setBusy(false);
    }
  };
  return html`
    <main class="sign-in" id="main">
      <form class="card" onSubmit=${done}>
        <img src=${new URL("../images/mark.svg", import.meta.url).pathname} alt="" width="48" height="48" />
        <h1>${t("sign_in.title")}</h1>
        <${Field} label=${t("sign_in.token")} id="token">
          <input id="token" name="token" type="password" required autocomplete="off" />
        <//>
        ${problem && html`<p class="problem" role="alert">${problem}</p>`}
        <button class="primary" type="submit" disabled=${busy}>${t("sign_in.submit")}</button>
      </form>
      <${Languages} />
    </main>
  `;
}

const Languages = () => html`
  <label class="languages">
    <span class="hidden">${t("shell.language")}</span>
    <select onChange=${(/** @type {Event} */ event) => chooseLanguage(/** @type {HTMLSelectElement} */ (event.target).value)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code} lang=${code} selected=${code === language.value}>${name}</option>`)}
    </select>
  </label>
`;
