/** The workspace: what it is called, where it is and what it speaks; and where people who build go on. */

import { CountryChoice, LanguagesChoice, ZoneChoice } from "../parts/choosers.js";
import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notices.js";
import { Badge, Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { may, startSession, workspace } from "../shared/session.js";
import { language, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Found<"workspace">} Shown */

const FORMATS = /** @type {const} */ (["1,234.5", "1.234,5", "1 234,5", "1'234.5", "1 234.5", "1'234,5"]);
const STYLES = /** @type {const} */ (["day_first", "month_first", "year_first"]);
/** @type {[string, import("../shared/texts.js").Key][]} */
const BEYOND = [["api/v2/docs", "settings.explorer"], ["api/v1/docs", "settings.explorer_1"], ["guides/", "settings.guides"]];

export function Workspace() {
  const [isEditing, setEditing] = useState(false);
  const shown = workspace.value;
  if (!shown) return null;
  return html`
    <div class="two equal">
      <section class="card" aria-labelledby="workspace-name">
        <header class="page-header"><h2 id="workspace-name">${shown.name}</h2><span class="grows"></span>
          ${may("change_workspace_settings") && html`<button type="button" onClick=${() => setEditing(true)}>${t("act.edit")}</button>`}</header>
        <dl class="facts">
          <div><dt>${t("settings.country")}</dt><dd>${shown.country ? nameOf("region", shown.country) : "–"}</dd></div>
          <div><dt>${t("settings.timezone")}</dt><dd>${shown.timezone}</dd></div>
          <div><dt>${t("settings.languages")}</dt><dd>${(shown.languages ?? []).map((code) => nameOf("language", code)).join(", ") || "–"}</dd></div>
          <div><dt>${t("settings.answer_limit")}</dt><dd>${shown.answer_limit || "–"}</dd></div>
          <div><dt>${t("settings.date_style")}</dt><dd>${word("date_style", shown.date_style ?? "day_first")}</dd></div>
          <div><dt>${t("settings.number_format")}</dt><dd><bdi>${shown.number_format}</bdi></dd></div>
          <div><dt>${t("settings.origins")}</dt><dd><bdi>${(shown.origins ?? []).join(", ") || "–"}</bdi></dd></div>
        </dl>
        ${shown.anon && html`<p><${Badge} tone="warn">${t("settings.anonymous")}<//></p>`}
      </section>
      <section class="card" aria-labelledby="builders">
        <h2 id="builders">${t("settings.builders")}</h2>
        <p>${t("settings.builders_text")}</p>
        <ul class="stack">${BEYOND.map(([address, text]) => html`<li><a href=${address}><${Icon} name="play" size=${12} /> ${t(text)}</a></li>`)}</ul>
      </section>
      ${isEditing && html`<${WorkspaceDialog} shown=${shown} onClose=${() => setEditing(false)} />`}
    </div>
  `;
}

/** @param {{shown: Shown, onClose: () => void}} props */
function WorkspaceDialog({ shown, onClose }) {
  const save = async (/** @type {FormData} */ data) => {
    const text = (/** @type {string} */ name) => String(data.get(name)).trim();
    await post("workspace_settings", {
      name: text("name"),
      country: text("country"),
      timezone: text("timezone"),
      languages: text("languages").split(" ").filter(Boolean),
      date_style: /** @type {typeof STYLES[number]} */ (text("date_style")),
      answer_limit: Number(text("answer_limit")),
      origins: text("origins").split(/[\s,;]+/).filter(Boolean),
      ...(text("number_format") ? { number_format: /** @type {"by_country" | typeof FORMATS[number]} */ (text("number_format")) } : {}),
    });
    await startSession();
    notify(t("settings.saved"));
  };
  return html`
    <${FormDialog} title=${t("settings.workspace")} submit=${t("act.save")} draft="settings.workspace" onSubmit=${save} onClose=${onClose}>
      <${Field} label=${t("contact.name")} id="workspace-title"><input id="workspace-title" name="name" required maxlength="128" defaultValue=${shown.name} /><//>
      <${Field} label=${t("settings.country")} id="workspace-country" help=${t("settings.country_help")}>
        <${CountryChoice} id="workspace-country" value=${shown.country} /><//>
      <${Field} label=${t("settings.timezone")} id="workspace-zone" help=${t("settings.timezone_help")}>
        <${ZoneChoice} id="workspace-zone" value=${shown.timezone} /><//>
      <${Field} label=${t("settings.languages")} id="workspace-languages" help=${t("settings.languages_help")}>
        <${LanguagesChoice} id="workspace-languages" name="languages" value=${shown.languages ?? []} /><//>
      <${Field} label=${t("settings.date_style")} id="workspace-style"><select id="workspace-style" name="date_style">
        ${STYLES.map((style) => html`<option key=${style} value=${style} selected=${style === shown.date_style}>${word("date_style", style)}</option>`)}
      </select><//>
      <${Field} label=${t("settings.answer_limit")} id="workspace-answers" help=${t("settings.answer_limit_help")}>
        <input id="workspace-answers" name="answer_limit" type="number" required min="0" max="1000" defaultValue=${shown.answer_limit} aria-describedby="workspace-answers-help" /><//>
      <${Field} label=${t("settings.number_format")} id="workspace-numbers"><select id="workspace-numbers" name="number_format">
        <option value="">${t("settings.number_format_now", { example: shown.number_format ?? "" })}</option>
        <option value="by_country">${t("settings.number_format_country")}</option>
        ${FORMATS.map((example) => html`<option key=${example} value=${example}>${example}</option>`)}
      </select><//>
      <${Field} label=${t("settings.origins")} id="workspace-origins" help=${t("settings.origins_help")}>
        <textarea id="workspace-origins" name="origins" rows="2" spellcheck="false" defaultValue=${(shown.origins ?? []).join("\n")} aria-describedby="workspace-origins-help" /><//>
    <//>
  `;
}

/** A country or language as people call it. @param {"region" | "language"} type @param {string} code */
const nameOf = (type, code) => new Intl.DisplayNames(language.value, { type }).of(code) ?? code;
