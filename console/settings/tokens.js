/** API tokens: what they may do, when they were used, and making one, whose secret is shown once. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { SecretDialog } from "../parts/secret_dialog.js";
import { Badge, Empty, Field, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { account } from "../shared/session.js";
import { fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { useReturn } from "./returning.js";

/** @typedef {import("../shared/contract.js").Listed<"tokens">} Token */

const AREAS = /** @type {const} */ (["contacts", "messages", "tickets", "flows", "campaigns", "channels", "administration"]);
const DAYS = ["30", "90", "365", ""];
const USUAL_DAYS = "90";
const DAY_MS = 86_400_000;

export function Tokens() {
  const list = useList("tokens", {});
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState("");
  useReturn(list.refresh);
  const create = async (/** @type {FormData} */ data) => {
    const days = Number(data.get("days"));
    const areas = /** @type {typeof AREAS[number][]} */ (data.getAll("area").map(String));
    const made = await post("tokens", {
      name: String(data.get("name")).trim(),
      scope: data.get("scope") === "read" ? "read" : "write",
      areas: areas.length ? areas : null,
      expires_on: days ? new Date(Date.now() + days * DAY_MS).toISOString() : null,
    });
    setSecret(made.secret);
    list.reload();
  };
  const askToRevoke = (/** @type {Token} */ { token, name }) =>
    confirmFirst({
      title: t("settings.revoke_name", { name: name ?? token }),
      text: t("settings.revoke_text"),
      submit: t("settings.revoke"),
      onYes: async () => (await remove("tokens", { token }), list.reload()),
    });
  const add = html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" size=${18} /> ${t("settings.new_token")}</button>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <section class="card" aria-label=${t("settings.tokens")}>
      <header class="page-header"><h2>${t("settings.tokens")}</h2><span class="grows"></span>${!isEmpty && add}</header>
      ${isEmpty && html`<${Empty} icon="flow" title=${t("settings.none")} text=${t("settings.tokens_empty")}>${add}<//>`}
      <ul class="records">${list.items.map((token) => html`<${TokenLine} key=${token.token} token=${token} onRevoke=${() => askToRevoke(token)} />`)}</ul>
      <${ListEnd} list=${list} />
      ${isAdding && html`<${TokenDialog} onSubmit=${create} onClose=${() => setAdding(false)} />`}
      ${secret && html`<${SecretDialog} title=${t("settings.new_token")} text=${t("settings.secret_once")} secret=${secret} onClose=${() => setSecret("")} />`}
    </section>
  `;
}

/** @param {{token: Token, onRevoke: () => void}} props */
function TokenLine({ token: shown, onRevoke }) {
  const { token, name, user, scope, areas, last_used_on, expires_on } = shown;
  const isOver = !!expires_on && Date.parse(expires_on) <= Date.now();
  const notes = [
    user.uuid === account.value?.user.uuid ? "" : user.name || user.email,
    last_used_on ? t("settings.used", { time: listTime(last_used_on) }) : t("settings.never_used"),
    areas?.map((area) => word("area", area)).join(", ") ?? "",
  ];
  return html`<li>
    ${name && html`<strong><bdi>${name}</bdi></strong>`}<code dir="ltr">rb_${token}…</code>
    <span class="note">${notes.filter(Boolean).join(" · ")}</span>
    ${scope === "read" && html`<${Badge}>${t("settings.reads")}<//>`}
    ${expires_on && html`<span title=${fullTime(expires_on)}><${Badge} tone=${isOver ? "bad" : "warn"}>${isOver ? t("settings.expired") : t("settings.until", { time: listTime(expires_on) })}<//></span>`}
    <button type="button" class="quiet" aria-label=${t("settings.revoke_name", { name: name ?? token })} onClick=${onRevoke}>${t("settings.revoke")}</button>
  </li>`;
}

/** @param {{onSubmit: (data: FormData) => Promise<unknown>, onClose: () => void}} props */
const TokenDialog = ({ onSubmit, onClose }) => html`
  <${FormDialog} title=${t("settings.new_token")} submit=${t("settings.add")} draft="settings.token" onSubmit=${onSubmit} onClose=${onClose}>
    <p class="help">${t("settings.token_help")}</p>
    <${Field} label=${t("settings.token_for")} id="token-name"><input id="token-name" name="name" required maxlength="64" /><//>
    <${Field} label=${t("settings.token_scope")} id="token-scope"><select id="token-scope" name="scope">
      <option value="read">${t("settings.reads")}</option><option value="write">${t("settings.writes")}</option>
    </select><//>
    <${Field} label=${t("settings.expires")} id="token-days"><select id="token-days" name="days">
      ${DAYS.map((days) => html`<option key=${days} value=${days} selected=${days === USUAL_DAYS}>${days ? number(Number(days), { style: "unit", unit: "day", unitDisplay: "long" }) : t("settings.never")}</option>`)}
    </select><//>
    <fieldset class="field"><legend>${t("settings.areas")}</legend>
      <ul class="choices-list">${AREAS.map((area) => html`<li key=${area}><label><input type="checkbox" name="area" value=${area} /> ${word("area", area)}</label></li>`)}</ul>
    </fieldset>
  <//>
`;
