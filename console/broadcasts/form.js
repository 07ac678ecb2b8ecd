/** The form of a message to many people: to whom, what, when, how often. What is written is kept until it is stored. */

import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notices.js";
import { Empty, Field, Problem, Waiting } from "../parts/small.js";
import { get, newKey, post } from "../shared/api.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { explain } from "../shared/explain.js";
import { useAll, withChosen } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { countSegments } from "../shared/segments.js";
import { may, workspace } from "../shared/session.js";
import { languageName, number, t, zone } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";
import { toLocal } from "../shared/zone_time.js";
import { Attachments } from "./attachments.js";
import { DRAFT, hasAudience, NOTHING, readBroadcast, toBody } from "./draft.js";
import { Preview } from "./preview.js";
import { afresh, RepeatFields } from "./repeat.js";
import { TemplateFields, isFilled } from "../parts/template_fields.js";
import { Recipients } from "../parts/recipients.js";

/** @typedef {import("./draft.js").Named} Named */
/** @typedef {import("./draft.js").Draft} Draft */
/** @typedef {{broadcast: import("./page.js").Broadcast, draft: Draft}} Known */

/**
 * One that is stored already is read, and then changed.
 * @param {{uuid: string}} props
 */
export function BroadcastChange({ uuid }) {
  const [known, setKnown] = useState(/** @type {Known | null | undefined} */ (undefined));
  const [problem, setProblem] = useState("");
  const load = async () => {
    try {
      const [broadcast] = (await get("broadcasts", { uuid })).results;
      if (!broadcast) return setKnown(null);
      const { query } = await get("broadcast_progress", { uuid });
      setKnown({ broadcast, draft: readBroadcast(broadcast, query) });
      setProblem("");
    } catch (error) {
      setProblem(explain(error));
    }
  };
  useEffect(() => void load(), [uuid]);
  if (known) return html`<${BroadcastForm} known=${known} />`;
  return html`<main id="main" class="page" tabindex="-1"><h1>${t("broadcasts.change")}</h1>
    ${problem ? html`<${Problem} text=${problem} onRetry=${load} />` : known === null ? html`<${Empty} icon="send" title=${t("error.gone")} />` : html`<${Waiting} />`}</main>`;
}

