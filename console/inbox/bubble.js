/** One message of a conversation, and one that has not reached the service yet. */

import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Linked } from "../parts/linked.js";
import { Loaded, LoadedDialog } from "../parts/loaded.js";
import { Menu } from "../parts/menu.js";
import { attempt } from "../parts/notices.js";
import { post } from "../shared/api.js";
import { authorName } from "../shared/authors.js";
import { may } from "../shared/session.js";
import { clock, fullTime, shortTime, t, word } from "../shared/texts.js";
import { classes, html, useState } from "../shared/ui.js";
import { discard, sendAgain } from "./outbox.js";

/** @typedef {import("./thread_data.js").Message} Message */

const loadLater = () => import("./send_later.js").then(({ Later }) => ({ default: Later }));
const loadLabels = () => import("./label_dialog.js");

/** @type {Record<string, string>} */
const MARKS = { queued: "clock", wired: "check", sent: "check", delivered: "double", read: "double", errored: "failed", failed: "failed" };

/**
 * @param {{message: Message, reason?: string | null, refresh: () => void, follows?: boolean, isFollowed?: boolean, isSought?: boolean}} props `reason` says why
 *   it failed; one that `follows` another of its sender does not name them again, and one that `isFollowed` leaves the time to the next
 */
export function Bubble({ message, reason, refresh, follows = false, isFollowed = false, isSought = false }) {
  const [labels, setLabels] = useState(false);
  const isOut = message.direction === "out";
  const icon = message.broadcast !== null ? "send" : message.flow && "flow";
  const isUncertain = message.status === "wired" && message.failed_reason === "uncertain";
  const bad = isOut && (isUncertain || ["errored", "failed"].includes(message.status));
  const canResend = bad && message.status !== "errored" && message.failed_reason !== "resent";
  return html`
    <li class=${classes("message", isOut ? "out" : "in", message.archived && "archived", isFollowed && "is-followed", isSought && "is-sought")} tabindex=${isSought ? -1 : undefined}>
      ${isOut && !follows && html`<p class="author" aria-hidden="true">${icon && html`<${Icon} name=${icon} size=${12} /> `}<bdi>${authorName(message)}</bdi></p>`}
      <div class=${bad ? "bubble bad" : "bubble"}>
        <span class="hidden">${isOut ? `${authorName(message)}:` : t("inbox.they")}</span>
        ${message.attachments.map((file) => html`<${Attachment} key=${file.url} file=${file} />`)}
        ${message.visibility === "deleted" ? html`<p class="deleted">${t("message.deleted")}</p>` : message.text && html`<p class="text" dir="auto"><${Linked} text=${message.text} /></p>`}
        ${message.quick_replies.length > 0 && html`<p class="choices">${message.quick_replies.map(({ text }) => html`<span class="choice">${text}</span>`)}</p>`}
      </div>
      <p class="under">
        ${message.labels.map(({ uuid, name }) => html`<span key=${uuid} class="tag">${name}</span>`)}
        ${!isOut && message.flow && html`<span class="tag flow"><${Icon} name="flow" size=${12} /> ${message.flow.name}</span>`}
        ${message.archived && html`<span class="tag">${t("folder.archived")}</span>`}
        ${!isFollowed && html`<time datetime=${message.created_on} title=${fullTime(message.created_on)}>${clock(message.created_on)}</time>`}
        ${isOut &&
        html`<span class=${`state ${message.status}`}>
          <${Icon} name=${MARKS[message.status]} size=${14} /> ${word("state", message.status)}${(message.status === "failed" || message.failed_reason) && `: ${word("failed", message.failed_reason ?? reason ?? "unknown")}`}
          ${message.failed_detail && html` <bdi class="detail" title=${t("message.failed_detail")}>${message.failed_detail}</bdi>`}
        </span>`}
        ${isLater(message) && html`<span class="state queued">${t("later.at", { time: shortTime(message.due_on ?? "") })}</span> <span class="later-slot"><${Loaded} load=${loadLater} isPart isQuiet message=${message} refresh=${refresh} /></span>`}
        ${message.status === "queued" && message.due_on && !isLater(message) && html`<span class="state queued">${t("message.due", { time: fullTime(message.due_on), reason: word("due", message.due_reason ?? "") })}</span>`}
        ${message.fallback && html`<span class="tag">${t("message.fallback", { channel: message.channel?.name ?? "" })}</span>`}
        ${!isOut && message.failed_reason && html`<span class="state failed"><${Icon} name="failed" size=${14} /> ${word("failed", message.failed_reason)}</span>`}
        ${canResend && may("act_on_messages") && message.visibility !== "deleted" &&
        html`<button type="button" class="link" onClick=${() => askToResend(message, isUncertain, refresh)}>${t("message.resend")}</button>`}
        ${!isOut && may("act_on_messages") && message.visibility !== "deleted" &&
        html`<${Menu} label=${t("message.actions")} items=${actions(message, refresh, () => setLabels(true))} className="quiet tiny" />`}
      </p>
      ${labels && html`<${LoadedDialog} load=${loadLabels} messages=${[message]} onClose=${() => (setLabels(false), refresh())} onUndone=${refresh} />`}
    </li>
  `;
}

