/** A file with flows: what an import would do, with all issues, and then the import. */

import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notices.js";
import { Badge, Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { link } from "../shared/router.js";
import { number, t, word } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Written<"definitions">} Outcome */
/** @typedef {Outcome["issues"][number]} Issue */

/** The most that the API takes. */
const MOST_BYTES = 8 * 1024 * 1024;

/** @type {Record<string, "good" | "warn" | "calm">} */
const TONES = { created: "good", updated: "warn", unchanged: "calm" };

export function ImportPage() {
  const [name, setName] = useState("");
  const [content, setContent] = useState(/** @type {any} */ (null));
  const [outcome, setOutcome] = useState(/** @type {Outcome | null} */ (null));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(newKey());
  const send = async (/** @type {any} */ file, /** @type {boolean} */ isTrial) => {
    setBusy(true);
    try {
      setOutcome(await post("definitions", { document: file, dry_run: isTrial }, undefined, isTrial ? newKey() : key.current));
      setProblem("");
      if (!isTrial) notify(t("flow_import.is_done"));
    } catch (error) {
      setProblem(explain(error));
    }
    setBusy(false);
  };
  const take = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    setOutcome(null);
    setName(file.name);
    key.current = newKey();
    const read = file.size <= MOST_BYTES ? readJson(await file.text()) : null;
    setContent(read);
    if (read) await send(read, true);
    else setProblem(t(file.size > MOST_BYTES ? "flow_import.too_large" : "flow_import.not_read", { name: file.name }));
  };
  const drop = (/** @type {DragEvent} */ event) => (event.preventDefault(), take(event.dataTransfer?.files[0]));
  return html`
    <main id="main" class="page" tabindex="-1" onDragOver=${(/** @type {Event} */ event) => event.preventDefault()} onDrop=${drop}>
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["flows"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t("flow_import.title")}</h1>
      </header>
      <div class="stack"><section class="card drop-place">
        <${Field} label=${t("flow_import.file")} id="flow-file" help=${t("flow_import.help")}>
          <input id="flow-file" type="file" accept=".json,application/json" aria-describedby="flow-file-help" onChange=${(/** @type {any} */ { target }) => take(target.files[0])} /><//>
      </section>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <div role="status">${busy && html`<p class="waiting"><span class="spinner" aria-hidden="true"></span>${t("state.loading")}</p>`}</div>
      ${outcome && html`<${Told} name=${name} outcome=${outcome} />
        ${outcome.dry_run && html`<footer class="form-end"><button type="button" class="primary" disabled=${busy || !!outcome.refusal} onClick=${() => send(content, false)}>${t("flow_import.import")}</button></footer>`}`}
      </div>
    </main>
  `;
}

/** The object in a text, or null. @param {string} text */
function readJson(text) {
  try {
    const read = JSON.parse(text);
    return read !== null && typeof read === "object" && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}

/** What an import did, or would do. @param {{name: string, outcome: Outcome}} props */
export function Told({ name, outcome: { dry_run, refusal, flows, campaigns, triggers, made, skipped, renamed, issues } }) {
  const rows = [
    ...flows.map((each) => ({ icon: "flow", name: each.name, href: dry_run && each.change === "created" ? undefined : link(["flows", each.uuid]), change: each.change, note: "" })),
    ...campaigns.map((each) => ({ icon: "campaign", name: each.name, href: dry_run && each.change === "created" ? undefined : link(["campaigns", each.uuid]), change: each.change, note: "" })),
    ...triggers.map((each) => ({ icon: "play", name: `${each.keywords.join(", ") || word("trigger_type", each.type)} → ${each.flow}`, href: undefined, change: each.change, note: each.problem ?? (each.replaces.length > 0 ? t("flow_import.replaces", { flows: each.replaces.join(", ") }) : "") })),
  ];
  const others = /** @type {const} */ (["fields", "globals", "groups", "labels", "topics"]).filter((kind) => made[kind].length > 0);
  return html`
    <section class="card" aria-labelledby="told-title">
      <h2 id="told-title">${t(dry_run ? "flow_import.would_do" : "flow_import.did", { name })}</h2>
      ${refusal && html`<p class="problem" dir="auto">${refusal}</p>`}
      <ul class="records">${rows.map(({ icon, name, href, change, note }) => html`<li key=${icon + name}>
        <${Icon} name=${icon} size=${18} /> <strong>${href ? html`<a href=${href}><bdi>${name}</bdi></a>` : html`<bdi>${name}</bdi>`}</strong>
        <span class="note" dir="auto">${note}</span> <${Badge} tone=${TONES[change]}>${word("import_change", change)}<//></li>`)}</ul>
      <dl class="facts">
        ${others.map((kind) => html`<div key=${kind}><dt>${word("imported", kind)}</dt><dd>${made[kind].join(", ")}</dd></div>`)}
        ${renamed.map((each) => html`<div key=${each.new_name}><dt>${t("flow_import.renamed")}</dt><dd>${each.name} → ${each.new_name}</dd></div>`)}
        ${skipped.map((each, at) => html`<div key=${at}><dt>${t("flow_import.skipped")}</dt><dd>${each.problem}</dd></div>`)}
      </dl>
    </section>
    ${issues.length > 0 && html`<${Issues} issues=${issues} />`}
  `;
}

/** What is wrong with flows; those for which the file is refused come first. @param {{issues: Issue[]}} props */
const Issues = ({ issues }) => html`
  <section class="card" aria-labelledby="issues-title">
    <h2 id="issues-title">${t("flow_import.issues", { count: number(issues.length) })}</h2>
    <ul class="records">${[...issues].sort((one, other) => Number(other.fatal) - Number(one.fatal)).map((issue, at) => html`<li key=${at}>
      <${Badge} tone=${issue.fatal ? "bad" : "warn"}>${t(issue.fatal ? "flow_import.fatal" : "flow_import.warning")}<//>
      <strong><bdi>${issue.flow_name}</bdi></strong> <span class="note" dir="auto">${issue.message}</span></li>`)}</ul>
  </section>
`;