/** @param {{known?: Known}} props what is stored already, if it is changed */
export function BroadcastForm({ known }) {
  const spoken = workspace.value?.languages?.length ? workspace.value.languages : ["eng"];
  const base = known?.broadcast.base_language ?? spoken[0];
  const languages = known ? [...new Set([base, ...spoken, ...Object.keys(known.broadcast.text)])] : spoken;
  const [draft, setDraft] = useState(() => known?.draft ?? { ...NOTHING, ...loadDraft(DRAFT, NOTHING) });
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(newKey());
  const change = (/** @type {Partial<Draft>} */ part) =>
    setDraft((old) => {
      const changed = { ...old, ...part };
      if (!known) keepDraft(DRAFT, changed);
      return changed;
    });
  const found = useAll(may("list_templates") ? "templates" : null);
  const { template: made, variables } = draft.made;
  const stored = known?.broadcast.template;
  const present = stored && { ...stored, content: "…", variable_count: stored.variables.length };
  const templates = withChosen(useMemo(() => approved(found, base), [found]), [present]);
  const template = templates.find(({ uuid }) => uuid === made);
  const isMade = !made || (!!template && isFilled(template, variables));
  const isWritten = isMade && !!draft.texts[base]?.trim();
  const isReady = isWritten && hasAudience(draft);
  const isDraft = known?.broadcast.status === "draft";
  const isScheduled = !!known && !isDraft;
  const store = async (/** @type {boolean} */ asDraft) => {
    setBusy(true);
    try {
      const uuid = known?.broadcast.uuid;
      const body = { ...toBody(draft, base), ...(asDraft || isDraft ? { draft: asDraft } : {}) };
      const written = await post("broadcasts", body, uuid ? { uuid } : undefined, key.current);
      if (!known) keepDraft(DRAFT, null);
      notify(t(asDraft ? "broadcasts.is_saved" : isScheduled ? "broadcasts.is_changed" : draft.when ? "broadcasts.is_scheduled" : "broadcasts.is_sent"));
      go(["broadcasts", written.uuid]);
    } catch (error) {
      key.current = newKey();
      setProblem(explain(error));
      setBusy(false);
    }
  };
  const submit = t(!draft.when ? "act.send" : isScheduled ? "act.save" : "broadcasts.schedule");
  /** Nothing goes to many by one click. */
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { recipients, total_segments, is_exact } = await post("broadcast_previews", previewed);
      if (is_exact && recipients <= 1) return await store(false);
      const counts = { contacts: number(recipients), segments: number(total_segments) };
      const title = t(is_exact ? "broadcasts.ask" : "broadcasts.ask_more", counts);
      confirmFirst({ title, text: t("broadcasts.ask_text", { ...counts, text: draft.texts[base] }), submit, onYes: () => store(false) });
    } catch (error) {
      setProblem(explain(error));
    }
    setBusy(false);
  };
  const previewed = { ...toBody(draft, base), ...(draft.urns.length ? { urns: draft.urns } : {}) };
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(known ? ["broadcasts", known.broadcast.uuid] : ["broadcasts"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t(known ? "broadcasts.change" : "broadcasts.write")}</h1>
      </header>
      <div class="two form-two">
        <form class="card" onSubmit=${send}>
          <${Recipients} draft=${draft} onChange=${change} />
          ${languages.map((language) => html`<${Text} key=${language} language=${language} isFirst=${language === base} text=${draft.texts[language] ?? ""}
            onWrite=${(/** @type {string} */ text) => change({ texts: { ...draft.texts, [language]: text } })} />`)}
          ${templates.length > 0 && html`<${TemplateFields} id="template" label=${t("resource.templates")} help=${t("broadcasts.template_help")} none=${t("gateway.not_chosen")}
            templates=${templates} chosen=${draft.made} onChange=${(/** @type {Draft["made"]} */ made) => change({ made })} />`}
          <${Attachments} files=${draft.files} onChange=${(/** @type {Named[]} */ files) => change({ files })} />
          <${Field} label=${t("broadcasts.when")} id="when" help=${t("broadcasts.when_help", { zone: zone.value })}>
            <input id="when" type="datetime-local" value=${draft.when} min=${toLocal(Date.now())} aria-describedby="when-help"
              onInput=${(/** @type {any} */ event) => change({ when: event.target.value, repeat: afresh(draft.repeat) })} />
          <//>
          ${draft.when && html`<${RepeatFields} repeat=${draft.repeat} when=${draft.when} onChange=${(/** @type {Draft["repeat"]} */ repeat) => change({ repeat })} />`}
          ${problem && html`<p class="problem" role="alert">${problem}</p>`}
          <footer class="form-end">
            ${!known?.broadcast.repeated && html`<button type="button" disabled=${busy || !isWritten} onClick=${() => store(true)}>${t("broadcasts.save_draft")}</button>`}
            <button type="submit" class="primary" disabled=${busy || !isReady}>${submit} <${Icon} name=${isScheduled && draft.when ? "check" : "send"} size=${16} /></button>
          </footer>
        </form>
        <${Preview} body=${isReady ? previewed : null} />
      </div>
    </main>
  `;
}

/** The templates that can be sent, each in the first language if it is approved there. @param {import("../shared/contract.js").Listed<"templates">[]} found @param {string} language */
const approved = (found, language) =>
  found
    .flatMap(({ uuid, name, translations }) => {
      const sendable = translations.filter(({ status }) => status === "approved");
      const shown = sendable.find((each) => each.language === language) ?? sendable[0];
      return shown ? [{ uuid, name, content: shown.content, variable_count: shown.variable_count }] : [];
    })
    .sort((one, other) => one.name.localeCompare(other.name));

/** @param {{language: string, isFirst: boolean, text: string, onWrite: (text: string) => void}} props */
function Text({ language, isFirst, text, onWrite }) {
  const { characters, segments } = countSegments(text);
  const help = text ? t("reply.count", { characters: number(characters), segments: number(segments) }) : t(isFirst ? "broadcasts.expressions" : "broadcasts.translation");
  return html`
    <${Field} id=${`text-${language}`} label=${t("broadcasts.text", { language: languageName(language) })} help=${help}>
      <textarea id=${`text-${language}`} rows="3" dir="auto" maxlength="4096" required=${isFirst} value=${text}
        aria-describedby=${`text-${language}-help`} onInput=${(/** @type {any} */ event) => onWrite(event.target.value)}></textarea>
    <//>
  `;
}
