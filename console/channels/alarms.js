/** The alarms of phones: those of one channel, or of all. */

import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useList } from "../shared/lists.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @param {{channel: string}} props */
export function Alarms({ channel }) {
  const list = useList("channel_alarms", { channel });
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <section class="channel-log" aria-labelledby="alarms-title">
      <header class="page-header"><h2 id="alarms-title">${t("alarms.title")}</h2><span class="grows"></span>
        ${may("list_deliveries") && html`<a href=${link(["deliveries"])}>${t("alarms.by_webhook")}</a>`}</header>
      ${isEmpty
        ? html`<${Empty} icon="check" title=${t("alarms.never")} text=${t("alarms.never_text")} />`
        : html`<div class="table-box" tabindex="0" role="region" aria-labelledby="alarms-title"><table class="table">
            <thead><tr><th scope="col">${t("alarms.kind")}</th><th scope="col">${t("alarms.opened")}</th><th scope="col">${t("alarms.closed")}</th></tr></thead>
            <tbody>${list.items.map((each) => html`<tr key=${each.id}>
              <td><${Badge} tone=${each.closed_on ? "calm" : "bad"}>${word("alarm_kind", each.kind)}<//></td>
              <td><${Time} time=${each.opened_on} /></td>
              <td>${each.closed_on ? html`<${Time} time=${each.closed_on} />` : t("alarms.lasts")}</td>
            </tr>`)}</tbody>
          </table></div>`}
      <${ListEnd} list=${list} />
    </section>
  `;
}

/** @param {{time: string}} props */
export const Time = ({ time }) => html`<time datetime=${time} title=${fullTime(time)}>${listTime(time)}</time>`;
