/** Teams: which people share which topics. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { Empty, Field, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { loadAll, useList } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { duration, t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { useReturn } from "./returning.js";
import { readHours, TeamHours } from "./team_hours.js";

/** @typedef {import("../shared/contract.js").Listed<"teams">} Team */

export function Teams() {
  const list = useList("teams", {});
  const [edited, setEdited] = useState(/** @type {Partial<Team> | null} */ (null));
  useReturn(list.refresh);
  const save = async (/** @type {FormData} */ data) => {
    const chosen = (/** @type {string} */ name) => data.getAll(name).map(String);
    const body = { name: String(data.get("name")).trim(), topics: chosen("topics"), members: chosen("members"), assigns_in_turn: data.has("in_turn"), ...readHours(data) };
    await post("teams", body, edited?.uuid ? { uuid: edited.uuid } : undefined);
    list.reload();
  };
  const askToDelete = (/** @type {Team} */ { uuid, name }) =>
    confirmFirst({
      title: t("settings.delete", { name }),
      text: t("team.delete_text"),
      submit: t("act.delete"),
      onYes: () => remove("teams", { uuid }).then(list.reload),
    });
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  const add = may("write_team") && html`<button type="button" class="primary" onClick=${() => setEdited({})}><${Icon} name="plus" size=${18} /> ${t("settings.add")}</button>`;
  return html`
    <section class="card" aria-label=${t("team.teams")}>
      <header class="page-header"><h2>${t("team.teams")}</h2><span class="grows"></span>${!isEmpty && add}</header>
      ${isEmpty ? html`<${Empty} icon="contacts" title=${t("settings.none")} text=${t("team.help")}>${add}<//>` : html`<p class="help">${t("team.help")}</p>`}
      <ul class="records">
        ${list.items.map((team) => html`<${TeamLine} key=${team.uuid} team=${team} onEdit=${() => setEdited(team)} onDelete=${() => askToDelete(team)} />`)}
      </ul>
      <${ListEnd} list=${list} />
      ${edited && html`<${TeamDialog} team=${edited} teams=${list.items} onSubmit=${save} onClose=${() => setEdited(null)} />`}
    </section>
  `;
}

/** @param {{team: Team, onEdit: () => void, onDelete: () => void}} props */
function TeamLine({ team, onEdit, onDelete }) {
  const { name } = team;
  const topics = team.topics.map((topic) => topic.name).join(", ") || t("team.all_topics");
  const members = team.members.map((user) => nameOf(user)).join(", ") || t("team.no_members");
  return html`<li>
    <strong><bdi>${name}</bdi></strong><span class="note" dir="auto">${[topics, members, team.assigns_in_turn ? t("team.turns") : "", team.reply_minutes ? t("team.replies_in", { time: duration(team.reply_minutes * 60) }) : ""].filter(Boolean).join(" · ")}</span>
    ${may("write_team") && html`
      <button type="button" class="quiet" aria-label=${t("settings.edit_name", { name })} onClick=${onEdit}>${t("act.edit")}</button>
      <button type="button" class="quiet icon-only" aria-label=${t("settings.delete", { name })} title=${t("settings.delete", { name })} onClick=${onDelete}><${Icon} name="trash" size=${18} /></button>`}
  </li>`;
}

/** @param {Team["members"][number]} user */
const nameOf = ({ name, email, away }) => (away ? t("team.is_away", { name: name || email }) : name || email);

/** Whoever is in another team is shown with it, because there is one for each. @param {{team: Partial<Team>, teams: Team[], onSubmit: (data: FormData) => Promise<unknown>, onClose: () => void}} props */
function TeamDialog({ team, teams, onSubmit, onClose }) {
  const [known, setKnown] = useState(/** @type {{topics: Choice[], members: Choice[]} | null} */ (null));
  useEffect(() => {
    const others = new Map(teams.filter(({ uuid }) => uuid !== team.uuid).flatMap(({ name, topics }) => topics.map((topic) => [topic.uuid, name])));
    const load = async () => {
      const [topics, users] = await Promise.all([loadAll("topics"), loadAll("users")]);
      setKnown({
        topics: topics.map(({ uuid, name }) => ({ uuid, name, team: others.get(uuid) })),
        members: users.map((user) => ({ uuid: user.uuid, name: user.name || user.email, team: user.team?.uuid === team.uuid ? undefined : user.team?.name })),
      });
    };
    void attempt(load).then((isLoaded) => isLoaded || onClose());
  }, []);
  // The form keeps what is typed by its inputs, which must be there first.
  if (!known) return null;
  return html`
    <${FormDialog} title=${team.name ?? t("settings.add")} submit=${t("act.save")} draft=${`settings.teams.${team.uuid ?? ""}`} onSubmit=${onSubmit} onClose=${onClose}>
      <${Field} label=${t("contact.name")} id="team-name"><input id="team-name" name="name" required maxlength="64" defaultValue=${team.name ?? ""} /><//>
      <${Choices} title=${t("settings.topics")} name="topics" choices=${known.topics} chosen=${team.topics ?? []} />
      <${Choices} title=${t("team.members")} name="members" choices=${known.members} chosen=${team.members ?? []} />
      <label class="choice-line"><input type="checkbox" name="in_turn" defaultChecked=${team.assigns_in_turn} aria-describedby="in-turn-help" /> ${t("team.in_turn")}</label>
      <p id="in-turn-help" class="help">${t("team.in_turn_help")}</p>
      <${TeamHours} team=${team} />
    <//>
  `;
}

/** @typedef {{uuid: string, name: string, team: string | undefined}} Choice */

/** @param {{title: string, name: string, choices: Choice[], chosen: {uuid: string}[]}} props */
const Choices = ({ title, name, choices, chosen }) => html`
  <fieldset class="field"><legend>${title}</legend>
    <ul class="choices-list">${choices.map((each) => html`<li key=${each.uuid}><label>
      <input type="checkbox" name=${name} value=${each.uuid} defaultChecked=${chosen.some(({ uuid }) => uuid === each.uuid)} />
      <bdi>${each.name}</bdi>${each.team && html` <span class="help">${t("team.now_in", { team: each.team })}</span>`}</label></li>`)}</ul>
  </fieldset>
`;
