/** Messages out: to many people at once. */

import { Icon } from "../parts/icons.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, number, shortTime, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { BroadcastPage } from "./broadcast.js";
import { BroadcastChange, BroadcastForm } from "./form.js";
import { repeatText } from "./repeat.js";

/** @typedef {import("../shared/contract.js").Listed<"broadcasts">} Broadcast */
/** @typedef {import("../shared/texts.js").Key} Key */

/** @type {Record<string, "good" | "bad" | "warn">} */
export const TONES = { completed: "good", sent: "good", failed: "bad", interrupted: "bad" };

/** What waits for its time, or was stopped before it, is in a list of its own, and so are drafts. */
export const SCHEDULED = { view: "scheduled" };
export const DRAFTS = { view: "drafts" };

/**
 * The lists by the name of their view: what is asked for, and what stands in an empty one.
 * @type {{view?: string, asked: import("../shared/contract.js").Filters<"broadcasts">, name: Key, none: Key, text: Key}[]}
 */
const VIEWS = [
  { asked: {}, name: "broadcasts.sent", none: "broadcasts.empty", text: "broadcasts.empty_text" },
  { ...SCHEDULED, asked: { scheduled: true }, name: "broadcasts.scheduled", none: "broadcasts.none_scheduled", text: "broadcasts.none_scheduled_text" },
  { ...DRAFTS, asked: { draft: true }, name: "broadcasts.drafts", none: "broadcasts.none_drafts", text: "broadcasts.none_drafts_text" },
];

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Broadcasts({ place }) {
  const [chosen, change] = place.parts;
  if (chosen === "new" && may("create_broadcast")) return html`<${BroadcastForm} />`;
  if (chosen && change === "change" && may("create_broadcast")) return html`<${BroadcastChange} key=${chosen} uuid=${chosen} />`;
  if (chosen) return html`<${BroadcastPage} key=${chosen} uuid=${chosen} />`;
  return html`<${BroadcastList} view=${VIEWS.find(({ view }) => view === place.query.view) ?? VIEWS[0]} />`;
}

/** Whether it has not begun. @param {Broadcast} broadcast */
export const isAhead = ({ scheduled_on, created_on, status }) => status !== "draft" && !!scheduled_on && scheduled_on > created_on;

/** Where it is listed. @param {Broadcast} broadcast */
export const viewOf = (broadcast) => (broadcast.status === "draft" ? DRAFTS : isAhead(broadcast) ? SCHEDULED : {});

/** In a word what became of it: of one that repeats, whether it goes on. @param {Broadcast} broadcast @param {string} [status] */
export const statusText = (broadcast, status = broadcast.status) => (broadcast.repeat && status === "completed" ? t("broadcasts.ended") : word("broadcast_status", status));

/** @param {{view: typeof VIEWS[number]}} props */
function BroadcastList({ view }) {
  const list = useList("broadcasts", view.asked);
  useChanges(["broadcast"], list.refresh);
  const write = may("create_broadcast") && html`<a class="button primary" href=${link(["broadcasts", "new"])}><${Icon} name="plus" size=${18} /> ${t("broadcasts.write")}</a>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("broadcasts.title")}</h1><span class="grows"></span>${!isEmpty && write}</header>
      <nav class="views" aria-label=${t("broadcasts.views")}>
        ${VIEWS.map((each) => html`<a key=${each.name} href=${link(["broadcasts"], each.view ? { view: each.view } : {})} aria-current=${each === view ? "true" : undefined}>${t(each.name)}</a>`)}
      </nav>
      ${isEmpty && html`<${Empty} icon="send" title=${t(view.none)} text=${t(view.text)}>${write}<//>`}
      <ul class="stack">${list.items.map((broadcast) => html`<${Row} key=${broadcast.id} broadcast=${broadcast} />`)}</ul>
      <${ListEnd} list=${list} />
    </main>
  `;
}

/** The text in the language that everybody without a translation gets. @param {Broadcast} broadcast */
export const firstText = (broadcast) => broadcast.text[broadcast.base_language ?? ""] ?? Object.values(broadcast.text)[0] ?? "";

/** @param {{broadcast: Broadcast}} props */
export function Row({ broadcast }) {
  const { total, started } = broadcast.progress;
  const audience = [...broadcast.groups, ...broadcast.contacts].map(({ name }) => name || t("contact.unnamed"));
  return html`
    <li class="card broadcast">
      <p class="text" dir="auto"><a href=${link(["broadcasts", broadcast.uuid])}>${firstText(broadcast) || t("broadcasts.no_text")}</a></p>
      <p class="under">
        <${Badge} tone=${TONES[broadcast.status] ?? "warn"}>${statusText(broadcast)}<//>
        ${broadcast.repeat && html`<span>${repeatText(broadcast)}</span>`}
        <span class="tags">${audience.slice(0, 5).map((name) => html`<span class="tag">${name}</span>`)}${audience.length > 5 && html`<span class="tag">+${number(audience.length - 5)}</span>`}</span>
        ${total >= 0 && html`<span>${t("broadcasts.progress", { started: number(started), total: number(total) })}</span>`}
        <span class="grows"></span>
        <${When} broadcast=${broadcast} />
      </p>
      ${total > 0 && started < total && html`<progress max=${total} value=${started} aria-label=${t("broadcasts.title")}></progress>`}
    </li>
  `;
}

/** For when it is scheduled, or since when it is listed. @param {{broadcast: Broadcast}} props */
function When({ broadcast }) {
  const { scheduled_on, created_on } = broadcast;
  if (scheduled_on && isAhead(broadcast)) return html`<span>${t("broadcasts.scheduled_on")} <time datetime=${scheduled_on} title=${fullTime(scheduled_on)}>${shortTime(scheduled_on)}</time></span>`;
  return html`<time datetime=${created_on} title=${fullTime(created_on)}>${listTime(created_on)}</time>`;
}
