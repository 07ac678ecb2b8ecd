/** Settings: the workspace, its people, what it is organized by, what programs use, and one's own account. */

import { Empty } from "../parts/small.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useRef } from "../shared/ui.js";
import { Account } from "./account.js";
import { AuditLog } from "./audit.js";
import { People } from "./people.js";
import { KINDS, Records } from "./records.js";
import { Resthooks } from "./resthooks.js";
import { Teams } from "./teams.js";
import { Tokens } from "./tokens.js";
import { Workspace } from "./workspace.js";

/**
 * @typedef {import("../shared/texts.js").Key} Key
 * @typedef {{name: string, title: Key, isFor: boolean, draw: (rest: string[]) => any}} Section
 */

/** @returns {{title: Key, sections: Section[]}[]} */
function parts() {
  const records = (/** @type {string[]} */ ...names) =>
    KINDS.filter(({ name }) => names.includes(name)).map((kind) => ({
      name: kind.name,
      title: kind.title,
      isFor: may(kind.list),
      draw: () => html`<${Records} key=${kind.name} kind=${kind} />`,
    }));
  return [
    {
      title: "settings.workspace",
      sections: [
        { name: "workspace", title: "settings.workspace", isFor: may("read_workspace"), draw: () => html`<${Workspace} />` },
        { name: "users", title: "settings.users", isFor: may("list_users"), draw: () => html`<${People} />` },
        { name: "teams", title: "team.teams", isFor: may("list_teams"), draw: () => html`<${Teams} />` },
        { name: "audit", title: "settings.audit", isFor: may("list_audit_events"), draw: () => html`<${AuditLog} />` },
      ],
    },
    { title: "settings.order", sections: records("labels", "topics", "groups", "fields", "optins", "saved_replies") },
    {
      title: "settings.programs",
      sections: [
        ...records("globals"),
        { name: "resthooks", title: "settings.resthooks", isFor: may("list_resthooks"), draw: ([slug]) => html`<${Resthooks} slug=${slug} />` },
        { name: "tokens", title: "settings.tokens", isFor: may("list_tokens"), draw: () => html`<${Tokens} />` },
      ],
    },
    {
      title: "settings.account",
      sections: [{ name: "account", title: "settings.own", isFor: true, draw: () => html`<${Account} />` }],
    },
  ];
}

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Settings({ place }) {
  const [name = "workspace", ...rest] = place.parts;
  const shown = parts().map(({ title, sections }) => ({ title, sections: sections.filter(({ isFor }) => isFor) }));
  const chosen = shown.flatMap(({ sections }) => sections).find((section) => section.name === name);
  const nav = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [chosen?.name]);
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("settings.title")}</h1></header>
      <div class="settings">
        <nav class="sections" ref=${nav} aria-label=${t("settings.title")}>
          ${shown.filter(({ sections }) => sections.length > 0).map(({ title, sections }) => html`
            <div key=${title} class="section-group">
              <h2 id=${title}>${t(title)}</h2>
              <ul aria-labelledby=${title}>${sections.map((section) => html`<li key=${section.name}>
                <a href=${link(["settings", section.name])} aria-current=${section === chosen ? "page" : undefined}>${t(section.title)}</a></li>`)}</ul>
            </div>`)}
        </nav>
        <div class="section">
          ${chosen ? chosen.draw(rest) : html`<${Empty} icon="help" title=${t("shell.unknown")} text=${t("error.forbidden")} />`}
        </div>
      </div>
    </main>
  `;
}
