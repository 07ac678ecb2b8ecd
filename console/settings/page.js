/** Settings: the workspace, its people, and what it is organized by. */

import { Icon } from "../parts/icons.js";
import { link } from "../shared/router.js";
import { may, workspace } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { KINDS, Records } from "./records.js";
import { Account } from "./account.js";
import { People } from "./people.js";

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Settings({ place }) {
  const chosen = place.parts[0] ?? "workspace";
  const kinds = KINDS.filter(({ list }) => may(list));
  const kind = kinds.find(({ name }) => name === chosen);
  const item = (/** @type {string} */ name, /** @type {import("../shared/texts.js").Key} */ title) =>
    html`<a href=${link(["settings", name])} aria-current=${name === chosen ? "true" : undefined}>${t(title)}</a>`;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("settings.title")}</h1></header>
      <nav class="views" aria-label=${t("settings.title")}>
        ${item("workspace", "settings.workspace")} ${item("account", "settings.account")} ${item("users", "settings.users")}
        ${kinds.map(({ name, title }) => item(name, title))}
      </nav>
      ${chosen === "workspace" && html`<${Workspace} />`}
      ${chosen === "account" && html`<${Account} />`}
      ${chosen === "users" && html`<${People} />`}
      ${kind && html`<${Records} key=${kind.name} kind=${kind} />`}
    </main>
  `;
}

function Workspace() {
  const shown = workspace.value;
  /** @type {[string, import("../shared/texts.js").Key][]} */
  const pages = [["api/v2/docs", "settings.explorer"], ["api/v1/docs", "settings.explorer_1"], ["guides/", "settings.guides"]];
  return html`
    <div class="two equal">
      <section class="card">
        <h2>${shown?.name}</h2>
        <dl class="facts">
          <div><dt>${t("settings.country")}</dt><dd>${shown?.country ?? "–"}</dd></div>
          <div><dt>${t("settings.timezone")}</dt><dd>${shown?.timezone}</dd></div>
          <div><dt>${t("settings.languages")}</dt><dd>${shown?.languages?.join(", ")}</dd></div>
        </dl>
      </section>
      <section class="card">
        <h2>${t("settings.builders")}</h2>
        <ul class="stack">${pages.map(([address, text]) => html`<li><a href=${address}><${Icon} name="play" size=${12} /> ${t(text)}</a></li>`)}</ul>
      </section>
    </div>
  `;
}
