/** What is done with several conversations or tickets at once, and taken back. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { attempt, notify } from "../parts/notices.js";
import { doWithMany } from "../parts/part_by_part.js";
import { Field } from "../parts/small.js";
import { cursorOf, get, post } from "../shared/api.js";
import { useAll } from "../shared/lists.js";
import { tell } from "../shared/live.js";
import { keyOf, PART, partsOf, takenBack } from "../shared/parts.js";
import { account, may } from "../shared/session.js";
import { number, shortTime, t } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { SnoozeForm } from "./snooze.js";

/**
 * A conversation or ticket as far as it matters here: `contact` and `ticket` are UUIDs, `assignee` an address; it is put away
 * `until` a time. Who has a ticket and never wrote has no conversation: it `isEmpty`. The last `message` of the contact is asked for
 * where it is needed.
 * @typedef {{uuid: string, name: string | null, urns: string[], contact: string, ticket: string, assignee: string | null, unread: number, until: string | null,
 *   isEmpty?: boolean, message?: {id: number, labels: string[]}}} Several
 * @typedef {{title: string, icon: string, done: string, fits?: (each: Several) => boolean, work: (some: Several[], key?: string) => Promise<unknown>,
 *   undo: (some: Several[], key: string) => Promise<unknown>, isOfConversations?: boolean, learn?: (some: Several[]) => Promise<Several[]>}} Deed `fits` tells with
 *   which it can be done, after what it needs to `learn` of them; one that is of conversations asks for those of tickets. Work on tickets tells which it left as
 *   they were, and so does what takes it back.
 * @typedef {import("../parts/selection.js").Selection} Selection
 */

/** @param {"close" | "reopen"} action @returns {Deed["work"]} */
const turnTickets = (action) => (some, key) => post("ticket_actions", { tickets: some.map(({ ticket }) => ticket), action }, undefined, key);
/** What was so before stays so when it is taken back. @param {"archive_messages" | "restore_messages"} action @returns {Pick<Deed, "work" | "undo">} */
function moving(action) {
  const taken = takenBack(action);
  const undo = async (/** @type {Several[]} */ some, /** @type {string} */ key) => {
    await taken.undo(key);
    const away = some.filter((each) => action === "archive_messages" && isAway(each));
    const untilOf = new Map(away.map(({ contact, until }) => [contact, until ?? ""]));
    // What somebody wrote meanwhile is not put away.
    const same = (await withConversations(away)).filter(({ unread }) => unread === 0);
    for (const [until, theirs] of groupsOf(same, ({ contact }) => untilOf.get(contact) ?? "")) await snooze("snooze", until)(theirs);
  };
  return { work: (some, key) => taken.work(some.map(({ contact }) => contact), key), undo };
}
/** @param {Several} each */
const isAway = ({ until }) => !!until && Date.parse(until) > Date.now();
/** @param {boolean} unread @returns {Deed["work"]} */
const mark = (unread) => async (some, key) => {
  if (some.length === 0) return;
  await post("conversations", { contacts: some.map(({ contact }) => contact), action: unread ? "unread" : "read" }, undefined, key);
  // The service leaves what has nothing in the inbox, and tells of those that are unread now.
  if (!unread) for (const { contact } of some) tell({ kind: "mark", record: { uuid: contact, unread } });
};
/** Takes back that they were read: as many are unread as there were, and what came since. @type {(some: Several[], key: string) => Promise<void>} */
const unreadAgain = async (some, key) => {
  for (const [count, theirs] of groupsOf(some, ({ unread }) => String(unread))) {
    const body = { contacts: theirs.map(({ contact }) => contact), action: /** @type {const} */ ("unread"), unread_count: Number(count) };
    if (count !== "0") await post("conversations", body, undefined, `${key}-unread-${count}`);
  }
};
/** @param {"snooze" | "unsnooze"} action @param {string} [until] @returns {Deed["work"]} */
const snooze = (action, until) => async (some, key) => {
  await post("conversations", { contacts: some.map(({ contact }) => contact), action, until }, undefined, key);
};
/** @param {string} until @returns {Deed} */
const snoozing = (until) => ({
  title: t("snooze.title"),
  icon: "clock",
  done: t("snooze.done", { time: shortTime(until) }),
  isOfConversations: true,
  work: snooze("snooze", until),
  undo: async (some, key) => {
    await snooze("unsnooze")(some);
    await unreadAgain(some, key);
  },
});
/** @param {Several[]} some @param {(each: Several) => string} by */
function groupsOf(some, by) {
  const groups = /** @type {Map<string, Several[]>} */ (new Map());
  for (const each of some) groups.set(by(each), [...(groups.get(by(each)) ?? []), each]);
  return groups;
}
/** @param {Several[]} some @param {string | null} assignee @param {string} [key] */
const assignAll = (some, assignee, key) => post("ticket_actions", { tickets: some.map(({ ticket }) => ticket), action: "assign", assignee }, undefined, key);

