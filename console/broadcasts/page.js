/** Messages out: to many people at once. */

import { Icon } from "../parts/icons.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { BroadcastPage } from "./broadcast.js";
import { BroadcastForm } from "./form.js";

/** @typedef {import("../shared/contract.js").Listed<"broadcasts">} Broadcast */

/** @type {Record<string, "good" | "bad" | "warn">} */
export const TONES = { completed: "good", sent: "good", failed: "bad", interrupted: "bad" };

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Broadcasts({ place }) {
  const [chosen] = place.parts;
  if (chosen === "new" && may("create_broadcast")) return html`<${BroadcastForm} />`;
  if (chosen) return html`<${BroadcastPage} key=${chosen} uuid=${chosen} />`;
  return html`<${BroadcastList} />`;
}

function BroadcastList() {
  const list = useList("broadcasts", {});
  useChanges(["broadcast"], list.refresh);
  const write = may("create_broadcast") && html`<a class="button primary" href=${link(["broadcasts", "new"])}><${Icon} name="plus" size=${18} /> ${t("broadcasts.write")}</a>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("broadcasts.title")}</h1><span class="grows"></span>${write}</header>
      ${isEmpty && html`<${Empty} icon="send" title=${t("broadcasts.empty")} text=${t("broadcasts.empty_text")} />`}
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
        <time datetime=${broadcast.created_on} title=${fullTime(broadcast.created_on)}>${listTime(broadcast.created_on)}</time>
      </p>
      ${total > 0 && started < total && html`<progress max=${total} value=${started} aria-label=${t("broadcasts.title")}></progress>`}
    </li>
  `;
}
