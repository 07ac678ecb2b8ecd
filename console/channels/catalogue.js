/** All that can be added, with a search: phones, channel types and presets. */

import { Icon } from "../parts/icons.js";
import { Empty, Problem, Waiting } from "../parts/small.js";
import { go, link } from "../shared/router.js";
import { useTypedSearch } from "../shared/search.js";
import { may } from "../shared/session.js";
import { number, t } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { ClaimDialog } from "./claim_dialog.js";
import { GatewayDialog } from "./gateway_form.js";
import { helpOf, listEntries, sentence, useTypes } from "./types.js";

/** @typedef {import("./types.js").Entry} Entry */

const HUES = 8;

/** @param {{place: import("../shared/router.js").Place}} props */
export function Catalogue({ place }) {
  const search = place.query.search ?? "";
  const [typed, setTyped] = useTypedSearch(search);
  const { types, problem, load } = useTypes();
  const entries = types ? listEntries(types).filter(({ type }) => may(type.is_phone ? "claim_relayer" : "change_channel_settings")) : [];
  const found = entries.filter((entry) => matches(entry, typed));
  const chosen = entries.find(({ name }) => name === place.parts[1]);
  const close = () => go(["channels", "add"], { search: typed });
  const openOnly = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (found.length === 1) go(["channels", "add", found[0].name], { search: typed });
  };
  return html`
    <main id="main" class="page catalogue" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["channels"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t("catalogue.title")}</h1>
      </header>
      <p class="help">${t("catalogue.intro")}</p>
      <form class="search" role="search" onSubmit=${openOnly}>
        <${Icon} name="search" size=${18} />
        <input type="search" aria-label=${t("catalogue.search")} placeholder=${t("catalogue.search")} value=${typed}
          onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
      </form>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!types && !problem && html`<${Waiting} />`}
      <p class="hidden" role="status">${types && typed ? t("catalogue.found", { count: number(found.length) }) : ""}</p>
      <ul class="kinds">${found.map((entry) => html`<li key=${entry.name}>
        <a class="kind" href=${link(["channels", "add", entry.name], { search: typed })}>
          <${Mark} entry=${entry} />
          <span><strong><bdi>${entry.title}</bdi></strong><span class="faint">${helpOf(entry)}</span></span>
        </a>
      </li>`)}</ul>
      ${types && found.length === 0 && html`<${Empty} icon="search" title=${t("catalogue.none")} text=${t("catalogue.none_text")}>
        <button type="button" onClick=${() => setTyped("")}>${t("catalogue.all")}</button><//>`}
      ${chosen?.type.is_phone && html`<${ClaimDialog} onDone=${() => go(["channels"])} onClose=${close} />`}
      ${chosen && !chosen.type.is_phone && html`<${GatewayDialog} entry=${chosen} onDone=${(/** @type {string} */ uuid) => go(["channels", uuid, "connect"])} onClose=${close} />`}
    </main>
  `;
}

/** The initials of a title on a tile of one of eight colors; a phone is drawn. @param {{entry: Pick<Entry, "title" | "type">}} props */
export function Mark({ entry: { title, type } }) {
  const hue = [...title].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) % HUES, 0);
  const [one = "", other = ""] = title.replace(/[^\p{L}\p{N}\s]/gu, "").split(/\s+/);
  const letters = sentence(one.slice(0, other ? 1 : 2)) + other.charAt(0).toUpperCase();
  return html`<span class=${`avatar mark hue-${hue}`} aria-hidden="true">${type.is_phone ? html`<${Icon} name="channel" size=${20} />` : letters}</span>`;
}

/** Whether each typed word is in the name, the title or the help of an entry, whatever its accents. @param {Entry} entry @param {string} typed */
function matches(entry, typed) {
  const said = plain([entry.name, entry.title, helpOf(entry), (entry.preset ?? entry.type).help, ...(entry.preset ? [] : [entry.type.schemes.length > 4 ? "" : entry.type.schemes.join(" ")])].join(" "));
  return plain(typed).split(/\s+/).every((part) => said.includes(part));
}

/** @param {string} text */
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
