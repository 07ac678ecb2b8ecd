/** One's own name, password and sessions. */

import { attempt } from "../parts/notices.js";
import { Badge, Field, ListEnd } from "../parts/small.js";
import { post, request } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { account, startSession } from "../shared/session.js";
import { shortTime, t } from "../shared/texts.js";
import { html } from "../shared/ui.js";

export function Account() {
  const user = account.value?.user;
  const sessions = useList("sessions", {});
  const save = (/** @type {string[]} */ ...names) => async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const data = new FormData(form);
    const body = Object.fromEntries(names.map((name) => [name, String(data.get(name))]));
    if (await attempt(() => post("account", body).then(startSession), t("contacts.done"))) form.reset();
  };
  const end = (/** @type {string} */ uuid) => attempt(() => request("DELETE", "v2/sessions.json", { query: { uuid } }).then(sessions.reload));
  return html`
    <div class="two equal">
      <form class="card" onSubmit=${save("first_name", "last_name")}>
        <h2>${user?.email}</h2>
        <${Field} label=${t("sign_in.first_name")} id="first"><input id="first" name="first_name" maxlength="150" defaultValue=${user?.first_name} /><//>
        <${Field} label=${t("sign_in.last_name")} id="last"><input id="last" name="last_name" maxlength="150" defaultValue=${user?.last_name} /><//>
        <button type="submit">${t("act.save")}</button>
      </form>
      <form class="card" onSubmit=${save("old_password", "password")}>
        <h2>${t("settings.password")}</h2>
        <${Field} label=${t("settings.old_password")} id="old"><input id="old" name="old_password" type="password" required autocomplete="current-password" /><//>
        <${Field} label=${t("settings.new_password")} id="new"><input id="new" name="password" type="password" required minlength="10" maxlength="200" autocomplete="new-password" /><//>
        <button type="submit">${t("act.save")}</button>
      </form>
    </div>
    <section class="card sessions" aria-label=${t("settings.sessions")}>
      <h2>${t("settings.sessions")}</h2>
      <ul class="records">
        ${sessions.items.map(({ uuid, user_agent, address, last_seen_on, current }) => html`<li key=${uuid}>
          <strong>${/\((.*?)\)/.exec(user_agent)?.[1] ?? user_agent}</strong><span class="note">${address} · ${shortTime(last_seen_on)}</span>
          ${current ? html`<${Badge} tone="good">${t("settings.this_session")}<//>` : html`<button type="button" onClick=${() => end(uuid)}>${t("settings.end_session")}</button>`}
        </li>`)}
      </ul>
      <${ListEnd} list=${sessions} />
    </section>
  `;
}
