/** Exports: a list of the workspace as a file, written by a worker. */

import { Icon } from "../parts/icons.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { useAll, useList } from "../shared/lists.js";
import { useRepeat } from "../shared/repeat.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { fullTime, listTime, number, periodText, shortTime, size, t, word } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { ExportForm } from "./form.js";

/** @typedef {import("../shared/contract.js").Listed<"exports">} Export */

/** @type {Record<string, "good" | "bad">} */
const TONES = { completed: "good", failed: "bad" };
const isGoing = (/** @type {Export} */ { status }) => status === "pending" || status === "running";

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Exports({ place }) {
  const list = useList("exports", {});
  const names = new Map([...useAll("groups"), ...useAll("flows")].map(({ uuid, name }) => [uuid, name]));
  useRepeat(list.items.some(isGoing), list.refresh);
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["contacts"])} aria-label=${t("act.back")}><${Icon} name="back" /></a><h1>${t("exports.title")}</h1></header>
      <${ExportForm} key=${JSON.stringify(place.query)} query=${place.query} onMade=${list.reload} />
      ${isEmpty && html`<${Empty} icon="download" title=${t("exports.empty")} text=${t("exports.empty_text")} />`}
      ${list.items.length > 0 && html`<p class="help">${t("exports.help")}</p>`}
      <ul class="stack">
        ${list.items.map((each) => html`<li key=${each.uuid} class="card job">
          <strong>${word("export_type", each.type)}</strong>
          <${Badge} tone=${TONES[each.status]}>${word("export_status", each.status)}<//>
          <span class="grows">
            ${Object.entries(each.filters).map(([name, value]) => html`<span key=${name} class="tag" dir="auto">${word("export_filter", name)}: ${textOf(name, value, names)}</span>`)}
            ${" "}${each.format.toUpperCase()} · ${t("exports.records", { count: number(each.record_count) })}${each.size !== null && ` · ${size(each.size)}`}
          </span>
          <time datetime=${each.created_on} title=${fullTime(each.created_on)}>${listTime(each.created_on)}</time>
          ${each.download_url && html`<a class="button" href=${each.download_url} download=${`${each.type}-${each.created_on.slice(0, 10)}.${each.format}`}><${Icon} name="download" size=${16} /> ${t("exports.download")}</a>`}
          ${each.error && html`<p class="problem">${each.error}</p>`}
        </li>`)}
      </ul>
      <${ListEnd} list=${list} />
      ${may("list_archives") && html`<${Archives} />`}
    </main>
  `;
}

/** Files into which the service moved what is old; nothing while it has moved nothing. */
function Archives() {
  const list = useList("archives", {});
  if (list.items.length === 0) return null;
  return html`
    <section aria-labelledby="archives-title">
      <h2 id="archives-title">${t("archives.title")}</h2>
      <p class="help">${t("archives.help")}</p>
      <ul class="stack">
        ${list.items.map((each) => {
          const type = `${each.archive_type}s`;
          return html`<li key=${`${type} ${each.period} ${each.start_date}`} class="card job">
            <strong>${word("export_type", type)}</strong>
            <span class="grows">${periodText(each.start_date, each.period)} · ${t("exports.records", { count: number(each.record_count) })} · ${size(each.size)}</span>
            ${each.download_url && html`<a class="button" href=${each.download_url} download=${`${type}-${each.start_date}.jsonl.gz`}><${Icon} name="download" size=${16} /> ${t("exports.download")}</a>`}
          </li>`;
        })}
      </ul>
      <${ListEnd} list=${list} />
    </section>
  `;
}

/** What a filter was, in words. @param {string} name @param {string} value @param {Map<string, string>} names of groups and flows by UUID */
function textOf(name, value, names) {
  if (name === "after" || name === "before") return shortTime(value);
  return name === "folder" ? word("folder", value) : (names.get(value) ?? value);
}
