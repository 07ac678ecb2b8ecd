/** Conversations on which a colleague named this person in a note, above the list, until they look. */

import { Icon } from "../parts/icons.js";
import { mentions } from "../shared/counts.js";
import { link } from "../shared/router.js";
import { t } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @param {{query: Record<string, string>}} props */
export default function Mentions({ query }) {
  return html`
    <section class="mentions" aria-label=${t("mention.title")}>
      <h2 class="list-title">${t("mention.title")}</h2>
      <ul>
        ${[...mentions.value].map(([uuid, name]) => html`<li key=${uuid}><a href=${link(["inbox", uuid], query)}><${Icon} name="bookmark" size=${16} /> <bdi>${name || t("contact.unnamed")}</bdi></a></li>`)}
      </ul>
    </section>
  `;
}
