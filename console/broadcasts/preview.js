/** What a message to many people would do: whom it reaches, what it costs, and how one contact will see it. */

import { ContactPicker } from "../parts/contact_picker.js";
import { Icon } from "../parts/icons.js";
import { post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { number, shortTime, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Written<"broadcast_previews">} Previewed */

const PAUSE_MS = 500;

/** @param {{body: ReturnType<typeof import("./draft.js").toBody> | null}} props null until there is something to send to somebody */
export function Preview({ body }) {
  const [contact, setContact] = useState(/** @type {import("../parts/contact_picker.js").Contact | null} */ (null));
  const [seen, setSeen] = useState(/** @type {Previewed | null} */ (null));
  const [problem, setProblem] = useState("");
  const asked = body && JSON.stringify({ ...body, ...(contact ? { contact: contact.uuid } : {}) });
  useEffect(() => {
    if (!asked) return setSeen(null);
    let isPresent = true;
    const later = setTimeout(async () => {
      try {
        const found = await post("broadcast_previews", JSON.parse(asked));
        if (isPresent) (setSeen(found), setProblem(""));
      } catch (error) {
        if (isPresent) setProblem(explain(error));
      }
    }, PAUSE_MS);
    return () => {
      isPresent = false;
      clearTimeout(later);
    };
  }, [asked]);
  const message = contact && seen?.message;
  return html`
    <section class="card preview-card" aria-labelledby="preview-title">
      <h2 id="preview-title">${t("broadcasts.preview")}</h2>
      <p role="status" class="estimate">
        ${seen ? t(seen.is_exact ? "broadcasts.reaches" : "broadcasts.reaches_more", { contacts: number(seen.recipients), segments: number(seen.total_segments) }) : t("broadcasts.preview_help")}
      </p>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      ${seen && seen.next_times.length > 0 && html`<${NextTimes} times=${seen.next_times} />`}
      <${ContactPicker} id="preview-contact" label=${t("broadcasts.seen_by")} chosen=${contact} onPick=${setContact} />
      ${message && html`
        <div class="bubble out preview-bubble" dir="auto">
          ${message.attachments.length > 0 && html`<p class="under"><${Icon} name="attach" size=${16} /> ${t("broadcasts.files", { count: number(message.attachments.length) })}</p>`}
          <p class="text">${message.text}</p>
        </div>
        ${message.failed_reason && html`<p class="problem" role="alert">${t("broadcasts.would_fail", { reason: word("failed", message.failed_reason) })}</p>`}
        <p class="help">${message.template ? t("broadcasts.as_template", { name: message.template.name }) : t("reply.count", { characters: number(message.characters), segments: number(message.segments) })}</p>`}
    </section>
  `;
}

/** When it goes next. @param {{times: string[]}} props */
export const NextTimes = ({ times }) => html`
  <h3 id="next-times">${t("broadcasts.next_times")}</h3>
  <ol class="next-times" aria-labelledby="next-times">${times.map((time) => html`<li key=${time}><time datetime=${time}>${shortTime(time)}</time></li>`)}</ol>
`;
