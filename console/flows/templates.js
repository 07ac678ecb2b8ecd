/** Flows that people need first, ready to be made: what a template does, what it would make here, and its names and keywords. */

import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notices.js";
import { Field, Problem, Waiting } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { go, link } from "../shared/router.js";
import { t, word } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { Told } from "./import.js";

/**
 * @typedef {import("../shared/contract.js").Written<"definitions">} Outcome
 * @typedef {{uuid: string, name: string}} Named
 * @typedef {{flows: Named[], campaigns: Named[], triggers: {flow: Named, keywords?: string[]}[]}} Template a file in the format of exports
 * @typedef {{flows: string[], campaigns: string[], keywords: string[]}} Chosen names and keywords, in the order of the file
 */

/** The files in `templates/`, those that most people need first. */
const TEMPLATES = /** @type {const} */ ({ registration: "contacts", survey: "chart", reminder: "clock", missed_call: "call", help: "ticket", opt_out: "block" });
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** @param {{name: string | undefined}} props */
export const TemplatesPage = ({ name }) => (name && name in TEMPLATES ? html`<${TemplatePage} key=${name} name=${name} />` : html`<${Gallery} />`);

const Gallery = () => html`
  <main id="main" class="page" tabindex="-1">
    <header class="page-header">
      <a class="button quiet icon-only" href=${link(["flows"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
      <h1>${t("templates.title")}</h1>
    </header>
    <p class="help">${t("templates.help")}</p>
    <ul class="cards templates">${Object.entries(TEMPLATES).map(([name, icon]) => html`<li key=${name} class="card flow-card"><header>
      <span class="empty-icon small"><${Icon} name=${icon} size=${20} /></span>
      <div><h2><a href=${link(["flows", "templates", name])}>${word("flow_template", name)}</a></h2><p>${word("flow_template_help", name)}</p></div>
    </header></li>`)}</ul>
  </main>
`;

