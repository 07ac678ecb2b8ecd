/** The inbox: folders, conversations, and the one that is open. */

import { Icon } from "../parts/icons.js";
import { Empty } from "../parts/small.js";
import { usePages } from "../shared/lists.js";
import { onChange } from "../shared/live.js";
import { go } from "../shared/router.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { ConversationList } from "./conversation_list.js";
import { loadConversations } from "./conversations.js";
import { Folders } from "./folders.js";
import { useKeys } from "./keys.js";
import { Thread } from "./thread.js";

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Inbox({ place }) {
  const { folder = "", label = "" } = place.query;
  const chosen = place.parts[0];
  const [search, setSearch] = useState("");
  const list = usePages(JSON.stringify(["inbox", folder, label]), (cursor, stop) =>
    loadConversations({ folder, label }, cursor, stop),
  );
  useEffect(() => onChange(({ kind }) => kind === "tick" && list.reload()), [folder, label]);

  const sought = search.trim().toLocaleLowerCase();
  const shown = list.items.filter(({ contact, last }) =>
    [contact.name, last.urn, last.text].some((text) => text?.toLocaleLowerCase().includes(sought)),
  );
  const open = (/** @type {string} */ uuid) => go(["inbox", uuid], place.query);
  useKeys({
    next: () => open(shown[shown.findIndex(({ contact }) => contact.uuid === chosen) + 1]?.contact.uuid ?? chosen),
    previous: () => open(shown[shown.findIndex(({ contact }) => contact.uuid === chosen) - 1]?.contact.uuid ?? chosen),
    back: () => chosen && go(["inbox"], place.query),
  });
  return html`
    <main id="main" class=${chosen ? "inbox has-open" : "inbox"} tabindex="-1">
      <section class="side" aria-label=${t("inbox.title")}>
        <header class="side-header">
          <h1>${t("inbox.title")}</h1>
          <${Folders} folder=${folder} label=${label} />
          <div class="search">
            <${Icon} name="search" size=${18} />
            <input type="search" id="inbox-search" placeholder=${t("inbox.search")} aria-label=${t("inbox.search")} value=${search}
              onInput=${(/** @type {any} */ event) => setSearch(event.target.value)} />
          </div>
        </header>
        <${ConversationList} list=${list} shown=${shown} chosen=${chosen} query=${place.query} sought=${sought} />
      </section>
      ${chosen
        ? html`<${Thread} key=${chosen} contact=${chosen} query=${place.query} />`
        : html`<section class="thread none"><${Empty} icon="inbox" title=${t("inbox.choose")} text=${t("inbox.choose_text")} /></section>`}
    </main>
  `;
}
