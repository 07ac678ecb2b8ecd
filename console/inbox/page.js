/** The inbox: folders, conversations, and the one that is open. */

import { Icon } from "../parts/icons.js";
import { Loaded } from "../parts/loaded.js";
import { useSelection } from "../parts/selection.js";
import { Empty } from "../parts/small.js";
import { post } from "../shared/api.js";
import { mentions } from "../shared/counts.js";
import { useList } from "../shared/lists.js";
import { tell } from "../shared/live.js";
import { account, may } from "../shared/session.js";
import { go, link } from "../shared/router.js";
import { useTypedSearch } from "../shared/search.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";
import { ConversationList } from "./conversation_list.js";
import { ALL, folderShown, Folders, MINE, UNREAD } from "./folders.js";
import { FoundMessages, Narrowing, useFoundMessages } from "./found_messages.js";
import { useKeys } from "./keys.js";
import { useLiveRows } from "./live_rows.js";

/** Conversations that are asked for together: some screens full. */
const PAGE = 50;

const loadThread = () => import("./thread.js");
const loadBulk = () => import("./bulk.js");
const loadMentions = () => import("./mentions.js");

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Inbox({ place }) {
  const { message = "", on = "" } = place.query;
  const query = useMemo(() => Object.fromEntries(Object.entries(place.query).filter(([name]) => !["message", "on"].includes(name))), [place.query]);
  const { label = "", search = "" } = query;
  const folder = folderShown(query);
  const chosen = place.parts[0];
  const [typed, setTyped] = useTypedSearch(search);
  const filters = {
    folder: [ALL, MINE, UNREAD].includes(folder) ? undefined : folder,
    assignee: folder === MINE ? account.value?.user.email : undefined,
    unread: folder === UNREAD || undefined,
    label: label || undefined,
    search: search || undefined,
  };
  const list = useList("conversations", { ...filters, page_size: PAGE });
  const shown = list.items;
  const found = useFoundMessages(search, query);
  useLiveRows(list, filters);
  // Before somebody opens a conversation, and after the list is asked for.
  useEffect(() => void loadThread().catch(() => {}), []);
  const selection = useSelection(shown.map(({ uuid }) => uuid), may("act_on_conversations"));

  // A conversation that is not in the list is one that somebody was led to, or that was answered: it may be unread. No number is the same as this
  // one, so that it is read again when it comes back to the list.
  const unread = chosen ? (shown.find(({ contact }) => contact.uuid === chosen)?.unread_count ?? Infinity) : 0;
  const isSeen = useSeen();
  const [began, setBegan] = useState({ contact: "", unread: 0 });
  const wasHidden = useRef(false);
  if (!isSeen) wasHidden.current = true;
  useEffect(() => {
    if (!unread || !isSeen || list.loading || !may("act_on_conversations")) return;
    if (began.contact !== chosen || wasHidden.current) setBegan({ contact: chosen, unread: shown.find(({ uuid }) => uuid === chosen)?.unread_count ?? 0 });
    wasHidden.current = false;
    const seen = () => {
      list.change((items) => items.map((item) => (item.uuid === chosen ? { ...item, unread_count: 0 } : item)));
      tell({ kind: "mark", record: { uuid: chosen, unread: false } });
    };
    post("conversations", { contacts: [chosen], action: "read" }).then(seen, () => {});
  }, [chosen, unread, isSeen, list.loading]);

  const at = shown.findIndex(({ uuid }) => uuid === chosen);
  // What left the list, such as by archiving, was here: the next one has its place now.
  const lastAt = useRef(0);
  if (at >= 0) lastAt.current = at;
  const open = (/** @type {number} */ row) => shown[row] && go(["inbox", shown[row].uuid], query);
  useKeys({
    next: () => open(at < 0 ? lastAt.current : at + 1),
    previous: () => open((at < 0 ? lastAt.current : at) - 1),
    back: () => (selection.chosen.size > 0 ? selection.set([]) : chosen && go(["inbox"], query)),
  });
  return html`
    <main id="main" class=${chosen ? "inbox has-open" : "inbox"} tabindex="-1">
      <section class="side" aria-label=${t("inbox.title")}>
        <header class="side-header">
          <h1>${t("inbox.title")}</h1>
          <${Folders} folder=${folder} label=${label} search=${search} />
          <div class="search">
            <${Icon} name="search" size=${18} />
            <input type="search" placeholder=${t("inbox.search")} aria-label=${t("inbox.search")} value=${typed}
              onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
          </div>
        </header>
        ${mentions.value.size > 0 && html`<${Loaded} load=${loadMentions} isPart query=${query} />`}
        ${selection.chosen.size > 0 && html`<${Loaded} load=${loadBulk} isPart filters=${filters} several=${severalOf} hasMore=${list.hasMore} selection=${selection} picked=${shown.filter(({ uuid }) => selection.chosen.has(uuid)).map(severalOf)} isArchived=${folder === "archived"} />`}
        <${ConversationList} list=${list} selection=${may("act_on_conversations") ? selection : null} shown=${shown} chosen=${chosen} query=${query} sought=${search} hasFound=${found.items.length > 0}>
          ${!!search && html`<${Narrowing} query=${query} hasFound=${found.items.length > 0} onChange=${(/** @type {Record<string, string>} */ narrowed) => go(["inbox", ...place.parts], narrowed, { replace: true })} />
            <${FoundMessages} found=${found} search=${search} query=${place.query} />`}
        <//>
      </section>
      ${chosen
        ? html`<${Loaded} load=${loadThread} isPart contact=${chosen} sought=${message} soughtOn=${on} unread=${began.contact === chosen ? began.unread : 0} back=${link(["inbox"], query)} />`
        : html`<section class="thread none"><${Empty} icon="inbox" title=${t("inbox.choose")} text=${t("inbox.choose_text")} /></section>`}
    </main>
  `;
}

/** @param {import("./conversation_list.js").Conversation} conversation @returns {import("./bulk.js").Several} */
function severalOf({ uuid, contact, urn, ticket, unread_count: unread, snoozed_until: until }) {
  return { uuid, name: contact.name, urns: urn ? [urn] : [], contact: uuid, ticket: ticket?.uuid ?? "", assignee: ticket?.assignee?.email ?? null, unread, until };
}

/** Whether somebody can see the page. */
function useSeen() {
  const [isSeen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const turned = () => setSeen(!document.hidden);
    document.addEventListener("visibilitychange", turned);
    return () => document.removeEventListener("visibilitychange", turned);
  }, []);
  return isSeen;
}
