/** The users of the workspace, and who is invited. */

import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { Avatar, Badge, Field, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { listTime, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

const ROLES = /** @type {const} */ (["agent", "viewer", "editor", "administrator", "surveyor"]);

export function People() {
  const users = useList("users", {});
  const invited = useList("invitations", may("list_invitations") ? {} : null);
  const [inviting, setInviting] = useState(false);
  const invite = async (/** @type {FormData} */ data) => {
    await post("invitations", { email: String(data.get("email")), role: /** @type {any} */ (data.get("role")) });
    invited.reload();
  };
  return html`
    <section class="card" aria-label=${t("settings.users")}>
      <header class="page-header">
        <h2>${t("settings.users")}</h2><span class="grows"></span>
        ${may("create_invitation") && html`<button type="button" class="primary" onClick=${() => setInviting(true)}><${Icon} name="plus" size=${18} /> ${t("settings.invite")}</button>`}
      </header>
      <ul class="records">
        ${users.items.map(({ uuid, name, email, role }) => html`<li key=${uuid}><${Avatar} name=${name || email} id=${uuid} /><strong>${name || email}</strong><span class="note">${email}</span><${Badge}>${word("role", role)}<//></li>`)}
        ${invited.items.map(({ uuid, email, role, expires_on }) => html`<li key=${uuid}><${Avatar} name=${email} id=${uuid} /><strong>${email}</strong>
          <span class="note">${t("settings.invited_until", { time: listTime(expires_on) })}</span><${Badge} tone="warn">${word("role", role)}<//>
          <button type="button" class="quiet icon-only" aria-label=${t("settings.delete", { name: email })} onClick=${() => attempt(() => remove("invitations", { uuid }).then(invited.reload))}><${Icon} name="trash" size=${18} /></button></li>`)}
      </ul>
      <${ListEnd} list=${users} />
      ${inviting &&
      html`<${FormDialog} title=${t("settings.invite")} submit=${t("settings.invite")} onSubmit=${invite} onClose=${() => setInviting(false)}>
        <${Field} label=${t("sign_in.email")} id="invite-email"><input id="invite-email" name="email" type="email" required /><//>
        <${Field} label=${t("settings.role")} id="invite-role"><select id="invite-role" name="role">${ROLES.map((role) => html`<option key=${role} value=${role}>${word("role", role)}</option>`)}</select><//>
      <//>`}
    </section>
  `;
}
