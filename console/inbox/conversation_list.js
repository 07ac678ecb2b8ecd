/** The conversations, newest first. */

import { Icon } from "../parts/icons.js";
import { ReplyDue } from "../parts/reply_due.js";
import { Rows } from "../parts/rows.js";
import { RowBox } from "../parts/selection.js";
import { Avatar, Empty, ListEnd } from "../parts/small.js";
import { authorName, useAuthors } from "../shared/authors.js";
import { hasDraft } from "../shared/drafts.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, shortTime, t } from "../shared/texts.js";
import { classes, html, useEffect } from "../shared/ui.js";
import { channelName, displayName } from "../shared/names.js";
import { refusedReplyTo } from "./outbox.js";

/** @typedef {import("../shared/contract.js").Listed<"conversations">} Conversation */

/**
 * @param {{list: import("../shared/lists.js").List<Conversation>,
 *   shown: Conversation[], chosen: string, query: Record<string, string>, sought: string, hasFound: boolean,
 *   selection: import("../parts/selection.js").Selection | null, children?: any}} props
 *   the children are what was found besides, if it `hasFound` anything
 */
export function ConversationList({ list, shown, chosen, query, sought, hasFound, selection, children }) {
  useAuthors();
  useEffect(() => {
    const current = /** @type {HTMLElement | null} */ (document.querySelector(".conversation[aria-current]"));
    current?.scrollIntoView({ block: "nearest" });
    // Whoever goes through the list by keys hears whose conversation is open.
    if (document.activeElement?.matches("body, main, .conversation")) current?.focus({ preventScroll: true });
  }, [chosen]);
  const isEmpty = shown.length === 0 && !list.loading && !list.problem && !hasFound;
  return html`
    <div class="side-list">
      ${children}
      ${hasFound && shown.length > 0 && html`<h2 class="list-title">${t("inbox.found_conversations")}</h2>`}
      ${isEmpty &&
      (sought
        ? html`<${Empty} icon="search" title=${t("inbox.none_found")} text=${t("inbox.none_found_text")} />`
        : html`<${Empty} icon="inbox" title=${t("inbox.empty")} text=${t("inbox.empty_text")}>
            ${may("claim_relayer") && html`<a class="button" href=${link(["channels"])}>${t("channels.title")}</a>`}<//>`)}
      <${Rows} items=${shown} idOf=${(/** @type {Conversation} */ { uuid }) => uuid} chosen=${chosen} hasMore=${list.hasMore} onKeyDown=${selection?.press}
        shows=${[chosen, query, selection && [...selection.chosen].join()]}
        draw=${(/** @type {Conversation} */ conversation) =>
          html`<${Row} ...${conversation} isChosen=${conversation.uuid === chosen} query=${query} isPicked=${selection?.chosen.has(conversation.uuid)} onToggle=${selection?.toggle} />`} />
      <${ListEnd} list=${hasFound ? { ...list, problem: "" } : list} />
    </div>
  `;
}

/** Drawn anew only when something of it changes, as all that read a signal. @param {Conversation & {isChosen: boolean, isPicked: boolean | undefined, query: Record<string, string>,
 *   onToggle: (uuid: string, isRange: boolean) => void}} row without `isPicked` nothing can be chosen */
function Row(row) {
  const { contact, urn, last_message: last, unread_count: unread, ticket, isChosen, isPicked, query, onToggle } = row;
  const refused = refusedReplyTo(contact.uuid);
  const assignee = ticket?.assignee;
  const name = displayName(contact.name, urn);
  const pick = (/** @type {MouseEvent} */ event) => event.shiftKey && isPicked !== undefined && (event.preventDefault(), onToggle(contact.uuid, true));
  return html`
    ${isPicked !== undefined && html`<${RowBox} name=${name} isChosen=${isPicked} onToggle=${(/** @type {boolean} */ isRange) => onToggle(contact.uuid, isRange)} />`}
    <a class=${classes("conversation", unread > 0 && "unread", isPicked && "is-picked")} onClick=${pick} href=${link(["inbox", contact.uuid], query)} aria-current=${isChosen ? "true" : undefined} tabindex="-1">
      <${Avatar} name=${contact.name} id=${contact.uuid} />
      <span class="conversation-text">
        <span class="conversation-top">
          <strong><bdi>${name}</bdi></strong>
          <time datetime=${last.created_on} title=${fullTime(last.created_on)}>${listTime(last.created_on)}</time>
        </span>
        <span class="conversation-last">
          ${refused
            ? html`<span class="preview refused"><${Icon} name="failed" size=${14} /> ${t("reply.not_sent")} <bdi>${refused.text || t("inbox.file")}</bdi></span>`
            : html`<span class="preview">
                ${last.direction === "out" && html`<span class="you"><bdi>${authorName(last)}</bdi>:</span> `}<bdi>${last.text || t("inbox.file")}</bdi>
              </span>`}
          ${unread > 0 && html`<span class="count"><span class="hidden">${t("inbox.unread")} </span>${unread}</span>`}
        </span>
        <${Marks} ...${row}>
          ${ticket && html`<span class="has-ticket" title=${t("ticket.open")}><${Icon} name="ticket" size=${13} /><span class="hidden">${t("ticket.open")}: </span>
            <bdi>${assignee ? assignee.name || assignee.email : t("tickets.nobody")}</bdi></span> <${ReplyDue} due=${ticket.reply_due} />`}
        <//>
      </span>
    </a>
  `;
}

/**
 * What a row says of a conversation besides its messages: what waits in it, its labels and its channel. Of a contact without
 * messages it says whether an answer was begun.
 * @param {Partial<Conversation> & {contact: Conversation["contact"], children?: any}} props the children stand before the labels
 */
export function Marks({ contact, labels = [], last_message: last, folder = null, snoozed_until: until, snoozed_by: by, children }) {
  return html`
    <span class="conversation-about">
      ${hasDraft(`reply.${contact.uuid}`) && html`<span class="draft-mark">${t("inbox.draft")}</span>`}
      ${last?.due_reason === "chosen" && last.status === "queued" && html`<span class="snoozed-until" title=${t("later.at", { time: shortTime(last.due_on ?? "") })}><${Icon} name="send" size=${13} />
        <span class="hidden">${t("later.at", { time: "" })}</span>${listTime(last.due_on ?? "")}</span>`}
      ${until && html`<span class="snoozed-until" title=${snoozeText(until, folder, by?.name || by?.email)}><${Icon} name="clock" size=${13} />
        <span class="hidden">${snoozeText(until, folder)}</span><span aria-hidden="true">${listTime(until)}</span></span>`}
      ${children}
      ${labels.map(({ uuid, name }) => html`<span key=${uuid} class="tag" dir="auto">${name}</span>`)}
      ${last?.channel && html`<span class="by-channel"><${Icon} name="channel" size=${12} /> <bdi>${channelName(last.channel)}</bdi></span>`}
    </span>
  `;
}

/** What a row or an open conversation says of its time. @param {string} until @param {string | null} folder @param {string} [name] of who put it away */
export function snoozeText(until, folder, name = "") {
  const time = shortTime(until);
  if (folder !== "snoozed") return t("snooze.back", { time });
  return name ? t("snooze.by", { time, name }) : t("snooze.until", { time });
}
