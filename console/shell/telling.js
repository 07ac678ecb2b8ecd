/** Tells people of messages that wait for them, by a notification of their computer and a sound, as they chose. Of several tabs
 *  one does. */

import { choices } from "../shared/choices.js";
import { assigneesOf, onArrival } from "../shared/counts.js";
import { onChange } from "../shared/live.js";
import { displayName } from "../shared/names.js";
import { go, place } from "../shared/router.js";
import { account } from "../shared/session.js";
import { t } from "../shared/texts.js";

const TONES = [660, 880];
const TONE_SECONDS = 0.12;
const LOUDNESS = 0.08;
const REMEMBERED = 100;

/** The messages of which somebody was told. @type {string[]} */
let told = [];

/** Whether this person wants to know of messages of a contact. @param {string} contact */
function concerns(contact) {
  const assignees = assigneesOf(contact);
  const isMine = assignees.includes(account.value?.user.email ?? "");
  const isNobodys = assignees.every((assignee) => !assignee);
  return { none: false, mine: isMine, unassigned: isMine || isNobodys, all: true }[choices.value.told];
}

/** @param {string} contact */
const isLookedAt = (contact) => document.hasFocus() && !document.hidden && place.value.page === "inbox" && place.value.parts[0] === contact;

/** Tells of arrivals from now on; the first tab of a browser does, and another one once it is closed. */
export function startTelling() {
  const lead = () => {
    onArrival(tellOf);
    onChange((change) => change.kind === "participant" && tellOfMention(change.record));
    return new Promise(() => {});
  };
  // Without a secure context there are no locks, and no notifications either.
  if (navigator.locks) void navigator.locks.request("relayboard.telling", lead).catch(() => {});
}

/** @param {import("../shared/counts.js").Message} message */
function tellOf({ uuid, contact, urn, text }) {
  if (!contact || told.includes(uuid) || !concerns(contact.uuid) || isLookedAt(contact.uuid)) return;
  tellOnce(uuid, contact.uuid, displayName(contact.name, urn), text || t("inbox.file"));
}

/** @param {import("../shared/contract.js").Records["participant"]} participant */
function tellOfMention({ user, contact, mentioned_on: on }) {
  if (!contact) return;
  const key = `${contact.uuid} ${on}`;
  if (!on || user.email !== account.value?.user.email || choices.value.told === "none" || told.includes(key) || isLookedAt(contact.uuid)) return;
  tellOnce(key, contact.uuid, displayName(contact.name, null), t("mention.told"));
}

/** @param {string} key by which is known of what was told @param {string} contact @param {string} title @param {string} body */
function tellOnce(key, contact, title, body) {
  told = [...told.slice(-REMEMBERED), key];
  if (choices.value.sound) sound();
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  // One for each conversation: what comes next takes its place.
  const shown = new Notification(title, { body, tag: contact });
  shown.onclick = () => {
    window.focus();
    go(["inbox", contact]);
    shown.close();
  };
}

/** Two short tones. */
export function sound() {
  const audio = new AudioContext();
  const volume = new GainNode(audio, { gain: LOUDNESS });
  volume.connect(audio.destination);
  TONES.forEach((frequency, at) => {
    const tone = new OscillatorNode(audio, { frequency });
    tone.connect(volume);
    tone.start(audio.currentTime + at * TONE_SECONDS);
    tone.stop(audio.currentTime + (at + 1) * TONE_SECONDS);
    if (at === TONES.length - 1) tone.onended = () => void audio.close();
  });
}
