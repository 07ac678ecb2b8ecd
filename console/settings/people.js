/** The users of the workspace with their roles, and who is invited. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt, notify } from "../parts/notices.js";
import { SecretDialog } from "../parts/secret_dialog.js";
import { Avatar, Badge, Field, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { account, may, startSession } from "../shared/session.js";
import { listTime, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { useReturn } from "./returning.js";

/** @typedef {import("../shared/contract.js").Listed<"users">} User */

const ROLES = /** @type {const} */ (["agent", "viewer", "editor", "administrator", "surveyor"]);
/** @typedef {typeof ROLES[number]} Role */

export function People() {
  const users = useList("users", {});
  const invited = useList("invitations", may("list_invitations") ? {} : null);
  const [isInviting, setInviting] = useState(false);
  const [edited, setEdited] = useState(/** @type {User | null} */ (null));
  const [given, setGiven] = useState({ email: "", link: "" });
  useReturn(() => (users.refresh(), invited.refresh()));
  const invite = async (/** @type {FormData} */ data) => {
    const email = String(data.get("email")).trim();
    const { link } = await post("invitations", { email, role: roleIn(data) });
    if (link) setGiven({ email, link });
    else notify(t("settings.invitation_mailed", { email }));
    invited.reload();
  };
  const change = async (/** @type {User} */ user, /** @type {Role | null} */ role) => {
    await post("user_actions", role ? { user: user.uuid, action: "change_role", role } : { user: user.uuid, action: "remove" });
    if (user.uuid === account.value?.user.uuid) await startSession();
    users.reload();
  };
  const askToRemove = (/** @type {User} */ user) =>
    confirmFirst({
      title: t("settings.remove_user", { name: user.name || user.email }),
      text: t("settings.remove_user_text"),
      submit: t("act.remove"),
      onYes: () => change(user, null),
    });
  return html`
    <section class="card" aria-label=${t("settings.users")}>
      <header class="page-header">
        <h2>${t("settings.users")}</h2><span class="grows"></span>
        ${may("create_invitation") && html`<button type="button" class="primary" onClick=${() => setInviting(true)}><${Icon} name="plus" size=${18} /> ${t("settings.invite")}</button>`}
      </header>
      <ul class="records">
        ${users.items.map((user) => html`<${Person} key=${user.uuid} user=${user} onEdit=${() => setEdited(user)} onRemove=${() => askToRemove(user)} />`)}
      </ul>
      <${ListEnd} list=${users} />
      ${invited.items.length > 0 && html`<h2>${t("settings.invitations")}</h2>`}
      <ul class="records">
        ${invited.items.map(({ uuid, email, role, expires_on, error }) => html`<li key=${uuid}><${Avatar} name=${email} id=${uuid} /><strong>${email}</strong>
          <span class="note">${t("settings.invited_until", { time: listTime(expires_on) })}</span><${Badge} tone="warn">${word("role", role)}<//>
          <button type="button" class="quiet icon-only" aria-label=${t("settings.withdraw", { email })} title=${t("settings.withdraw", { email })}
            onClick=${() => attempt(() => remove("invitations", { uuid }).then(invited.reload))}><${Icon} name="trash" size=${18} /></button>
          ${error && html`<p class="problem" dir="auto">${error}</p>`}</li>`)}
      </ul>
      ${may("list_invitations") && html`<${ListEnd} list=${invited} />`}
      ${isInviting &&
      html`<${FormDialog} title=${t("settings.invite")} submit=${t("settings.invite")} draft="settings.invitation" onSubmit=${invite} onClose=${() => setInviting(false)}>
        <${Field} label=${t("sign_in.email")} id="invite-email"><input id="invite-email" name="email" type="email" required maxlength="254" /><//>
        <${RoleField} role="agent" />
      <//>`}
      ${edited &&
      html`<${FormDialog} title=${edited.name || edited.email} submit=${t("act.save")} onClose=${() => setEdited(null)}
        onSubmit=${(/** @type {FormData} */ data) => change(edited, roleIn(data))}><${RoleField} role=${edited.role} /><//>`}
      ${given.link && html`<${SecretDialog} title=${t("settings.invitation_for", { email: given.email })} text=${t("settings.invitation_text")}
        secret=${given.link} onClose=${() => setGiven({ email: "", link: "" })} />`}
    </section>
  `;
}

/** @param {{user: User, onEdit: () => void, onRemove: () => void}} props */
function Person({ user, onEdit, onRemove }) {
  const name = user.name || user.email;
  return html`<li>
    <${Avatar} name=${name} id=${user.uuid} /><strong>${name}</strong><span class="note">${[user.email, user.team?.name].filter(Boolean).join(" · ")}</span><${Badge}>${word("role", user.role)}<//>
    ${may("act_on_user") && html`
      <button type="button" class="quiet" aria-label=${t("settings.edit_name", { name })} onClick=${onEdit}>${t("act.edit")}</button>
      <button type="button" class="quiet icon-only" aria-label=${t("settings.remove_user", { name })} title=${t("settings.remove_user", { name })} onClick=${onRemove}><${Icon} name="trash" size=${18} /></button>`}
  </li>`;
}

/** What each role may do stands below its name. @param {{role: string}} props */
const RoleField = ({ role }) => html`
  <fieldset class="field roles">
    <legend>${t("settings.role")}</legend>
    ${ROLES.map((each) => html`<label key=${each}><input type="radio" name="role" value=${each} defaultChecked=${each === role} />
      <span><strong>${word("role", each)}</strong> <span class="help">${word("role_help", each)}</span></span></label>`)}
  </fieldset>
`;

/** @param {FormData} data */
const roleIn = (data) => /** @type {Role} */ (data.get("role"));
