/** The inbox: folders, conversations, and the one that is open. */

import { Icon } from "../parts/icons.js";
import { Empty } from "../parts/small.js";
import { get, post } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { useChanges } from "../shared/changes.js";
import { tell } from "../shared/live.js";
import { may } from "../shared/session.js";
import { go, link } from "../shared/router.js";
import { useTypedSearch } from "../shared/search.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";
import { ConversationList } from "./conversation_list.js";
import { Folders } from "./folders.js";
import { FoundMessages, useFoundMessages } from "./found_messages.js";
import { useKeys } from "./keys.js";
import { Thread } from "./thread.js";

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Inbox({ place }) {
  const { message = "", on = "" } = place.query;
  const query = useMemo(() => Object.fromEntries(Object.entries(place.query).filter(([name]) => !["message", "on"].includes(name))), [place.query]);
  const { folder = "", label = "", search = "" } = query;
  const chosen = place.parts[0];
  const [typed, setTyped] = useTypedSearch(search);
  const isUnread = folder === "unread";
  const filters = { folder: isUnread ? undefined : folder || undefined, label: label || undefined, search: search || undefined, unread: isUnread || undefined };
  const list = useList("conversations", filters);
  const shown = list.items;
  const found = useFoundMessages(search);
  useRows(list, filters);

  // A conversation that is not in the list is one that somebody was led to: it may be unread.
  const unread = chosen ? (shown.find(({ contact }) => contact.uuid === chosen)?.unread_count ?? 1) : 0;
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
    back: () => chosen && go(["inbox"], query),
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
        <${ConversationList} list=${list} shown=${shown} chosen=${chosen} query=${query} sought=${search} hasFound=${found.items.length > 0}>
          ${search && html`<${FoundMessages} found=${found} search=${search} query=${place.query} />`}
        <//>
      </section>
      ${chosen
        ? html`<${Thread} key=${chosen} contact=${chosen} sought=${message} soughtOn=${on} unread=${began.contact === chosen ? began.unread : 0} back=${link(["inbox"], query)} />`
        : html`<section class="thread none"><${Empty} icon="inbox" title=${t("inbox.choose")} text=${t("inbox.choose_text")} /></section>`}
    </main>
  `;
}

/** More conversations than these change seldom at once; then the list is asked for. */
const MOST_ROWS = 8;

/**
 * Keeps the rows of a list: of the conversations that changed, and of no others.
 * @param {import("../shared/lists.js").List<import("./conversation_list.js").Conversation>} list
 * @param {import("../shared/contract.js").Filters<"conversations">} filters
 */
function useRows(list, filters) {
  const present = useRef(filters);
  present.current = filters;
  useChanges(["message", "ticket", "run", "mark"], async (records) => {
    const contacts = new Set(records?.map((record) => record.contact?.uuid ?? record.uuid));
    if (!records || contacts.size > MOST_ROWS) return list.refresh();
    const asked = present.current;
    const pages = await Promise.all([...contacts].map((contact) => get("conversations", { ...asked, contact }))).catch(() => null);
    // Without an answer the next change tells; meanwhile somebody may have chosen another folder.
    if (pages && JSON.stringify(asked) === JSON.stringify(present.current)) list.change((items) => withRows(items, contacts, pages.flatMap(({ results }) => results), list.hasMore));
  });
}

/**
 * The list with the rows of some contacts anew, by the time of their last message; what belongs to later pages comes with them.
 * @param {import("./conversation_list.js").Conversation[]} items
 * @param {Set<string>} contacts
 * @param {import("./conversation_list.js").Conversation[]} rows
 * @param {boolean} hasMore
 */
function withRows(items, contacts, rows, hasMore) {
  const others = items.filter(({ uuid }) => !contacts.has(uuid));
  const end = items.at(-1)?.last_on ?? "";
  const fresh = rows.filter(({ last_on }) => !hasMore || last_on >= end);
  return [...others, ...fresh].sort((a, b) => (a.last_on > b.last_on ? -1 : a.last_on < b.last_on ? 1 : 0));
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
