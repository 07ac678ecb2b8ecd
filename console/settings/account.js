/** One's own name, password, second factor, notices and sessions. */

import { useKeptForm } from "../parts/kept_form.js";
import { attempt } from "../parts/notices.js";
import { Badge, Field, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { choices, choose, TOLD } from "../shared/choices.js";
import { useList } from "../shared/lists.js";
import { account, may, startSession } from "../shared/session.js";
import { language, shortTime, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { useReturn } from "./returning.js";
import { TwoFactor } from "./two_factor.js";

export function Account() {
  const shown = account.value;
  const user = shown?.user;
  const sessions = useList("sessions", {});
  const { form: names, keep, drop } = useKeptForm("settings.account");
  useReturn(sessions.refresh);
  const save = (/** @type {string} */ done, /** @type {string[]} */ ...fields) => async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const data = new FormData(form);
    const given = fields.filter((name) => data.has(name));
    const body = Object.fromEntries(given.map((name) => [name, String(data.get(name))]));
    if (await attempt(() => post("account", body).then(startSession), done)) drop(), form.reset(), sessions.reload();
  };
  const setAway = (/** @type {boolean} */ away) => attempt(() => post("account", { away }).then(startSession), t("settings.saved"));
  const end = (/** @type {string} */ uuid) => attempt(() => remove("sessions", { uuid }).then(sessions.reload));
  return html`
    <div class="two equal">
      <form class="card" ref=${names} onInputCapture=${keep} onSubmit=${save(t("settings.saved"), "first_name", "last_name")} aria-labelledby="own-address">
        <h2 id="own-address">${user?.email}</h2>
        <p class="faint">${word("role", shown?.workspace.role ?? "")}</p>
        <${Field} label=${t("sign_in.first_name")} id="first"><input id="first" name="first_name" maxlength="150" autocomplete="given-name" defaultValue=${user?.first_name} /><//>
        <${Field} label=${t("sign_in.last_name")} id="last"><input id="last" name="last_name" maxlength="150" autocomplete="family-name" defaultValue=${user?.last_name} /><//>
        <button type="submit">${t("act.save")}</button>
        <label class="choice-line"><input type="checkbox" checked=${shown?.workspace.away} aria-describedby="away-help" onChange=${(/** @type {any} */ event) => setAway(event.target.checked)} /> ${t("team.away")}</label>
        <p id="away-help" class="help">${t("team.away_help")}</p>
      </form>
      <form class="card" onSubmit=${save(t("settings.password_changed"), "old_password", "password")} aria-labelledby="own-password">
        <h2 id="own-password">${t("settings.password")}</h2>
        <input type="email" autocomplete="username" value=${user?.email} hidden readonly />
        ${shown?.has_password && html`<${Field} label=${t("settings.old_password")} id="old"><input id="old" name="old_password" type="password" required autocomplete="current-password" /><//>`}
        <${Field} label=${t("settings.new_password")} id="new" help=${t("settings.password_help")}>
          <input id="new" name="password" type="password" required minlength="10" maxlength="200" autocomplete="new-password" aria-describedby="new-help" /><//>
        <button type="submit">${t("act.save")}</button>
      </form>
      <${TwoFactor} />
      <${Notices} />
    </div>
    <section class="card sessions" aria-label=${t("settings.sessions")}>
      <h2>${t("settings.sessions")}</h2>
      <p class="help">${t("settings.sessions_help")}</p>
      <ul class="records">
        ${sessions.items.map(({ uuid, user_agent, address, method, last_seen_on, current }) => html`<li key=${uuid}>
          <strong>${browserOf(user_agent)}</strong><span class="note"><bdi>${address}</bdi> · ${word("session_method", method)} · ${shortTime(last_seen_on)}</span>
          ${current ? html`<${Badge} tone="good">${t("settings.this_session")}<//>` : html`<button type="button" aria-label=${t("settings.end_session_of", { browser: browserOf(user_agent), time: shortTime(last_seen_on) })} onClick=${() => end(uuid)}>${t("settings.end_session")}</button>`}
        </li>`)}
      </ul>
      <${ListEnd} list=${sessions} />
    </section>
  `;
}

/** What people call a browser: its name and its system. @param {string} agent */
function browserOf(agent) {
  const name = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]].find(([sign]) => agent.includes(sign))?.[1];
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux"].find((each) => agent.includes(each));
  return [name, system].filter(Boolean).join(" · ") || agent.slice(0, 60) || "–";
}

/** Of whose messages this browser tells, and how. */
function Notices() {
  const [isBlocked, setBlocked] = useState("Notification" in window && Notification.permission === "denied");
  const { told, sound, keys } = choices.value;
  const present = account.value?.workspace;
  const mail = (/** @type {typeof TOLD[number]} */ of) =>
    attempt(async () => {
      account.value = await post("account", { mail_of: of, mail_language: /** @type {any} */ (language.value) });
    }, t("told.mail_kept"));
  const tell = async (/** @type {import("../shared/choices.js").Told} */ wanted) => {
    choose({ told: wanted });
    if (wanted !== "none" && "Notification" in window) setBlocked((await Notification.requestPermission()) === "denied");
  };
  return html`
    <section class="card" aria-labelledby="own-notices">
      <h2 id="own-notices">${t("told.title")}</h2>
      <${Field} label=${t("told.of")} id="told" help=${t("told.help")}>
        <select id="told" aria-describedby="told-help" onChange=${(/** @type {any} */ event) => void tell(event.target.value)}>
          ${TOLD.map((each) => html`<option key=${each} value=${each} selected=${each === told}>${word("told", each)}</option>`)}
        </select>
      <//>
      ${isBlocked && told !== "none" && html`<p class="problem" role="alert">${t("told.blocked")}</p>`}
      <label class="choice-line"><input type="checkbox" checked=${sound} onChange=${() => choose({ sound: !sound })} /> ${t("told.sound")}</label>
      ${present && may("attend_conversation") && html`<${Field} label=${t("told.mail_of")} id="mail-of" help=${t("told.mail_help")}>
        <select id="mail-of" aria-describedby="mail-of-help" onChange=${(/** @type {any} */ event) => mail(event.target.value)}>
          ${TOLD.map((each) => html`<option key=${each} value=${each} selected=${each === present.mail_of}>${word("told", each)}</option>`)}
        </select>
      <//>`}
      <label class="choice-line"><input type="checkbox" checked=${keys} onChange=${() => choose({ keys: !keys })} /> ${t("keys.single")}</label>
    </section>
  `;
}
