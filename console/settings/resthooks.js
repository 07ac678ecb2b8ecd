/** Resthooks: what flows tell other systems, who is told, and what was told lately. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Empty, Field, ListEnd } from "../parts/small.js";
import { post, remove } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { listTime, shortTime, t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { useReturn } from "./returning.js";

/** @param {{slug?: string}} props */
export const Resthooks = ({ slug }) => (slug ? html`<${Resthook} key=${slug} slug=${slug} />` : html`<${ResthookList} />`);

function ResthookList() {
  const list = useList("resthooks", {});
  const [isMaking, setMaking] = useState(false);
  useReturn(list.refresh);
  const make = async (/** @type {FormData} */ data) => go(["settings", "resthooks", (await post("resthooks", { resthook: String(data.get("resthook")).trim() })).resthook]);
  const add = may("create_resthook") && html`<button type="button" class="primary" onClick=${() => setMaking(true)}><${Icon} name="plus" size=${18} /> ${t("settings.new_resthook")}</button>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <section class="card" aria-label=${t("settings.resthooks")}>
      <header class="page-header"><h2>${t("settings.resthooks")}</h2><span class="grows"></span>${!isEmpty && add}</header>
      ${isEmpty && html`<${Empty} icon="send" title=${t("settings.none")} text=${t("settings.resthooks_empty")}>${add}<//>`}
      <ul class="records">
        ${list.items.map(({ resthook, modified_on }) => html`<li key=${resthook}>
          <strong><a href=${link(["settings", "resthooks", resthook])}><bdi>${resthook}</bdi></a></strong><span class="note">${t("settings.changed", { time: listTime(modified_on) })}</span></li>`)}
      </ul>
      <${ListEnd} list=${list} />
      ${isMaking && html`<${FormDialog} title=${t("settings.new_resthook")} submit=${t("settings.add")} draft="settings.resthook" onSubmit=${make} onClose=${() => setMaking(false)}>
        <${Field} label=${t("contact.name")} id="resthook-name" help=${t("settings.resthook_help")}>
          <input id="resthook-name" name="resthook" required maxlength="50" pattern="[A-Za-z0-9_\\-]+" dir="ltr" autocapitalize="off" spellcheck="false" aria-describedby="resthook-name-help" /><//>
      <//>`}
    </section>
  `;
}

/** @param {{slug: string}} props */
function Resthook({ slug }) {
  const list = useList("resthook_subscribers", { resthook: slug });
  const [isAdding, setAdding] = useState(false);
  useReturn(list.refresh);
  const subscribe = async (/** @type {FormData} */ data) => {
    await post("resthook_subscribers", { resthook: slug, target_url: String(data.get("target_url")).trim() });
    list.reload();
  };
  const askToRemove = (/** @type {number} */ id, /** @type {string} */ url) =>
    confirmFirst({
      title: t("settings.delete", { name: url }),
      text: t("settings.subscriber_text"),
      submit: t("act.remove"),
      onYes: async () => (await remove("resthook_subscribers", { id }), list.reload()),
    });
  const askToEnd = () =>
    confirmFirst({
      title: t("settings.delete", { name: slug }),
      text: t("settings.resthook_text"),
      submit: t("act.delete"),
      onYes: async () => (await remove("resthooks", { resthook: slug }), go(["settings", "resthooks"])),
    });
  const add = may("create_resthook_subscriber") && html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" size=${18} /> ${t("settings.subscribe")}</button>`;
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <section class="card" aria-label=${t("settings.subscribers")}>
      <header class="page-header"><a class="button quiet icon-only" href=${link(["settings", "resthooks"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h2><bdi>${slug}</bdi></h2><span class="grows"></span>${!isEmpty && add}
        ${isEmpty && may("delete_resthook") && html`<button type="button" class="quiet icon-only" aria-label=${t("settings.delete", { name: slug })} onClick=${askToEnd}><${Icon} name="trash" size=${18} /></button>`}</header>
      <h3>${t("settings.subscribers")}</h3>
      ${isEmpty && html`<${Empty} icon="send" title=${t("settings.none")} text=${t("settings.subscribers_empty")}>${add}<//>`}
      <ul class="records">
        ${list.items.map(({ id, target_url: url, created_on }) => html`<li key=${id}>
          <code class="grows" dir="ltr">${url}</code><span class="faint">${listTime(created_on)}</span>
          <button type="button" class="quiet icon-only" aria-label=${t("settings.delete", { name: url })} onClick=${() => askToRemove(id, url)}><${Icon} name="trash" size=${18} /></button></li>`)}
      </ul>
      <${ListEnd} list=${list} />
      <${Events} slug=${slug} />
      ${isAdding && html`<${FormDialog} title=${t("settings.subscribe")} submit=${t("settings.add")} draft="settings.subscriber" onSubmit=${subscribe} onClose=${() => setAdding(false)}>
        <${Field} label=${t("settings.url")} id="target-url" help=${t("settings.url_help")}>
          <input id="target-url" name="target_url" type="url" required maxlength="2048" dir="ltr" placeholder="https://" aria-describedby="target-url-help" /><//>
      <//>`}
    </section>
  `;
}

/** @param {{slug: string}} props */
function Events({ slug }) {
  const list = useList("resthook_events", { resthook: slug });
  return html`
    <h3>${t("settings.resthook_events")}</h3>
    ${list.items.length === 0 && !list.loading && !list.problem && html`<p class="faint">${t("settings.resthook_quiet")}</p>`}
    <ul class="records">
      ${list.items.map(({ data, created_on }, place) => html`<li key=${created_on + place}>
        <details class="grows"><summary>${shortTime(created_on)} · <bdi>${data.contact?.name || data.contact?.urn || ""}</bdi> · <bdi>${data.flow?.name}</bdi></summary>
          <pre class="secret-box" dir="ltr" tabindex="0">${JSON.stringify(data, null, 2)}</pre></details></li>`)}
    </ul>
    <${ListEnd} list=${list} />
  `;
}