/** More than these are not done at once: they are read and changed part by part while somebody waits. */
const MOST = 5000;

/**
 * How all that match are read, and how many they are; null as long as they are those that are shown, or too many.
 * @template {"conversations" | "tickets"} N
 * @param {N} name @param {import("../shared/contract.js").Filters<N>} filters
 * @param {(record: import("../shared/contract.js").Listed<N>) => Several} several @param {boolean} isAsked
 * @returns {{matching: (() => Promise<Several[]>) | null, total: string}}
 */
function useMatching(name, filters, several, isAsked) {
  const key = JSON.stringify(filters);
  const [found, setFound] = useState({ key: "", count: 0 });
  useEffect(() => {
    if (!isAsked) return;
    const keep = (/** @type {any} */ { count }) => setFound({ key, count: count?.is_exact ? count.value : 0 });
    get(name, /** @type {any} */ ({ ...filters, count: true, page_size: 1, fields: ["uuid"] })).then(keep, () => {});
  }, [key, isAsked]);
  const matching = async () => {
    /** @type {Several[]} */
    const all = [];
    for (let cursor = /** @type {string | null | undefined} */ (undefined); cursor !== null && all.length < MOST; ) {
      const page = /** @type {any} */ (await get(name, /** @type {any} */ ({ ...filters, cursor })));
      all.push(...page.results.map((/** @type {any} */ each) => several(each)));
      cursor = cursorOf(page.next);
    }
    return all;
  };
  const isOffered = isAsked && found.key === key && found.count > 0 && found.count <= MOST;
  return { matching: isOffered ? matching : null, total: number(found.count) };
}

/**
 * These with what the service knows of their conversations now, each contact once.
 * @param {Several[]} some
 */
async function withConversations(some) {
  const byContact = eachContact(some.map((each) => ({ ...each, isEmpty: true })));
  for (const { records } of partsOf([...byContact.keys()])) {
    const { results } = await get("conversations", { contacts: records, fields: ["uuid", "unread_count", "snoozed_until"], page_size: PART });
    for (const { uuid, unread_count: unread, snoozed_until: until } of results) Object.assign(byContact.get(uuid) ?? {}, { unread, until, isEmpty: false });
  }
  return [...byContact.values()];
}

/** The same with the last message that came from each contact. @param {Several[]} some */
async function withMessages(some) {
  const byContact = eachContact(some);
  for (const { records } of partsOf([...byContact.keys()])) {
    const left = new Set(records);
    // Who wrote the most may fill a page alone, and is not asked for again.
    for (let hasMore = true; hasMore && left.size > 0; ) {
      const page = await get("messages", { contacts: [...left], folder: "incoming", fields: ["id", "contact", "labels"], page_size: 250 });
      for (const { id, contact, labels } of page.results) {
        const uuid = contact?.uuid ?? "";
        if (left.delete(uuid)) Object.assign(byContact.get(uuid) ?? {}, { message: { id, labels: labels.map(({ name }) => name ?? "") } });
      }
      hasMore = page.next !== null;
    }
  }
  return [...byContact.values()];
}

/** @param {Several[]} some */
const eachContact = (some) => new Map(some.map((each) => [each.contact, { ...each }]));

/** @type {(each: Several) => boolean} */
const hasTicket = ({ ticket }) => !!ticket;

/** @param {string | null} assignee @returns {Deed} */
const assigning = (assignee) => ({
  title: t("tickets.assignee"),
  icon: "person",
  done: t("bulk.assigned"),
  fits: hasTicket,
  work: (some, key) => assignAll(some, assignee, key),
  undo: async (some) => {
    for (const [former, theirs] of groupsOf(some, (each) => each.assignee ?? "")) await assignAll(theirs, former || null);
  },
});

