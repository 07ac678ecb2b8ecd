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
import { BroadcastForm } from "./form.js";

/** @typedef {import("../shared/contract.js").Listed<"broadcasts">} Broadcast */

/** @type {Record<string, "good" | "bad" | "warn">} */
export const TONES = { completed: "good", sent: "good", failed: "bad", interrupted: "bad" };

/** What waits for its time, or was stopped before it, is in a list of its own. */
export const SCHEDULED = { view: "scheduled" };

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Broadcasts({ place }) {
  const [chosen] = place.parts;
  if (chosen === "new" && may("create_broadcast")) return html`<${BroadcastForm} />`;
  if (chosen) return html`<${BroadcastPage} key=${chosen} uuid=${chosen} />`;
  return html`<${BroadcastList} isScheduled=${place.query.view === SCHEDULED.view} />`;
}

/** Whether it has not begun. @param {Broadcast} broadcast */
export const isAhead = ({ scheduled_on, created_on }) => !!scheduled_on && scheduled_on > created_on;

/** @param {{isScheduled: boolean}} props */
function BroadcastList({ isScheduled }) {
  const list = useList("broadcasts", isScheduled ? { scheduled: true } : {});
  useChanges(["broadcast"], list.refresh);
  const write = may("create_broadcast") && html`<a class="button primary" href=${link(["broadcasts", "new"])}><${Icon} name="plus" size=${18} /> ${t("broadcasts.write")}</a>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("broadcasts.title")}</h1><span class="grows"></span>${write}</header>
      <nav class="views" aria-label=${t("broadcasts.views")}>
        <a href=${link(["broadcasts"])} aria-current=${isScheduled ? undefined : "true"}>${t("broadcasts.sent")}</a>
        <a href=${link(["broadcasts"], SCHEDULED)} aria-current=${isScheduled ? "true" : undefined}>${t("broadcasts.scheduled")}</a>
      </nav>
      ${isEmpty && html`<${Empty} icon="send" title=${t(isScheduled ? "broadcasts.none_scheduled" : "broadcasts.empty")} text=${t(isScheduled ? "broadcasts.none_scheduled_text" : "broadcasts.empty_text")} />`}
      <ul class="stack">${list.items.map((broadcast) => html`<${Row} key=${broadcast.id} broadcast=${broadcast} />`)}</ul>
      <${ListEnd} list=${list} />
    </main>
  `;
}

/** The text in the language that everybody without a translation gets. @param {Broadcast} broadcast */
export const firstText = (broadcast) => broadcast.text[broadcast.base_language ?? ""] ?? Object.values(broadcast.text)[0] ?? "";

/** @param {{broadcast: Broadcast}} props */
function Row({ broadcast }) {
  const { total, started } = broadcast.progress;
  const audience = [...broadcast.groups, ...broadcast.contacts].map(({ name }) => name || t("contact.unnamed"));
  return html`
    <li class="card broadcast">
      <p class="text" dir="auto"><a href=${link(["broadcasts", broadcast.uuid])}>${firstText(broadcast) || t("broadcasts.no_text")}</a></p>
      <p class="under">
        <${Badge} tone=${TONES[broadcast.status] ?? "warn"}>${word("broadcast_status", broadcast.status)}<//>
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
