/** One broadcast: what was written to whom, how far it is, and a button that stops it. */

import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Badge, Empty, ListEnd, Problem, Waiting } from "../parts/small.js";
import { get, post, remove } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { useList } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { languageName, number, shortTime, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { DRAFTS, isAhead, Row, statusText, TONES, viewOf } from "./page.js";
import { NextTimes } from "./preview.js";
import { repeatText } from "./repeat.js";

const GOING = ["pending", "queued", "started"];
const STATES = ["queued", "wired", "sent", "delivered", "read", "errored", "failed"];

/** @param {{uuid: string}} props */
export function BroadcastPage({ uuid }) {
  const [broadcast, setBroadcast] = useState(/** @type {import("./page.js").Broadcast | null | undefined} */ (undefined));
  const [progress, setProgress] = useState(/** @type {import("../shared/contract.js").Found<"broadcast_progress"> | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = useInTurn(async () => {
    try {
      const page = await get("broadcasts", { uuid });
      setProgress(page.results.length ? await get("broadcast_progress", { uuid }) : null);
      setBroadcast(page.results[0] ?? null);
      setProblem("");
    } catch (error) {
      setProblem(explain(error));
    }
  });
  useEffect(() => void load(), [uuid]);
  useChanges(["broadcast"], load, (record) => record.uuid === uuid);
  useChanges(["message"], load, (record) => !broadcast || record.broadcast === broadcast.id);
  const stop = { title: t("broadcasts.stop"), text: t("broadcasts.stop_text"), submit: t("broadcasts.stop"), onYes: async () => (await post("broadcast_actions", { broadcasts: [uuid], action: "stop" }), load()) };
  const drop = { title: t("broadcasts.delete"), text: t("broadcasts.delete_text"), submit: t("act.delete"), onYes: async () => (await remove("broadcasts", { uuid }), go(["broadcasts"], DRAFTS)) };
  const back = html`<a class="button quiet icon-only" href=${link(["broadcasts"], broadcast ? viewOf(broadcast) : {})} aria-label=${t("act.back")}><${Icon} name="back" /></a>`;
  if (problem) return html`<main id="main" class="page" tabindex="-1"><h1>${t("broadcasts.title")}</h1><${Problem} text=${problem} onRetry=${load} /></main>`;
  if (broadcast === undefined) return html`<main id="main" class="page" tabindex="-1"><${Waiting} /></main>`;
  if (!broadcast || !progress) return html`<main id="main" class="page" tabindex="-1">${back}<${Empty} icon="send" title=${t("error.gone")} /></main>`;
  const isGoing = GOING.includes(progress.status);
  const isDraft = broadcast.status === "draft";
  const mayChange = may("create_broadcast") && (isDraft || (isAhead(broadcast) && progress.status === "pending"));
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        ${back}
        <h1>${t("broadcasts.one")}</h1>
        <${Badge} tone=${TONES[progress.status] ?? "warn"}>${statusText(broadcast, progress.status)}<//>
        <span class="grows"></span>
        ${mayChange && html`<a class="button" href=${link(["broadcasts", uuid, "change"])}>${t("act.edit")}</a>`}
        ${isDraft && may("create_broadcast") && html`<button type="button" class="danger" onClick=${() => confirmFirst(drop)}><${Icon} name="trash" size=${16} /> ${t("act.delete")}</button>`}
        ${isGoing && may("create_broadcast") && html`<button type="button" class="danger" onClick=${() => confirmFirst(stop)}><${Icon} name="stop" size=${16} /> ${t("broadcasts.stop")}</button>`}
      </header>
      <div class="two equal">
        <section class="card" aria-labelledby="what"><h2 id="what">${t("broadcasts.message")}</h2>
          ${Object.entries(broadcast.text).map(([language, text]) => html`<h3 key=${language}>${languageName(language)}</h3><p class="text" dir="auto">${text}</p>`)}
          ${broadcast.template && html`<h3>${t("resource.templates")}</h3><p>${broadcast.template.name}</p>
            ${broadcast.template.variables.length > 0 && html`<ol class="template-values">${broadcast.template.variables.map((value, at) => html`<li key=${at}><bdi>${value}</bdi></li>`)}</ol>`}`}
          <${Files} attachments=${broadcast.attachments} />
          <h2>${t("broadcasts.recipients")}</h2>
          <p class="tags">
            ${broadcast.groups.map(({ uuid: group, name }) => html`<a key=${group} class="tag" href=${link(["contacts"], { group })}>${name}</a>`)}
            ${broadcast.contacts.map(({ uuid: contact, name }) => html`<a key=${contact} class="tag" href=${link(["contacts", contact])}>${name || t("contact.unnamed")}</a>`)}
            ${progress.query && html`<code class="tag">${progress.query}</code>`}
          </p>
        </section>
        <section class="card" aria-labelledby="far"><h2 id="far">${t("broadcasts.how_far")}</h2>
          <dl class="facts">
            <div><dt>${t(broadcast.scheduled_on && !isAhead(broadcast) ? "broadcasts.begun_on" : "broadcasts.written_on")}</dt><dd>${shortTime(broadcast.created_on)}</dd></div>
            ${broadcast.repeat && html`<div><dt>${t("broadcasts.repeat")}</dt><dd>${repeatText(broadcast)}</dd></div>
              <div><dt>${t("broadcasts.repeated")}</dt><dd>${number(broadcast.repeated)}</dd></div>`}
            ${broadcast.parent && html`<div><dt>${t("broadcasts.parent")}</dt><dd><a href=${link(["broadcasts", broadcast.parent])}>${t("broadcasts.one")}</a></dd></div>`}
            ${progress.scheduled_on && html`<div><dt>${t("broadcasts.scheduled_on")}</dt><dd>${shortTime(progress.scheduled_on)}</dd></div>`}
            ${progress.stopped_on && html`<div><dt>${t("broadcasts.stopped_on")}</dt><dd>${shortTime(progress.stopped_on)}</dd></div>`}
            ${progress.total >= 0 && html`<div><dt>${t("broadcasts.recipients")}</dt><dd>${t("broadcasts.progress", { started: number(progress.started), total: number(progress.total) })}</dd></div>`}
          </dl>
          ${progress.next_times.length > 1 && html`<${NextTimes} times=${progress.next_times} />`}
          ${progress.total > 0 && html`<progress max=${progress.total} value=${progress.started} aria-label=${t("broadcasts.how_far")}></progress>`}
          ${!isDraft && !broadcast.repeat && html`<table class="table"><caption class="hidden">${t("broadcasts.states")}</caption>
            <thead><tr><th scope="col">${t("broadcasts.state")}</th><th scope="col" class="number">${t("broadcasts.messages")}</th></tr></thead>
            <tbody>${STATES.filter((state) => progress.messages[state]).map((state) => html`<tr key=${state}><td>${word("state", state)}</td><td class="number">${number(progress.messages[state])}</td></tr>`)}</tbody>
          </table>`}
          ${!progress.is_exact && html`<p class="help">${t("broadcasts.not_exact")}</p>`}
        </section>
      </div>
      ${broadcast.repeated > 0 && html`<${Made} uuid=${uuid} />`}
    </main>
  `;
}

/** What one that repeats has sent. @param {{uuid: string}} props */
function Made({ uuid }) {
  const list = useList("broadcasts", { parent: uuid });
  useChanges(["broadcast"], list.refresh, (record) => record.parent === uuid);
  return html`<section aria-labelledby="made"><h2 id="made">${t("broadcasts.sent")}</h2>
    <ul class="stack">${list.items.map((broadcast) => html`<${Row} key=${broadcast.id} broadcast=${broadcast} />`)}</ul>
    <${ListEnd} list=${list} /></section>`;
}

/** @param {{attachments: import("./page.js").Broadcast["attachments"]}} props */
function Files({ attachments }) {
  const files = Object.values(attachments ?? {}).flat();
  return files.length > 0 && html`<p class="under"><${Icon} name="attach" size=${16} /> ${t("broadcasts.files", { count: number(files.length) })}</p>`;
}