/** Whether a message waits for the time that somebody chose. @param {Message} message */
export const isLater = ({ status, due_reason }) => status === "queued" && due_reason === "chosen";

/** @param {Message} message @param {() => void} refresh @param {() => void} label */
function actions({ id, archived }, refresh, label) {
  const act = (/** @type {"archive" | "restore" | "delete"} */ action) => async () => {
    await post("message_actions", { messages: [id], action });
    refresh();
  };
  const remove = { title: t("message.delete"), text: t("message.delete_text"), submit: t("act.delete"), onYes: act("delete") };
  return [
    { text: t("act.label"), icon: "label", onPick: label },
    archived
      ? { text: t("act.restore"), icon: "inbox", onPick: () => attempt(act("restore"), t("message.is_restored"), act("archive")) }
      : { text: t("act.archive"), icon: "archive", onPick: () => attempt(act("archive"), t("message.is_archived"), act("restore")) },
    { text: t("act.delete"), icon: "trash", danger: true, onPick: () => confirmFirst(remove) },
  ];
}

/** What may have arrived is sent again only by those who know it. @param {Message} message @param {boolean} isUncertain @param {() => void} refresh */
function askToResend({ id }, isUncertain, refresh) {
  const resend = async () => {
    await post("message_actions", { messages: [id], action: "resend" });
    refresh();
  };
  if (!isUncertain) return attempt(resend);
  return confirmFirst({ title: t("message.resend"), text: t("message.resend_text"), submit: t("message.resend"), onYes: resend });
}

/** @param {{file: {content_type: string, url: string}}} props */
export function Attachment({ file }) {
  const [kind] = file.content_type.split("/");
  const name = nameIn(file.url);
  const isOurs = isOurAddress(file.url);
  if (isOurs && kind === "image") {
    return html`<a href=${file.url} target="_blank" rel="noopener"><img class="picture" src=${file.url} alt=${t("message.picture")} loading="lazy" /></a>`;
  }
  if (isOurs && kind === "audio") return html`<audio controls preload="none" src=${file.url} aria-label=${t("message.audio")}></audio>`;
  if (isOurs && kind === "video") return html`<video controls preload="metadata" src=${file.url} aria-label=${t("message.video")}></video>`;
  return html`<a class="file" href=${file.url} target="_blank" rel="noopener noreferrer"><${Icon} name="attach" size=${16} /> ${name}</a>`;
}

/** The name of a file in its address; senders write any text as one, then the text is shown. @param {string} url */
function nameIn(url) {
  const name = url.split("/").pop() || url;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** @param {string} url */
function isOurAddress(url) {
  try {
    return new URL(url, document.baseURI).origin === location.origin;
  } catch {
    return false;
  }
}

/** @param {{contact: string, message: import("./outbox.js").Outgoing}} props */
export const Pending = ({ contact, message }) => html`
  <li class="message out pending">
    <div class=${message.problem ? "bubble bad" : "bubble"}>
      ${message.attachments.length > 0 && html`<p class="file"><${Icon} name="attach" size=${16} /> ${message.attachments.length}</p>`}
      ${message.text && html`<p class="text" dir="auto">${message.text}</p>`}
    </div>
    <p class="under">
      <span class=${message.problem ? "state failed" : "state queued"} role="status">${message.problem || t("state.sending")}</span>
      ${message.problem && html`<button type="button" class="link" onClick=${() => sendAgain(contact, message.key)}>${t("act.retry")}</button>`}
      ${message.problem && html`<button type="button" class="link" onClick=${() => discard(contact, message.key)}>${t("act.discard")}</button>`}
    </p>
  </li>
`;
