/** One contact: who it is, and everything that happened. */

import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { Avatar, Badge, Empty, Problem, Waiting } from "../parts/small.js";
import { get, post, remove } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { fieldText } from "../shared/field_values.js";
import { useAll } from "../shared/lists.js";
import { addressOf, displayName } from "../shared/names.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, languageName, listTime, shortTime, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { ContactDialog } from "./contact_dialog.js";
import { History } from "./history.js";
import { MergeDialog } from "./merge_dialog.js";
import { mayRequest, Requests } from "./requests.js";

/** @param {{uuid: string}} props */
export function ContactPage({ uuid }) {
  const [contact, setContact] = useState(/** @type {import("./contact_list.js").Contact | null | undefined} */ (undefined));
  const [problem, setProblem] = useState("");
  const [editing, setEditing] = useState(false);
  const [merging, setMerging] = useState(false);
  const groups = useAll("groups");
  const fields = useAll("fields");
  const load = useInTurn(() => get("contacts", { uuid }).then((page) => (setContact(page.results[0] ?? null), setProblem("")), (error) => setProblem(explain(error))));
  useEffect(() => void load(), [uuid]);
  useChanges(["contact"], load, (record) => record.uuid === uuid);
  // What is known stays on the screen, and so does what somebody types into its form.
  if (problem && !contact) return html`<main id="main" class="page" tabindex="-1"><${Problem} text=${problem} onRetry=${load} /></main>`;
  if (contact === null) return html`<main id="main" class="page" tabindex="-1"><${Empty} icon="contacts" title=${t("contacts.gone")} text=${t("contacts.none_found_text")} />${mayRequest() && html`<${Requests} key=${uuid} contact=${uuid} name="" onErased=${load} />`}</main>`;
  if (!contact) return html`<main id="main" class="page" tabindex="-1"><${Waiting} /></main>`;
  const name = displayName(contact.name, contact.urns[0]);
  const act = (/** @type {"block" | "unblock" | "interrupt" | "answer_again"} */ action) => () => {
    const run = (/** @type {typeof action} */ deed) => post("contact_actions", { contacts: [uuid], action: deed }).then(load);
    return attempt(() => run(action), t("contacts.done"), action === "unblock" ? () => run("block") : undefined);
  };
  const block = { title: t("contact.block"), text: t("contact.block_text"), submit: t("contact.block"), onYes: act("block") };
  const drop = { title: t("contacts.delete"), text: t("contacts.delete_text"), submit: t("act.delete"), onYes: async () => (await remove("contacts", { uuid }), go(["contacts"])) };
  return html`
    <main id="main" class="page contact-page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["contacts"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <${Avatar} name=${contact.name} id=${uuid} />
        <h1><bdi>${name}</bdi></h1>
        ${contact.status !== "active" && html`<${Badge} tone="warn">${word("contact_status", contact.status ?? "")}<//>`}
        ${contact.answers_stopped_on && html`<${Badge} tone="bad">${t("contact.answers_stopped")}<//>`}
        <span class="grows"></span>
        <a class="button primary" href=${link(["inbox", uuid])}><${Icon} name="inbox" size=${18} /> ${t("contacts.conversation")}</a>
        ${may("write_contact") && html`<button type="button" onClick=${() => setEditing(true)}>${t("act.edit")}</button>`}
        ${may("act_on_contacts") && contact.flow && html`<button type="button" onClick=${act("interrupt")}>${t("flow.interrupt")}</button>`}
        ${may("act_on_contacts") && contact.answers_stopped_on && html`<button type="button" onClick=${act("answer_again")}>${t("contact.answer_again")}</button>`}
        ${may("act_on_contacts") && html`<button type="button" onClick=${contact.blocked ? act("unblock") : () => confirmFirst(block)}>${t(contact.blocked ? "contact.unblock" : "contact.block")}</button>`}
        ${may("merge_contacts") && html`<button type="button" onClick=${() => setMerging(true)}>${t("contacts.merge_two")}</button>`}
        ${may("delete_contact") && html`<button type="button" class="danger" onClick=${() => confirmFirst(drop)}>${t("act.delete")}</button>`}
      </header>
      <div class="two">
        <section class="card" aria-label=${t("contact.details")}>
          <dl class="facts">
            ${contact.urns.map((urn) => html`<div><dt>${word("scheme", urn.split(":")[0])}</dt><dd><bdi>${addressOf(urn)}</bdi></dd></div>`)}
            <div><dt>${t("contact.language")}</dt><dd>${contact.language ? languageName(contact.language) : "–"}</dd></div>
            ${contact.flow && html`<div><dt>${t("flow.flow")}</dt><dd>${contact.flow.name}</dd></div>`}
            <div><dt>${t("contact.last_seen")}</dt><dd>${contact.last_seen_on ? html`<time title=${fullTime(contact.last_seen_on)}>${shortTime(contact.last_seen_on)}</time>` : "–"}</dd></div>
            <div><dt>${t("contact.since")}</dt><dd>${listTime(contact.created_on)}</dd></div>
          </dl>
          <h2>${t("contact.groups")}</h2>
          <p class="tags">${contact.groups.map((group) => html`<a key=${group.uuid} class="tag" href=${link(["contacts"], { group: group.uuid })}>${group.name}</a>`)}</p>
          <h2>${t("contact.fields")}</h2>
          <dl class="facts">
            ${fields.map(({ key, name: label, type }) => html`<div key=${key}><dt>${label}</dt><dd dir="auto">${fieldText(contact.fields[key ?? ""], type) || "–"}</dd></div>`)}
          </dl>
        </section>
        <${History} contact=${uuid} />
      </div>
      ${mayRequest() && html`<${Requests} key=${uuid} contact=${uuid} name=${name} onErased=${load} />`}
      ${merging && html`<${MergeDialog} contacts=${[contact]} onClose=${() => setMerging(false)} onDone=${load} />`}
      ${editing && html`<${ContactDialog} contact=${contact} groups=${groups} onClose=${() => setEditing(false)} onDone=${load} />`}
    </main>
  `;
}
