/** The messages in which the words of a search stand, above the conversations of those whose name or number has them. */

import { Icon } from "../parts/icons.js";
import { Marked } from "../parts/marked.js";
import { cursorOf, get } from "../shared/api.js";
import { useAddresses } from "../shared/addresses.js";
import { authorName } from "../shared/authors.js";
import { usePages } from "../shared/lists.js";
import { displayName } from "../shared/names.js";
import { link } from "../shared/router.js";
import { fullTime, listTime, t } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"message_matches">} Message */

/** What the API takes. */
const LONGEST = 200;
const SHOWN = 20;

/** The messages with these words; without words none. @param {string} search @returns {import("../shared/lists.js").List<Message>} */
export function useFoundMessages(search) {
  const words = [...search].slice(0, LONGEST).join("");
  return usePages(words ? JSON.stringify(["message_matches", words]) : null, async (cursor, stop) => {
    const page = await get("message_matches", { search: words, page_size: SHOWN, cursor: cursor ?? undefined }, stop);
    return { items: page.results, cursor: cursorOf(page.next) };
  });
}

/** Where a message is: its conversation, opened at it. @param {Message} message @param {Record<string, string>} [query] */
export const placeOf = ({ contact, uuid, created_on }, query = {}) => link(["inbox", contact?.uuid ?? ""], { ...query, message: uuid, on: created_on });

/** @param {{found: import("../shared/lists.js").List<Message>, search: string, query: Record<string, string>}} props */
export function FoundMessages({ found, search, query }) {
  const addresses = useAddresses(found.items.flatMap(({ contact }) => (contact ? [contact] : [])));
  if (found.items.length === 0) return null;
  return html`
    <h2 class="list-title" id="found-messages">${t("inbox.found_messages")}</h2>
    <ul class="found-messages" aria-labelledby="found-messages">
      ${found.items.map((message) => html`<li key=${message.uuid}>
        <a class="found" href=${placeOf(message, query)} aria-current=${query.message === message.uuid ? "true" : undefined}>
          <span class="conversation-top">
            <strong><bdi>${displayName(message.contact?.name, message.urn ?? addresses.get(message.contact?.uuid ?? ""))}</bdi></strong>
            <time datetime=${message.created_on} title=${fullTime(message.created_on)}>${listTime(message.created_on)}</time>
          </span>
          <span class="found-text">
            ${message.direction === "out" && html`<span class="you"><${Icon} name="reply" size=${13} /> <bdi>${authorName(message)}</bdi>: </span>`}
            <${Marked} text=${message.text} search=${search} />
          </span>
        </a>
      </li>`)}
    </ul>
    ${found.hasMore && html`<p class="list-end"><button type="button" onClick=${found.more}>${t("inbox.more_messages")}</button></p>`}
  `;
}
