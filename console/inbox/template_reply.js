/** What stands in the place of the reply while the channel of a contact takes only approved templates. */

import { Icon } from "../parts/icons.js";
import { NO_TEMPLATE, TemplateFields, filled, isFilled, valuesOf } from "../parts/template_fields.js";
import { newKey } from "../shared/api.js";
import { t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { send } from "./outbox.js";

/** @typedef {import("./route.js").Route} Route */

/** @param {{contact: string, route: Route, newest: number}} props */
export default function TemplateReply({ contact, route, newest }) {
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
