/** What stands in the place of the reply while the channel of a contact takes only approved templates. */

import { Icon } from "../parts/icons.js";
import { NO_TEMPLATE, TemplateFields, filled, isFilled, valuesOf } from "../parts/template_fields.js";
import { get, newKey } from "../shared/api.js";
import { useInTurn } from "../shared/changes.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { send } from "./outbox.js";

/** @typedef {import("../shared/contract.js").Found<"contact_routes">} Route */

/** The longest time that a browser's timer takes. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * How a message to a contact goes now; asked again with each message and when what it says ends. Null if it is not known.
 * @param {string} contact @param {number} newest the id of the newest message that is known @returns {Route | null}
 */
export function useRoute(contact, newest) {
  const [route, setRoute] = useState(/** @type {Route | null} */ (null));
  const load = useInTurn(() => get("contact_routes", { contact }).then(setRoute, () => setRoute(null)));
  useEffect(() => void load(), [contact, newest]);
  const until = route?.takes_text_until;
  useEffect(() => {
    if (!until) return;
    const ends = setTimeout(load, Math.min(Math.max(0, Date.parse(until) - Date.now()) + 1000, LONGEST_MS));
    return () => clearTimeout(ends);
  }, [contact, until]);
  return route;
}

/** @param {{contact: string, route: Route, newest: number}} props */
export function TemplateReply({ contact, route, newest }) {
  const [chosen, setChosen] = useState(NO_TEMPLATE);
  const template = route.templates.find(({ uuid }) => uuid === chosen.template);
  const isReady = !!template && isFilled(template, chosen.variables);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!isReady) return;
    const values = valuesOf(template, chosen.variables);
    const text = filled(template, values);
    send(contact, { key: newKey(), text, attachments: [], quick_replies: [], template: { uuid: template.uuid, variables: values }, problem: "", after: newest });
    setChosen(NO_TEMPLATE);
  };
  return html`
    <form class="reply template-reply" onSubmit=${submit}>
      <p class="help" role="status"><${Icon} name="clock" size=${16} /> ${t("reply.window_closed", { channel: route.channel?.name ?? "" })}${route.templates.length === 0 && ` ${t("reply.no_templates")}`}</p>
      ${route.templates.length > 0 && html`
        <${TemplateFields} id="reply-template" label=${t("resource.templates")} none=${t("reply.choose_template")} templates=${route.templates} chosen=${chosen} onChange=${setChosen} />
        <p class="actions"><button type="submit" class="primary" disabled=${!isReady}>${t("act.send")} <${Icon} name="send" size=${16} /></button></p>`}
    </form>
  `;
}
