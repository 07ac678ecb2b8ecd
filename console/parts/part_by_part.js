/** Shows how far an action on many contacts is, and what was not done. It stays when somebody goes to another page. */

import { explain } from "../shared/explain.js";
import { displayName } from "../shared/names.js";
import { PART, partsOf, recordsOf, workOn } from "../shared/parts.js";
import { link } from "../shared/router.js";
import { number, t } from "../shared/texts.js";
import { html, signal } from "../shared/ui.js";
import { Dialog } from "./dialog.js";
import { notify } from "./notices.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"contacts">} Contact
 * @typedef {{said: string | (() => string), undo: import("./notices.js").Undo}} Ended what a notice says, and what takes it back
 * @typedef {{title: string, parts: import("../shared/parts.js").Part<any>[], isRunning: boolean, isStopped: boolean,
 *   work: (contacts: any[], key: string) => Promise<unknown>, onEnd: (left: any[]) => void, ended?: Ended}} Job each has name and addresses
 *   once it is stopped, no other part begins
 */

/** Drawn anew for each step. @type {import("../shared/ui.js").Signal<{job: Job} | null>} */
const present = signal(null);

/**
 * Does something with contacts. Up to as many as the API takes at once it throws what went wrong; more are done part by
 * part while people see it. Tells whether it is done already.
 * @param {string} title
 * @template {Pick<Contact, "uuid" | "name" | "urns"> & {contact?: string}} T
 * @param {T[]} contacts
 * @param {(contacts: T[], key: string) => Promise<unknown>} work
 * @param {(left: T[]) => void} onEnd told which contacts are left, once nothing more is done
 * @param {Ended} [ended] told at the end, where nothing else tells it
 */
export async function doWithMany(title, contacts, work, onEnd, ended) {
  const parts = partsOf(contacts);
  if (contacts.length > PART) {
    void run({ title, parts, work, onEnd, ended, isRunning: true, isStopped: false });
    return false;
  }
  for (const { records, key } of parts) await work(records, key);
  onEnd([]);
  if (ended) notify(textOf(ended), false, ended.undo);
  return true;
}

/** @param {Ended} ended */
const textOf = ({ said }) => (typeof said === "string" ? said : said());

/** @param {Job} started */
async function run(started) {
  const show = () => (present.value = { job: started });
  await workOn(started.parts, started.work, () => (show(), !started.isStopped));
  started.isRunning = false;
  if (recordsOf(started.parts, false).length > 0) return show();
  notify(started.ended ? textOf(started.ended) : t("parts.all_done", { count: number(recordsOf(started.parts, true).length) }), false, started.ended?.undo);
  end(started);
}

/** @param {Job} ended */
function end(ended) {
  present.value = null;
  ended.onEnd(recordsOf(ended.parts, false));
}

/** Draws the work that goes on at present, or its report. */
export function PartByPart() {
  if (!present.value) return null;
  const shown = present.value.job;
  if (!shown.isRunning) return html`<${Report} key="report" shown=${shown} />`;
  const stop = () => {
    shown.isStopped = true;
    present.value = { job: shown };
  };
  const [done, left] = [true, false].map((areDone) => recordsOf(shown.parts, areDone).length);
  return html`<${Progress} key="progress" title=${shown.title} done=${done} total=${done + left} isStopped=${shown.isStopped} onStop=${stop} />`;
}

/** @param {{title: string, done: number, total: number, isStopped: boolean, onStop: () => void}} props */
const Progress = ({ title, done, total, isStopped, onStop }) => html`
  <${Dialog} title=${title} onClose=${onStop}>
    <p role="status">${t("parts.done", { done: number(done), total: number(total) })}</p>
    <progress max=${total} value=${done} aria-label=${title}></progress>
    <footer><button type="button" aria-disabled=${isStopped} onClick=${onStop}>${t("parts.stop")}</button></footer>
  <//>
`;

/** @param {{shown: Job}} props */
function Report({ shown }) {
  const [done, left] = [recordsOf(shown.parts, true), recordsOf(shown.parts, false)];
  const problems = new Set(shown.parts.flatMap(({ problem, isDone }) => (problem && !isDone ? [explain(problem)] : [])));
  const again = () => void run({ ...shown, isRunning: true, isStopped: false });
  return html`
    <${Dialog} title=${t("parts.report", { done: number(done.length), total: number(done.length + left.length) })} onClose=${() => end(shown)}>
      <p>${shown.title}</p>
      ${[...problems].map((text) => html`<p key=${text} class="problem" role="alert">${text}</p>`)}
      <${Names} title=${t("parts.not_done", { count: number(left.length) })} contacts=${left} isOpen />
      <${Names} title=${t("parts.are_done", { count: number(done.length) })} contacts=${done} />
      <footer>
        <button type="button" onClick=${() => end(shown)}>${t("act.close")}</button>
        <button type="button" class="primary" onClick=${again}>${t("act.retry")}</button>
      </footer>
    <//>
  `;
}

/** @param {{title: string, contacts: (Contact & {contact?: string})[], isOpen?: boolean}} props what is of a contact, such as a ticket, names the contact's UUID */
const Names = ({ title, contacts, isOpen = false }) =>
  contacts.length > 0 && html`
    <details open=${isOpen}>
      <summary>${title}</summary>
      <ul class="names">
        ${contacts.map(({ uuid, contact, name, urns }) => html`<li key=${uuid}><a href=${link(["contacts", contact ?? uuid])} target="_blank"><bdi>${displayName(name, urns[0])}</bdi></a></li>`)}
      </ul>
    </details>
  `;
