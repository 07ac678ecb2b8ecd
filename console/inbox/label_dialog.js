/** Puts labels on messages and takes them off. */

import { FormDialog } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { useAll } from "../shared/lists.js";
import { t } from "../shared/texts.js";
import { html } from "../shared/ui.js";

/** @param {{messages: import("./thread_data.js").Message[], onClose: () => void, onUndone: () => void}} props */
export default function LabelDialog({ messages, onClose, onUndone }) {
  const labels = useAll("labels");
  const ids = messages.map(({ id }) => id);
  const has = (/** @type {string} */ uuid) => messages.every((message) => message.labels.some((label) => label.uuid === uuid));
  const save = async (/** @type {FormData} */ data) => {
    const wanted = new Set(data.getAll("label"));
    const changed = labels.filter(({ uuid }) => wanted.has(uuid) !== has(uuid)).map(({ uuid }) => ({ label: uuid, isAdded: wanted.has(uuid) }));
    const fresh = String(data.get("new")).trim();
    const changes = [...changed, ...(fresh ? [{ label_name: fresh, isAdded: true }] : [])];
    const act = async (/** @type {boolean} */ isBack) => {
      for (const { isAdded, ...label } of changes) await post("message_actions", { messages: ids, action: isAdded === isBack ? "unlabel" : "label", ...label });
    };
    await act(false);
    if (changes.length) notify(t("label.saved"), false, () => act(true).then(onUndone));
  };
  return html`
    <${FormDialog} title=${t("act.label")} submit=${t("act.save")} draft=${`labels.${ids}`} onSubmit=${save} onClose=${onClose}>
      <ul class="choices-list">
        ${labels.map(({ uuid, name }) => html`<li key=${uuid}><label><input type="checkbox" name="label" value=${uuid} defaultChecked=${has(uuid)} /> ${name}</label></li>`)}
      </ul>
      <${Field} label=${t("label.new")} id="label-new"><input id="label-new" name="new" maxlength="64" autocomplete="off" /><//>
    <//>
  `;
}