/** @param {{name: string}} props */
function TemplatePage({ name }) {
  const [template, setTemplate] = useState(/** @type {Template | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = () => read(name).then((found) => (setTemplate(found), setProblem("")), () => setProblem(t("error.offline")));
  useEffect(() => void load(), [name]);
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["flows", "templates"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${word("flow_template", name)}</h1>
      </header>
      <p class="help">${word("flow_template_help", name)}</p>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!template && !problem && html`<${Waiting} />`}
      ${template && html`<${TemplateForm} template=${template} title=${word("flow_template", name)} />`}
    </main>
  `;
}

/** The file of a template with UUIDs of its own, so that nothing that was made of it before is changed. @param {string} name @returns {Promise<Template>} */
async function read(name) {
  const answer = await fetch(new URL(`./templates/${name}.json`, import.meta.url));
  if (!answer.ok) throw new Error(answer.statusText);
  const fresh = new Map();
  return JSON.parse((await answer.text()).replace(UUID, (uuid) => fresh.get(uuid) ?? (fresh.set(uuid, newUuid()), fresh.get(uuid))));
}

/** `crypto.randomUUID` is only there where the address is encrypted. */
function newUuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return Array.from(bytes, (byte, at) => ([4, 6, 8, 10].includes(at) ? "-" : "") + byte.toString(16).padStart(2, "0")).join("");
}

/** The name that a part of a template has in the language of the person. @param {string} name */
const partName = (name) => word("template_part", name.toLowerCase().replaceAll(" ", "_"), name);

/** @param {{template: Template, title: string}} props */
function TemplateForm({ template, title }) {
  const [outcome, setOutcome] = useState(/** @type {Outcome | null} */ (null));
  const [problems, setProblems] = useState(/** @type {string[]} */ ([]));
  const [busy, setBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const sent = useRef({ text: "", key: "" });
  const checks = useRef(0);
  const withKeywords = template.triggers.filter(({ keywords }) => keywords?.length);
  const several = template.flows.length > 1;
  /** What an import would do with what is in the form, or null if it would not make what the form says. */
  const check = async () => {
    const document = filled(template, chosenIn(new FormData(/** @type {HTMLFormElement} */ (form.current))));
    const turn = ++checks.current;
    const found = await post("definitions", { document, dry_run: true });
    const wrong = problemsOf(found);
    // What was in the form before does not matter any more.
    if (turn === checks.current) {
      setOutcome(found);
      setProblems(wrong);
    }
    return wrong.length === 0 ? document : null;
  };
  const tell = (/** @type {unknown} */ error) => setProblems([explain(error)]);
  const make = async () => {
    setBusy(true);
    try {
      const document = await check();
      if (!document) return;
      const text = JSON.stringify(document);
      if (sent.current.text !== text) sent.current = { text, key: newKey() };
      const made = await post("definitions", { document, dry_run: false }, undefined, sent.current.key);
      notify(t("templates.is_made"));
      go(["flows", made.flows[0].uuid]);
    } catch (error) {
      tell(error);
    } finally {
      setBusy(false);
    }
  };
  // The button stays as it is meanwhile: who leaves a field by pressing it has made up their mind.
  const look = () => void check().catch(tell);
  useEffect(look, []);
  return html`
    <form class="stack" ref=${form} onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), make())} onChange=${look}>
      <section class="card form-grid">
        ${template.flows.map((flow, at) => html`<${Field} key=${flow.uuid} id=${`flow-${at}`} label=${several ? `${t("templates.flow")} ${at + 1}` : t("templates.flow")}>
          <input id=${`flow-${at}`} name="flow" required maxlength="64" dir="auto" defaultValue=${at === 0 ? title : partName(flow.name)} /><//>`)}
        ${template.campaigns.map((campaign, at) => html`<${Field} key=${campaign.uuid} id=${`campaign-${at}`} label=${t("templates.campaign")}>
          <input id=${`campaign-${at}`} name="campaign" required maxlength="64" dir="auto" defaultValue=${partName(campaign.name)} /><//>`)}
        ${withKeywords.map(({ keywords }, at) => html`<${Field} key=${at} id=${`keywords-${at}`} label=${several ? `${t("triggers.keywords")} ${at + 1}` : t("triggers.keywords")} help=${t("triggers.keywords_help")}>
          <input id=${`keywords-${at}`} name="keywords" required dir="auto" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby=${`keywords-${at}-help`} defaultValue=${keywords?.join(" ")} /><//>`)}
      </section>
      ${problems.map((problem) => html`<p key=${problem} class="problem" role="alert" dir="auto">${problem}</p>`)}
      ${outcome && html`<${Told} name=${title} outcome=${outcome} />`}
      <footer class="form-end"><button type="submit" class="primary" disabled=${busy}>${t("templates.make")}</button></footer>
    </form>
  `;
}

/** @param {FormData} data @returns {Chosen} */
function chosenIn(data) {
  const all = (/** @type {string} */ name) => data.getAll(name).map((each) => String(each).trim());
  return { flows: all("flow"), campaigns: all("campaign"), keywords: all("keywords") };
}

/** The template with the names and keywords that were chosen. @param {Template} template @param {Chosen} chosen @returns {any} */
function filled(template, chosen) {
  const names = new Map(template.flows.map(({ uuid }, at) => [uuid, chosen.flows[at]]));
  const keywords = [...chosen.keywords];
  const named = (/** @type {Named} */ flow) => ({ ...flow, name: names.get(flow.uuid) });
  return {
    ...template,
    flows: template.flows.map(named),
    campaigns: template.campaigns.map((campaign, at) => ({ ...campaign, name: chosen.campaigns[at] })),
    triggers: template.triggers.map((trigger) => ({ ...trigger, flow: named(trigger.flow), ...(trigger.keywords && { keywords: (keywords.shift() ?? "").split(/[\s,;]+/).filter(Boolean) }) })),
  };
}

/** Why an import would not make all of it anew: it would change what has the name, or archive the trigger that has the keyword. @param {Outcome} outcome */
function problemsOf({ refusal, flows, campaigns, triggers, skipped }) {
  return [
    ...(refusal ? [refusal] : []),
    ...[...flows, ...campaigns].filter(({ change }) => change !== "created").map(({ name }) => t("templates.name_taken", { name })),
    ...triggers.filter(({ replaces }) => replaces.length > 0).map(({ keywords, type, replaces }) => t("templates.trigger_taken", { trigger: keywords.join(", ") || word("trigger_type", type), flow: replaces.join(", ") })),
    ...skipped.map(({ problem }) => problem),
  ];
}
