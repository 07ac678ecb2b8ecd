/** The open conversation. */

import { Icon } from "../parts/icons.js";
import { Loaded } from "../parts/loaded.js";
import { attempt } from "../parts/notices.js";
import { ReplyDue } from "../parts/reply_due.js";
import { Avatar, Badge, Empty, Problem, Waiting } from "../parts/small.js";
import { get, post } from "../shared/api.js";
import { senderOf, useAuthors } from "../shared/authors.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { choices, choose } from "../shared/choices.js";
import { may } from "../shared/session.js";
import { dayKey, dayName, number, t } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";
import { Actions } from "./actions.js";
import { Bubble, isLater, Pending } from "./bubble.js";
import { addressOf, displayName } from "../shared/names.js";
import { EventLine } from "./event_line.js";
import { knownUntil, outboxOf } from "./outbox.js";
import { Reply } from "./reply.js";
import { keyOf, useThread } from "./thread_data.js";
import { useTickets } from "./tickets.js";

/** @typedef {import("../shared/contract.js").Listed<"contacts">} Contact */
/** @typedef {import("./thread_data.js").Item} Item */

/** Messages of one sender that are not further apart have one time. */
const TOGETHER_MS = 5 * 60_000;

/** Where the column beside a conversation leaves it room enough. */
const ROOM_FOR_COLUMN = "(min-width: 1280px)";

/** Who sees the list first waits for none of it. */
const loadColumn = () => import("./person.js");
const loadSnoozed = () => import("./snooze.js").then(({ Snoozed }) => ({ default: Snoozed }));
const loadPresence = () => import("../parts/presence.js");
const loadTickets = () => import("../tickets/ticket_section.js");

/**
 * @param {{contact: string, back: string, ticket?: string, sought?: string, soughtOn?: string, unread?: number}} props `back` is the address of the list, `ticket` the UUID
 *   of the ticket by which it was opened, `sought` and `soughtOn` the UUID and the time of the message at which it opens, and `unread` tells how many of its
 *   last messages were unread then
 */
export function Thread({ contact, back, ticket = "", sought = "", soughtOn = "", unread = 0 }) {
  useAuthors();
  const person = useContact(contact);
  const thread = useThread(contact, soughtOn);
  const tickets = useTickets(contact, ticket);
  const column = useColumn();
  const isGone = person.contact === null;
  const urn = person.contact?.urns[0] ?? thread.messages.at(-1)?.urn;
  const name = isGone ? t("contacts.gone") : person.contact || urn ? displayName(person.contact?.name, urn) : t("state.loading");
  return html`
    <section class="thread" aria-label=${name} inert=${!isGone && column.isDrawer && column.isLoaded}>
      <header class=${isGone ? "thread-header only-narrow" : "thread-header"}>
        <a class="button quiet icon-only only-narrow" href=${back} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        ${!isGone && html`
        <${Avatar} name=${person.contact?.name} id=${contact} />
        <div class="thread-who">
          <h2><bdi>${name}</bdi></h2>
          <p>
            ${person.contact?.name && urn && html`<bdi>${addressOf(urn)}</bdi>`}
            ${person.contact?.flow && html`<span class="in-flow"><${Icon} name="flow" size=${14} /> ${person.contact.flow.name}</span>`}
            <${Loaded} load=${loadPresence} isPart isQuiet kind="contact" uuid=${contact} />
            ${tickets.open && !column.isShown && html`<button type="button" class="link ticket-mark" title=${t("ticket.open")} onClick=${column.toggle}><${Icon} name="ticket" size=${14} />
              <span class="hidden">${t("ticket.open")}: </span><bdi>${tickets.open.assignee?.name || tickets.open.assignee?.email || t("tickets.nobody")}</bdi></button>
              <${ReplyDue} due=${tickets.open.reply_due} />`}
          </p>
        </div>
        <${Actions} contact=${person.contact} messages=${thread.messages} back=${back} refresh=${() => (person.refresh(), thread.refresh())} />
        <button ref=${column.button} type="button" class="quiet icon-only" aria-pressed=${column.isShown} aria-label=${t("contact.details")} title=${t("contact.details")}
          onClick=${column.toggle}><${Icon} name="info" /></button>`}
      </header>
      ${person.contact?.answers_stopped_on && html`<${Stopped} contact=${contact} onDone=${person.refresh} />`}
      ${!isGone && html`<${Loaded} load=${loadSnoozed} isPart isQuiet contact=${contact} />`}
      <${Course} thread=${thread} contact=${contact} sought=${sought} unread=${unread} gone=${isGone && html`<${Gone} contact=${contact} tickets=${tickets} />`} />
      ${!isGone && may("create_message") && html`<${Reply} contact=${contact} person=${person.contact} status=${person.contact?.status} urn=${urn}
        newest=${Math.max(0, ...thread.messages.map(({ id }) => id))} onSent=${thread.add} />`}
    </section>
    ${!isGone && column.isShown && html`<${Loaded} load=${loadColumn} isPart contact=${person.contact} uuid=${contact} items=${thread.items} tickets=${tickets} isDrawer=${column.isDrawer}
      onChange=${person.refresh} onNote=${thread.refresh} onClose=${column.toggle} />`}
  `;
}

