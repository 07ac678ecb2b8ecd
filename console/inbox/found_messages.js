/** The messages in which the words of a search stand, above the conversations of those whose name or number has them. */

import { Icon } from "../parts/icons.js";
import { Marked } from "../parts/marked.js";
import { cursorOf, get } from "../shared/api.js";
import { useAddresses } from "../shared/addresses.js";
import { authorName } from "../shared/authors.js";
import { useAll, usePages } from "../shared/lists.js";
import { displayName } from "../shared/names.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, t } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { toMoment } from "../shared/zone_time.js";

/** @typedef {import("../shared/contract.js").Listed<"message_matches">} Message */

/** What the API takes. */
const LONGEST = 200;
const SHOWN = 20;

/** What narrows the messages, as the address of the inbox names it: days of the workspace, and the UUID of a channel. */
const NARROWED = /** @type {const} */ (["from", "until", "channel"]);

/** The messages with these words, of the label whose conversations are listed; without words none.
 * @param {string} search @param {Record<string, string>} query @returns {import("../shared/lists.js").List<Message>} */
export function useFoundMessages(search, { from = "", until = "", channel = "", label: chosen = "" }) {
  const label = may("list_messages") ? chosen : "";
  const words = [...search].slice(0, LONGEST).join("");
  return usePages(words ? JSON.stringify(["message_matches", words, from, until, channel, label]) : null, async (cursor, stop) => {
    const asked = {
      search: words, page_size: SHOWN, cursor: cursor ?? undefined,
      after: toMoment(from && `${from}T00:00`), before: toMoment(until && `${until}T23:59:59.999`),
    };
    const page = await (channel || label ? get("messages", { ...asked, channel: channel || undefined, label: label || undefined }, stop) : get("message_matches", asked, stop));
    return { items: page.results, cursor: cursorOf(page.next) };
  });
}

/** @param {{query: Record<string, string>, hasFound: boolean, onChange: (query: Record<string, string>) => void}} props */
export function Narrowing({ query, hasFound, onChange }) {
  const isNarrow = NARROWED.some((name) => query[name]);
  const channels = useAll(may("list_messages") && may("list_channels") ? "channels" : null);
  if (!hasFound && !isNarrow) return null;
  const set = (/** @type {any} */ { target }) => onChange({ ...query, [target.name]: target.value });
  return html`
    <details class="narrowing" open=${isNarrow}>
      <summary>${t("inbox.narrow")}</summary>
      <label>${t("inbox.from_day")} <input type="date" name="from" value=${query.from} onChange=${set} /></label>
      <label>${t("inbox.until_day")} <input type="date" name="until" value=${query.until} onChange=${set} /></label>
      ${channels.length > 1 && html`<label>${t("inbox.channel")} <select name="channel" onChange=${set}>
        <option value="">${t("inbox.every_channel")}</option>
        ${channels.map(({ uuid, name, address }) => html`<option key=${uuid} value=${uuid} selected=${uuid === query.channel}>${name || address}</option>`)}</select></label>`}
    </details>`;
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
