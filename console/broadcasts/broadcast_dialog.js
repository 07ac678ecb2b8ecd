/** The form of a message to many people. What is written is kept until it is sent. */

import { FormDialog } from "../parts/dialog.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { keepDraft, loadDraft } from "../shared/drafts.js";
import { useAll } from "../shared/lists.js";
import { countSegments } from "../shared/segments.js";
import { workspace } from "../shared/session.js";
import { number, t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/** @param {{onClose: () => void}} props */
export function BroadcastDialog({ onClose }) {
  const groups = useAll("groups").filter(({ status }) => status === "ready");
  const languages = workspace.value?.languages?.length ? workspace.value.languages : ["eng"];
  const [texts, setTexts] = useState(() => loadDraft("broadcast", /** @type {Record<string, string>} */ ({})));
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const key = useRef(newKey());
  const write = (/** @type {string} */ language, /** @type {string} */ text) => {
    const changed = { ...texts, [language]: text };
    setTexts(changed);
    keepDraft("broadcast", changed);
  };
  const members = groups.filter(({ uuid }) => chosen.includes(uuid)).reduce((sum, { count }) => sum + count, 0);
  const send = async () => {
    const text = Object.fromEntries(Object.entries(texts).filter(([, written]) => written.trim()));
    await post("broadcasts", { text, groups: chosen, base_language: languages[0] }, undefined, key.current);
    keepDraft("broadcast", null);
  };
  return html`
    <${FormDialog} title=${t("broadcasts.write")} submit=${t("act.send")} onSubmit=${send} onClose=${onClose} wide>
      <fieldset class="field">
        <legend>${t("broadcasts.to")}</legend>
        <ul class="choices-list two-columns">
          ${groups.map(({ uuid, name, count }) => html`<li key=${uuid}><label><input type="checkbox" checked=${chosen.includes(uuid)}
            onChange=${() => setChosen(chosen.includes(uuid) ? chosen.filter((other) => other !== uuid) : [...chosen, uuid])} /> ${name} (${number(count)})</label></li>`)}
        </ul>
      </fieldset>
      ${languages.map((language, at) => {
        const { characters, segments } = countSegments(texts[language] ?? "");
        return html`
          <${Field} key=${language} id=${`text-${language}`} label=${t("broadcasts.text", { language })}
            help=${texts[language] ? t("reply.count", { characters: number(characters), segments: number(segments) }) : at ? t("broadcasts.translation") : t("broadcasts.expressions")}>
            <textarea id=${`text-${language}`} rows="3" dir="auto" maxlength="4096" required=${at === 0} value=${texts[language] ?? ""}
              aria-describedby=${`text-${language}-help`} onInput=${(/** @type {any} */ event) => write(language, event.target.value)}></textarea>
          <//>
        `;
      })}
      <p role="status">${t("broadcasts.estimate", { contacts: number(members), segments: number(members * countSegments(texts[languages[0]] ?? "").segments) })}</p>
    <//>
  `;
}
