/** What uses a record, with links: why it cannot be deleted. */

import { get } from "../shared/api.js";
import { link } from "../shared/router.js";
import { t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { Badge } from "./small.js";

/** @typedef {import("../shared/contract.js").Found<"usages">["results"][number]} Usage */

/** Where a record is, and its icon. @type {Record<Usage["type"], (uuid: string) => {icon: string, place: string[]}>} */
const PLACES = {
  campaign: (uuid) => ({ icon: "campaign", place: ["campaigns", uuid] }),
  trigger: () => ({ icon: "play", place: ["triggers"] }),
  flow: (uuid) => ({ icon: "flow", place: ["flows", uuid] }),
  group: () => ({ icon: "contacts", place: ["settings", "groups"] }),
  broadcast: (uuid) => ({ icon: "send", place: ["broadcasts", uuid] }),
  team: () => ({ icon: "contacts", place: ["settings", "teams"] }),
};

/** @param {string} record a UUID, or a key as expressions name it, such as fields.due_date @returns {Promise<Usage[]>} */
export const findUsages = async (record) => (await get("usages", { record })).results;

/** @param {{name: string, usages: Usage[], onClose: () => void}} props */
export const UsagesDialog = ({ name, usages, onClose }) => html`
  <${Dialog} title=${t("usages.title", { name })} onClose=${onClose}>
    <p>${t("usages.text")}</p>
    <ul class="records">${usages.map((usage) => {
      const { icon, place } = PLACES[usage.type](usage.uuid);
      return html`<li key=${usage.uuid + usage.how}><${Icon} name=${icon} size=${18} />
        <a href=${link(place)}><bdi>${usage.name}</bdi></a> <span class="note">${word("usage_type", usage.type)}${usage.flow ? ` · ${usage.flow}` : ""}</span>
        ${usage.archived && html`<${Badge}>${t("triggers.archived")}<//>`}</li>`;
    })}</ul>
  <//>
`;
