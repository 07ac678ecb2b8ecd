/** The page on which people sign in. */

import { Field } from "../parts/small.js";
import { Refused, request } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { go, link, place } from "../shared/router.js";
import { signIn } from "../shared/session.js";
import { chooseLanguage, language, LANGUAGES, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";

/** The ways to sign in, by the page that leads to them. @type {Record<string, "link_sessions" | "invitation_sessions">} */
const WAYS = { "sign-in": "link_sessions", invitation: "invitation_sessions" };

/** What the service says if only the code of the second factor is missing. */
const CODE_MISSING = "second_factor_required";

/** Whether the address signs in by itself: the demo, on one's own computer, opens this page with what is needed. */
export const isSigningIn = () => place.value.page === "demo" && !!place.value.query.email;

export function SignIn() {
  const { page, parts, query } = place.value;
  const way = (parts[0] && WAYS[page]) || "sessions";
  const [problem, setProblem] = useState("");
  const [notice, setNotice] = useState("");
  const [busy, setBusy] = useState(false);
  const [asksCode, setAsksCode] = useState(false);
  const submit = async (/** @type {Record<string, string>} */ proof) => {
    setBusy(true);
    setProblem("");
    try {
      await signIn(way, proof);
      if (way !== "sessions") go([], {}, { replace: true });
    } catch (error) {
      if (error instanceof Refused && error.code === CODE_MISSING) setAsksCode(true);
      else setProblem(error instanceof Refused && error.status === 403 && way === "sessions" ? t(asksCode ? "sign_in.wrong_code" : "sign_in.wrong") : explain(error));
      setBusy(false);
    }
  };
  const done = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const data = /** @type {[string, string][]} */ ([...new FormData(/** @type {HTMLFormElement} */ (event.target))]);
    const secret = way === "sessions" ? {} : { [way === "link_sessions" ? "link" : "invitation"]: parts[0] };
    void submit({ ...Object.fromEntries(data.map(([name, value]) => [name, name === "password" ? value : value.trim()])), ...secret });
  };
  const mail = async () => {
    const email = /** @type {HTMLInputElement} */ (document.getElementById("email"));
    if (!email.reportValidity()) return;
    setProblem("");
    await request("POST", "v2/sign_in_links.json", { body: { email: email.value } }).then(
      () => setNotice(t("sign_in.mailed")),
      (error) => setProblem(explain(error)),
    );
  };
  useEffect(() => {
    setProblem("");
    setAsksCode(false);
  }, [way]);
  useEffect(() => {
    if (asksCode) document.getElementById("code")?.focus();
  }, [asksCode]);
  useEffect(() => {
    if (!isSigningIn()) return;
    go([], {}, { replace: true });
    void submit({ email: query.email, password: query.password });
  }, []);
  const isNew = way === "invitation_sessions";
  return html`
    <main class="sign-in" id="main">
      <form class="card" onSubmit=${done}>
        <img src=${new URL("../images/mark.svg", import.meta.url).pathname} alt="" width="48" height="48" />
        <h1>${t(isNew ? "sign_in.invited" : "sign_in.title")}</h1>
        ${way === "sessions" && html`<${Input} name="email" label=${t("sign_in.email")} type="email" required autocomplete="username" />`}
        ${isNew && html`<${Input} name="first_name" label=${t("sign_in.first_name")} autocomplete="given-name" />`}
        ${isNew && html`<${Input} name="last_name" label=${t("sign_in.last_name")} autocomplete="family-name" />`}
        ${way !== "link_sessions" && html`<${Input} name="password" label=${t("sign_in.password")} type="password" required
          autocomplete=${isNew ? "new-password" : "current-password"} help=${isNew ? t("sign_in.password_help") : undefined} />`}
        ${asksCode
          ? html`<p class="said" role="status">${t("sign_in.asks_code")}</p>
              <${Input} name="code" label=${t("sign_in.code")} help=${t("sign_in.code_help")} required autocomplete="one-time-code" />`
          : html`<details>
              <summary>${t("sign_in.has_code")}</summary>
              <${Input} name="code" label=${t("sign_in.code")} help=${t("sign_in.code_help")} autocomplete="one-time-code" />
            </details>`}
        ${problem && html`<p class="problem" role="alert">${problem}</p>`}
        ${notice && html`<p class="said" role="status">${notice}</p>`}
        <button class="primary" type="submit" disabled=${busy}>${t(isNew ? "sign_in.join" : "sign_in.submit")}</button>
        ${problem && way !== "sessions" && html`<p class="other"><a href=${link([])}>${t("sign_in.with_password")}</a></p>`}
        ${way === "sessions" && html`<p class="other"><button type="button" class="link" onClick=${mail}>${t("sign_in.mail_me")}</button></p>`}
      </form>
      <${Languages} />
    </main>
  `;
}

/** @param {{name: string, label: string, help?: string, [attribute: string]: unknown}} props */
const Input = ({ name, label, help, ...attributes }) => html`
  <${Field} label=${label} id=${name} help=${help}>
    <input id=${name} name=${name} aria-describedby=${help ? `${name}-help` : undefined} ...${attributes} />
  <//>
`;

const Languages = () => html`
  <label class="languages">
    <span class="hidden">${t("shell.language")}</span>
    <select onChange=${(/** @type {Event} */ event) => chooseLanguage(/** @type {HTMLSelectElement} */ (event.target).value)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code} lang=${code} selected=${code === language.value}>${name}</option>`)}
    </select>
  </label>
`;
