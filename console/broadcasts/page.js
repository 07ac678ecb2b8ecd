/** Messages out: to many people at once. */

import { Icon } from "../parts/icons.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useChanges } from "../shared/changes.js";
import { useList } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { BroadcastDialog } from "./broadcast_dialog.js";

/** @typedef {import("../shared/contract.js").Listed<"broadcasts">} Broadcast */

/** @type {Record<string, "good" | "bad" | "warn">} */
const TONES = { completed: "good", sent: "good", failed: "bad", interrupted: "bad" };

export default function Broadcasts() {
  const list = useList("broadcasts", {});
  const [writing, setWriting] = useState(false);
  useChanges(["broadcast"], list.refresh);
  const write = may("create_broadcast") && html`<button type="button" class="primary" onClick=${() => setWriting(true)}><${Icon} name="plus" size=${18} /> ${t("broadcasts.write")}</button>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header"><h1>${t("broadcasts.title")}</h1><span class="grows"></span>${write}</header>
      ${isEmpty && html`<${Empty} icon="send" title=${t("broadcasts.empty")} text=${t("broadcasts.empty_text")} />`}
      <ul class="stack">${list.items.map((broadcast) => html`<${Row} key=${broadcast.id} broadcast=${broadcast} />`)}</ul>
      <${ListEnd} list=${list} />
      ${writing && html`<${BroadcastDialog} onClose=${() => (setWriting(false), list.refresh())} />`}
    </main>
  `;
}

/** @param {{broadcast: Broadcast}} props */
function Row({ broadcast }) {
  const { total, started } = broadcast.progress;
  const audience = [...broadcast.groups, ...broadcast.contacts].map(({ name }) => name || t("contact.unnamed"));
  const text = broadcast.text[broadcast.base_language ?? ""] ?? Object.values(broadcast.text)[0] ?? "";
  return html`
    <li class="card broadcast">
      <p class="text" dir="auto">${text}</p>
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