/** Whether the column is shown: where there is room, as somebody chose; elsewhere as a drawer over the conversation, while it is open. */
function useColumn() {
  const [isWide, setWide] = useState(() => matchMedia(ROOM_FOR_COLUMN).matches);
  const [isOpen, setOpen] = useState(false);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const isDrawer = !isWide && isOpen;
  const wasDrawer = useRef(false);
  const [isLoaded, setLoaded] = useState(false);
  // Before somebody opens it, perhaps without a network.
  useEffect(() => void loadColumn().then(() => setLoaded(true), () => {}), []);
  useEffect(() => {
    const room = matchMedia(ROOM_FOR_COLUMN);
    const changed = () => (setWide(room.matches), setOpen(false));
    room.addEventListener("change", changed);
    return () => room.removeEventListener("change", changed);
  }, []);
  useEffect(() => {
    if (wasDrawer.current && !isDrawer) button.current?.focus();
    wasDrawer.current = isDrawer;
  }, [isDrawer]);
  const toggle = () => (isWide ? choose({ column: !choices.value.column }) : setOpen(!isOpen));
  return { isDrawer, isLoaded, isShown: isWide ? choices.value.column : isOpen, toggle, button };
}

/** A machine seems to answer at the other end. @param {{contact: string, onDone: () => void}} props */
function Stopped({ contact, onDone }) {
  const goOn = () => attempt(() => post("contact_actions", { contacts: [contact], action: "answer_again" }), t("contact.answered_again")).then(onDone);
  return html`<div class="thread-bar">
    <${Badge} tone="bad">${t("contact.answers_stopped")}<//>
    ${may("act_on_contacts") && html`<button type="button" onClick=${goOn}>${t("contact.answer_again")}</button>`}
  </div>`;
}

/** @param {{contact: string, tickets: import("./tickets.js").Tickets}} props */
const Gone = ({ contact, tickets }) => html`
  ${tickets.shown.length > 0 && html`<div class="gone-tickets"><${Loaded} load=${loadTickets} isPart contact=${contact} tickets=${tickets} /></div>`}
  <${Empty} icon="contacts" title=${t("contacts.gone")} />
`;

/** Nothing is known of the contact yet, or null says that there is none. @param {string} uuid */
function useContact(uuid) {
  const [contact, setContact] = useState(/** @type {Contact | null | undefined} */ (undefined));
  const refresh = useInTurn(() => get("contacts", { uuid }).then((page) => setContact(page.results[0] ?? null), () => {}));
  useEffect(() => {
    refresh();
  }, [uuid]);
  useChanges(["contact"], refresh, (record) => record.uuid === uuid);
  return { contact, refresh };
}

/**
 * @param {{thread: import("./thread_data.js").Thread, contact: string, sought: string, unread: number, gone: any}} props `gone` is shown instead
 *   of what happened with a contact that does not exist; replies on their way stay where they are, and with them the focus
 */
