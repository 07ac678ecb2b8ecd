/** The form of a message to many people: to whom, what, when. What is written is kept until it is sent. */

import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notices.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { explain } from "../shared/explain.js";
import { useAll } from "../shared/lists.js";
import { go, link } from "../shared/router.js";
import { countSegments } from "../shared/segments.js";
import { may, workspace } from "../shared/session.js";
import { languageName, number, t, zone } from "../shared/texts.js";
import { html, useMemo, useRef, useState } from "../shared/ui.js";
import { toLocal, toMoment } from "../shared/zone_time.js";
import { Attachments } from "./attachments.js";
import { DRAFT, NOTHING } from "./draft.js";
import { Preview } from "./preview.js";
import { TemplateFields, isFilled } from "../parts/template_fields.js";
import { Recipients } from "./recipients.js";

/** @typedef {import("./draft.js").Named} Named */
/** @typedef {import("./draft.js").Draft} Draft */

/** The request that creates what is written. @param {Draft} draft @param {string} base */
export function toBody({ texts, groups, contacts, query, files, made }, base) {
  return {
    text: Object.fromEntries(Object.entries(texts).filter(([, written]) => written.trim())),
    base_language: base,
    groups,
    contacts: contacts.map(({ uuid }) => uuid),
    ...(query.trim() ? { query: query.trim() } : {}),
    ...(made.template ? { template: made.template, template_variables: made.variables.map((value) => value.trim()) } : {}),
    ...(files.length ? { attachments: { [base]: files.map(({ uuid }) => uuid) } } : {}),
  };
}

export function BroadcastForm() {
  const languages = workspace.value?.languages?.length ? workspace.value.languages : ["eng"];
  const [draft, setDraft] = useState(() => ({ ...NOTHING, ...loadDraft(DRAFT, NOTHING) }));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(newKey());
  const change = (/** @type {Partial<Draft>} */ part) =>
    setDraft((old) => {
      const changed = { ...old, ...part };
      keepDraft(DRAFT, changed);
      return changed;
    });
  const found = useAll(may("list_templates") ? "templates" : null);
  const templates = useMemo(() => approved(found, languages[0]), [found]);
  const template = templates.find(({ uuid }) => uuid === draft.made.template);
  const isMade = !draft.made.template || (!!template && isFilled(template, draft.made.variables));
  const isReady = isMade && !!draft.texts[languages[0]]?.trim() && (draft.groups.length > 0 || draft.contacts.length > 0 || !!draft.query.trim());
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const written = await post("broadcasts", { ...toBody(draft, languages[0]), scheduled_on: toMoment(draft.when) ?? null }, undefined, key.current);
      keepDraft(DRAFT, null);
      notify(t(draft.when ? "broadcasts.is_scheduled" : "broadcasts.is_sent"));
      go(["broadcasts", written.uuid]);
    } catch (error) {
      setProblem(explain(error));
      setBusy(false);
    }
  };
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["broadcasts"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t("broadcasts.write")}</h1>
      </header>
      <div class="two form-two">
        <form class="card" onSubmit=${send}>
          <${Recipients} draft=${draft} onChange=${change} />
          ${languages.map((language, at) => html`<${Text} key=${language} language=${language} isFirst=${at === 0} text=${draft.texts[language] ?? ""}
            onWrite=${(/** @type {string} */ text) => change({ texts: { ...draft.texts, [language]: text } })} />`)}
          ${templates.length > 0 && html`<${TemplateFields} id="template" label=${t("resource.templates")} help=${t("broadcasts.template_help")} none=${t("gateway.not_chosen")}
            templates=${templates} chosen=${draft.made} onChange=${(/** @type {Draft["made"]} */ made) => change({ made })} />`}
          <${Attachments} files=${draft.files} onChange=${(/** @type {Named[]} */ files) => change({ files })} />
          <${Field} label=${t("broadcasts.when")} id="when" help=${t("broadcasts.when_help", { zone: zone.value })}>
            <input id="when" type="datetime-local" value=${draft.when} min=${toLocal(Date.now())} aria-describedby="when-help"
              onInput=${(/** @type {any} */ event) => change({ when: event.target.value })} />
          <//>
          ${problem && html`<p class="problem" role="alert">${problem}</p>`}
          <footer class="form-end"><button type="submit" class="primary" disabled=${busy || !isReady}>${t(draft.when ? "broadcasts.schedule" : "act.send")} <${Icon} name="send" size=${16} /></button></footer>
        </form>
        <${Preview} body=${isReady ? toBody(draft, languages[0]) : null} />
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