/** @param {string} label a new or known one @returns {Deed} */
const labelling = (label) => ({
  title: t("act.label"),
  icon: "label",
  done: t("label.saved"),
  learn: withMessages,
  fits: ({ message }) => !!message,
  work: (some, key) => post("message_actions", { messages: some.map(({ message }) => message?.id ?? 0), action: "label", label_name: label }, undefined, key),
  undo: async (some) => {
    const fresh = some.filter(({ message }) => message && !message.labels.some((name) => name.toLowerCase() === label.toLowerCase()));
    if (fresh.length > 0) await post("message_actions", { messages: fresh.map(({ message }) => message?.id ?? 0), action: "unlabel", label });
  },
});

/**
 * @param {{selection: Selection, picked: Several[], filters: any, several: (record: any) => Several, hasMore: boolean, isTickets?: boolean, isClosed?: boolean, isArchived?: boolean}} props
 *   `filters` are those of the list, `several` what matters here of its records; it `hasMore` than are loaded
 */
export default function Bulk({ selection, picked, filters, several, hasMore, isTickets = false, isClosed = false, isArchived = false }) {
  const { matching, total } = useMatching(isTickets ? "tickets" : "conversations", filters, several, selection.isAll && hasMore);
  const [isEvery, setEvery] = useState(false);
  const [labels, setLabels] = useState(false);
  const [snoozes, setSnoozes] = useState(false);
  const users = useAll(may("act_on_tickets") ? "users" : null).filter(({ role }) => role !== "viewer" && role !== "surveyor");
  const every = isEvery && selection.isAll && matching;
  const isAtWork = useRef(false);

  /** A second click meanwhile does nothing: the Undo of its notice would take nothing back. @param {Deed} deed */
  const run = (deed) => async () => {
    if (isAtWork.current) return;
    isAtWork.current = true;
    await begin(deed).finally(() => (isAtWork.current = false));
  };
  const begin = async (/** @type {Deed} */ deed) => {
    const chosen = every ? await every() : picked;
    const learn = deed.learn ?? (isTickets && deed.isOfConversations ? withConversations : undefined);
    const records = learn ? await learn(chosen) : chosen;
    const fitting = records.filter((each) => (deed.fits ?? (() => true))(each) && !(deed.isOfConversations && each.isEmpty));
    if (fitting.length === 0) return notify(t("bulk.none"), true);
    /** The tickets that somebody had turned or assigned so before. @type {Set<string>} */
    const same = new Set();
    const work = async (/** @type {Several[]} */ some, /** @type {string} */ key) => {
      const told = /** @type {{failures?: string[]} | undefined} */ (await deed.work(some, key));
      for (const ticket of told?.failures ?? []) same.add(ticket);
    };
    const undo = async (/** @type {string} */ key) => {
      const changed = fitting.filter(({ ticket }) => !same.has(ticket));
      let stayed = 0;
      for (const [at, part] of partsOf(changed).entries()) {
        const told = /** @type {{failures?: string[]} | undefined} */ (await deed.undo(part.records, keyOf(key, at)));
        stayed += told?.failures?.length ?? 0;
      }
      return stayed ? `${t(stayed < changed.length ? "act.undone" : "act.not_undone")} ${t("bulk.left", { count: number(stayed) })}` : undefined;
    };
    const said = () => {
      const left = records.length - fitting.length + same.size;
      return left ? `${deed.done} ${t("bulk.left", { count: number(left) })}` : deed.done;
    };
    await doWithMany(deed.title, fitting, work, (rest) => (selection.set(rest.map(({ uuid }) => uuid)), setEvery(false)), { said, undo });
  };
  const ask = (/** @type {Deed} */ deed) => () =>
    every
      ? confirmFirst({ title: deed.title, text: t("bulk.all_text", { count: total }), submit: deed.title, onYes: run(deed) })
      : void attempt(run(deed));

  /** @type {(Deed | false)[]} */
  const deeds = [
    may("act_on_tickets") && !isClosed && { title: t("tickets.close"), icon: "check", done: t("bulk.closed"), fits: hasTicket, work: turnTickets("close"), undo: turnTickets("reopen") },
    may("act_on_tickets") && isClosed && { title: t("tickets.reopen"), icon: "ticket", done: t("bulk.reopened"), work: turnTickets("reopen"), undo: turnTickets("close") },
    may("act_on_contacts") && !isArchived && { title: t("act.archive"), icon: "archive", done: t("inbox.archived"), isOfConversations: true, ...moving("archive_messages") },
    may("act_on_contacts") && isArchived && { title: t("inbox.move_back"), icon: "inbox", done: t("inbox.moved_back"), isOfConversations: true, ...moving("restore_messages") },
  ];
  /** @type {Deed} */
  const read = { title: t("bulk.read"), icon: "check", done: t("bulk.are_read"), isOfConversations: true, work: mark(false), undo: unreadAgain };
  /** @type {Deed} */
  const unread = { title: t("inbox.mark_unread"), icon: "inbox", done: t("bulk.are_unread"), isOfConversations: true, work: mark(true), undo: async (some) => {
    const marked = await withConversations(some.filter((each) => each.unread === 0));
    // Whoever wrote meanwhile waits.
    await mark(false)(marked.filter((each) => each.unread === 1));
  } };
  const me = account.value?.user.email;
  const people = [...users.filter(({ email }) => email === me), ...users.filter(({ email }) => email !== me)];
  const assign = may("act_on_tickets") && !isClosed && [
    ...people.map(({ email, name }) => ({ id: email, text: name || email, onPick: ask(assigning(email)) })),
    { id: "nobody", text: t("tickets.nobody"), onPick: ask(assigning(null)) },
  ];
  /** @type {Deed} */
  const wake = { title: t("snooze.end"), icon: "clock", done: t("snooze.ended"), isOfConversations: true, fits: isAway, work: snooze("unsnooze"), undo: async (some) => {
    for (const [until, theirs] of groupsOf(some, (each) => each.until ?? "")) await snooze("snooze", until)(theirs);
  } };
  const more = may("act_on_conversations") && [read, unread, ...(picked.some(isAway) ? [wake] : [])].map((deed) => ({ text: deed.title, icon: deed.icon, onPick: ask(deed) }));
  const count = every ? total : number(picked.length);
  const chosenText = t("contacts.chosen", { count });
  return html`
    <div class="bulk-line" role="toolbar" aria-label=${t("bulk.title")}>
      <input type="checkbox" aria-label=${t("contacts.choose_all")} title=${t("contacts.choose_all")} checked=${selection.isAll} onChange=${() => (setEvery(false), selection.all())} />
      <strong role="status" title=${chosenText}><span class="hidden">${chosenText}</span><span aria-hidden="true">${count}</span></strong>
      <span class="grows"></span>
      ${assign && html`<${Menu} label=${t("tickets.assignee")} icon="person" items=${assign} />`}
      ${deeds.map((deed) => deed && html`<button key=${deed.icon} type="button" class="quiet icon-only" aria-label=${deed.title} title=${deed.title} onClick=${ask(deed)}><${Icon} name=${deed.icon} /></button>`)}
      ${may("act_on_messages") && html`<button type="button" class="quiet icon-only" aria-label=${t("act.label")} title=${t("act.label")} onClick=${() => setLabels(true)}><${Icon} name="label" /></button>`}
      ${may("act_on_conversations") && html`<button type="button" class="quiet icon-only" aria-label=${t("snooze.title")} title=${t("snooze.title")} onClick=${() => setSnoozes(true)}><${Icon} name="clock" /></button>`}
      ${more && html`<${Menu} label=${t("act.more_actions")} items=${more} />`}
      <button type="button" class="quiet icon-only" aria-label=${t("bulk.clear")} title=${t("bulk.clear")} onClick=${() => selection.set([])}><${Icon} name="close" /></button>
      ${selection.isAll && matching && html`<button type="button" class="quiet every" aria-pressed=${!!every} onClick=${() => setEvery(!isEvery)}>${t("contacts.choose_everyone", { count: total })}</button>`}
    </div>
    ${snoozes && html`<${SnoozeForm} onClose=${() => setSnoozes(false)} onChosen=${(/** @type {string} */ until) => run(snoozing(until))()} />`}
    ${labels && html`<${LabelMany} count=${every ? total : ""} onClose=${() => setLabels(false)} onChosen=${(/** @type {string} */ label) => run(labelling(label))()} />`}
  `;
}

/** @param {{count: string, onClose: () => void, onChosen: (label: string) => Promise<unknown>}} props with a `count`, of all that match */
function LabelMany({ count, onClose, onChosen }) {
  const labels = useAll("labels");
  return html`
    <${FormDialog} title=${t("act.label")} submit=${t("act.save")} onSubmit=${(/** @type {FormData} */ data) => onChosen(String(data.get("label")).trim())} onClose=${onClose}>
      ${count && html`<p class="help">${t("bulk.all_text", { count })}</p>`}
      <${Field} label=${t("act.label")} id="label-many">
        <input id="label-many" name="label" list="labels-known" maxlength="64" required autocomplete="off" />
        <datalist id="labels-known">${labels.map(({ uuid, name }) => html`<option key=${uuid} value=${name} />`)}</datalist>
      <//>
    <//>
  `;
}
