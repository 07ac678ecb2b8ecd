/** What needs attention: silent phones and failing webhooks. */

import { Icon } from "../parts/icons.js";
import { link } from "../shared/router.js";
import { duration, fullTime, number, t } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @param {{figures: import("./figures.js").Figures, nameOf: import("./page.js").NameOf}} props */
export function Troubles({ nameOf, figures: { silent_phones, failing_webhooks } }) {
  if (silent_phones.length + failing_webhooks.length === 0) {
    return html`<p class="all-well"><${Icon} name="check" size=${18} /> ${t("overview.all_well")}</p>`;
  }
  return html`
    <section class="card troubles" aria-labelledby="troubles">
      <h2 id="troubles">${t("overview.troubles")}</h2>
      <ul>
        ${silent_phones.map(({ channel, last_seen }) => html`<li key=${channel.uuid}><${Icon} name="channel" size=${18} />
          <a href=${link(["channels", channel.uuid])}>${nameOf(channel)}</a>
          <span title=${last_seen ? fullTime(last_seen) : undefined}>${last_seen ? t("channels.silent", { time: since(last_seen) }) : t("overview.never_seen")}</span></li>`)}
        ${failing_webhooks.map(({ channel, resthook, began_on, given_up, switched_off_on }) => html`<li key=${`${channel?.uuid}${resthook}${began_on}`}><${Icon} name="failed" size=${18} />
          <strong>${t("overview.webhook", { name: channel ? nameOf(channel) : (resthook ?? t("receiver.subscription")) })}</strong>
          <span title=${fullTime(began_on)}>${t(switched_off_on ? "overview.webhook_off" : "overview.webhook_fails", { time: since(began_on), events: number(given_up) })}</span></li>`)}
      </ul>
    </section>
  `;
}

const since = (/** @type {string} */ time) => duration((Date.now() - Date.parse(time)) / 1000);