function Course({ thread, contact, sought, unread, gone }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  // Where the unread began when they were first there: those that come while somebody looks are read.
  const isLoaded = !thread.loading && thread.messages.length > 0;
  const began = useMemo(() => (isLoaded ? firstUnread(thread.messages, unread) : undefined), [isLoaded, unread]);
  const pending = outboxOf(contact);
  const newest = thread.messages.at(-1)?.id;
  useEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [newest, pending.map(({ key, problem }) => key + problem).join(), thread.loading]);
  useEffect(() => {
    // Beside a panel lines are longer, above a long answer there is less room: the newest stays in sight.
    const sized = new ResizeObserver(() => {
      if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
    });
    if (box.current) sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  const isThere = !!sought && thread.messages.some(({ uuid }) => uuid === sought);
  useEffect(() => {
    const found = isThere && /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(".message.is-sought"));
    if (!found) return;
    atEnd.current = false;
    found.scrollIntoView({ block: "center" });
    found.focus({ preventScroll: true });
  }, [sought, isThere]);
  // The id of the newest message that was at the end of what somebody saw.
  const [seen, setSeen] = useState(0);
  const below = seen && newest && newest > seen ? thread.messages.filter(({ id, direction }) => id > seen && direction === "in").length : 0;
  const scrolled = () => {
    if (!box.current) return;
    const isAtEnd = box.current.scrollHeight - box.current.scrollTop - box.current.clientHeight < 80;
    if (isAtEnd !== atEnd.current) setSeen(isAtEnd ? 0 : (newest ?? 0));
    atEnd.current = isAtEnd;
  };
  const toEnd = () => {
    if (!box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    box.current.focus({ preventScroll: true });
  };
  return html`
    <div class="course" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label=${t("inbox.messages")}>
      ${gone}
      ${!gone && thread.problem && html`<${Problem} text=${thread.problem} onRetry=${thread.refresh} />`}
      ${!gone && thread.loading && html`<${Waiting} />`}
      ${!gone && thread.hasOlder && html`<button type="button" class="older" onClick=${thread.older}>${t("inbox.older")}</button>`}
      <ol class="course-list">${!gone && entries(thread, knownUntil(contact), { sought, unread: began })}</ol>
      ${!gone && html`<${Waits} thread=${thread} known=${knownUntil(contact)} />`}
      <${Outbox} contact=${contact} />
      ${!gone && below > 0 && html`<button type="button" class="new-below" onClick=${toEnd}><${Icon} name="down" size=${16} /> ${t("inbox.new_below", { count: number(below) })}</button>`}
    </div>
  `;
}

/** The first of so many of the last messages that wait for a person. @param {import("./thread_data.js").Message[]} messages @param {number} unread */
const firstUnread = (messages, unread) => (unread ? messages.filter((message) => message.direction === "in" && !message.flow && !message.archived).at(-unread)?.uuid : undefined);

/** @param {Item} item */
const waits = ({ message }) => !!message && isLater(message);

/** What waits for a chosen time, after everything else, and whether the contact wrote since. @param {{thread: import("./thread_data.js").Thread, known: number}} props what people sent after the `known` message is still in the outbox */
function Waits({ thread, known }) {
  const waiting = thread.messages.filter((message) => isLater(message) && message.id <= known);
  if (waiting.length === 0) return null;
  const came = thread.messages.findLast(({ direction }) => direction === "in");
  // What was sent, moved or taken back is gone at once, also while the stream is down.
  const leave = (/** @type {import("./thread_data.js").Message} */ message) => {
    thread.add({ ...message, visibility: "deleted" });
    void thread.refresh();
  };
  return html`<ol class="course-list">
    ${!!came && came.created_on > waiting[0].created_on && html`<li class="unread-line"><span>${t("later.written_since")}</span></li>`}
    ${waiting.map((message) => html`<${Bubble} key=${message.uuid} message=${message} refresh=${() => leave(message)} />`)}
  </ol>`;
}

/** @param {{contact: string}} props */
const Outbox = ({ contact }) => html`
  <ol class="course-list">
    ${outboxOf(contact).map((message) => html`<${Pending} key=${message.key} contact=${contact} message=${message} />`)}
  </ol>
`;

/**
 * Everything by time, with a line before each day; without what people sent after a message with this id.
 * @param {import("./thread_data.js").Thread} thread
 * @param {number} known
 * @param {{sought: string, unread: string | undefined}} marks the UUIDs of the message that somebody looks for, and of the first one that was unread
 */
function entries({ items, refresh }, known, { sought, unread }) {
  let day = "";
  const shown = items.filter((item) => !waits(item)).filter((item) => !isReply(item) || (item.message?.id ?? 0) <= known);
  return shown.flatMap((item, at) => {
    const isNew = dayKey(item.time) !== day;
    day = dayKey(item.time);
    const drawn = item.message
      ? html`<${Bubble} key=${keyOf(item)} message=${item.message} reason=${item.failed_reason} refresh=${refresh} isSought=${item.message.uuid === sought}
          follows=${isTogether(shown[at - 1], item)} isFollowed=${isTogether(item, shown[at + 1])} />`
      : html`<${EventLine} key=${keyOf(item)} item=${item} />`;
    return [
      isNew && html`<li key=${day} class="day"><span>${dayName(item.time)}</span></li>`,
      !!unread && item.message?.uuid === unread && html`<li key="unread" class="unread-line"><span>${t("inbox.unread_from_here")}</span></li>`,
      drawn,
    ];
  });
}

/** Whether two items are messages that one sender wrote one after the other. @param {Item | undefined} first @param {Item | undefined} second */
const isTogether = (first, second) =>
  !!first?.message && !!second?.message && senderOf(first.message) === senderOf(second.message) &&
  dayKey(first.time) === dayKey(second.time) && Date.parse(second.time) - Date.parse(first.time) < TOGETHER_MS;

/** Whether a person wrote it, and no flow and no broadcast. @param {Item} item */
const isReply = ({ message }) => message?.direction === "out" && !message.flow && message.broadcast === null;

/** One conversation after another: each begins anew. @param {Parameters<typeof Thread>[0]} props */
export default (props) => html`<${Thread} key=${props.contact} ...${props} />`;
