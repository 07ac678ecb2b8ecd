/** Actions on all contacts that match, which a worker does: they are begun here, and how far they are. */

import { attempt } from "../parts/notices.js";
import { Icon } from "../parts/icons.js";
import { Badge } from "../parts/small.js";
import { get, post } from "../shared/api.js";
import { useRepeat } from "../shared/repeat.js";
import { may } from "../shared/session.js";
import { number, t, word } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Listed<"contact_jobs">} Job */

/** Everybody who is listed, whatever their status. */
const WHOEVER = ["active", "blocked", "stopped", "archived"].map((status) => `status = ${status}`).join(" OR ");
const SHOWN = 5;
/** @type {Record<string, "good" | "bad" | "warn">} */
const TONES = { completed: "good", failed: "bad", cancelled: "warn" };
const isGoing = (/** @type {Job} */ { finished_on }) => finished_on === null;

/** How a list of contacts is chosen, in the words of a job. @param {string} group @param {string} search */
export const whoMatch = (group, search) => ({ ...(group && { members_of: group }), ...(search ? { query: search } : !group && { query: WHOEVER }) });

/**
 * Those who match as one query, for messages and flows, which reach active contacts only.
 * @param {{query?: string, members_of?: string}} who @param {import("../shared/contract.js").Listed<"groups">[]} groups
 */
export function oneQuery({ query = "", members_of }, groups) {
  const name = groups.find(({ uuid }) => uuid === members_of)?.name;
  const inGroup = name === undefined ? "" : `group = "${name.replaceAll(/["\\]/g, "\\$&")}"`;
  if (query === WHOEVER) return "status = active";
  return inGroup && query ? `${inGroup} AND (${query})` : inGroup || query;
}

/** The jobs that go on, and those that ended while somebody looked; `begun` is the newest one of this page. @param {{begun: string, onEnd: () => void}} props */
export function Jobs({ begun, onEnd }) {
  const [jobs, setJobs] = useState(/** @type {Job[]} */ ([]));
  const followed = useRef(/** @type {Set<string>} */ (new Set()));
  const ended = useRef(/** @type {Set<string>} */ (new Set()));
  const show = (/** @type {Job[]} */ found) => {
    for (const { uuid } of found.filter(isGoing)) followed.current.add(uuid);
    const shown = found.filter(({ uuid }) => followed.current.has(uuid));
    const fresh = shown.filter((job) => !isGoing(job) && !ended.current.has(job.uuid));
    for (const { uuid } of fresh) ended.current.add(uuid);
    setJobs(shown);
    if (fresh.length > 0) onEnd();
  };
  // What cannot be read now is read again a second later.
  const load = () => get("contact_jobs", { page_size: SHOWN }).then(({ results }) => show(results), () => {});
  const drop = (/** @type {Job} */ { uuid }) => {
    followed.current.delete(uuid);
    setJobs(jobs.filter((job) => job.uuid !== uuid));
  };
  const cancel = (/** @type {Job} */ { uuid }) => attempt(() => post("contact_job_actions", { job: uuid, action: "cancel" }).then(load));
  useEffect(() => {
    if (begun) followed.current.add(begun);
    if (may("list_contact_jobs")) void load();
  }, [begun]);
  useRepeat(jobs.some(isGoing), load);
  return html`${jobs.map((job) => html`<${Course} key=${job.uuid} job=${job} onCancel=${() => cancel(job)} onClose=${() => drop(job)} />`)}`;
}

/** @param {{job: Job, onCancel: () => void, onClose: () => void}} props */
function Course({ job, onCancel, onClose }) {
  const { status, action, total, done, skipped, error } = job;
  const seen = done + skipped.not_active;
  const title = word("contact_job", action);
  return html`
    <section class="card job" aria-label=${title}>
      <strong>${title}</strong>
      <${Badge} tone=${TONES[status]}>${word("contact_job_status", status)}<//>
      <span class="grows" role="status">
        ${total === null ? t("contacts.job_waits") : t("contacts.job_done", { done: number(isGoing(job) ? seen : done), total: number(total) })}
        ${skipped.not_active > 0 && ` · ${t("contacts.job_not_active", { count: number(skipped.not_active) })}`}
      </span>
      ${isGoing(job)
        ? html`<button type="button" onClick=${onCancel}>${t("act.cancel")}</button>`
        : html`<button type="button" class="quiet icon-only" aria-label=${t("act.close")} onClick=${onClose}><${Icon} name="close" /></button>`}
      ${isGoing(job) && html`<progress max=${total || 1} value=${Math.min(seen, total ?? 0)} aria-label=${title}></progress>`}
      ${error && html`<p class="problem">${error}</p>`}
    </section>
  `;
}
