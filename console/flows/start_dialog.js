/** Starts a flow for groups. */

import { FormDialog } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { newKey, post } from "../shared/api.js";
import { useAll } from "../shared/lists.js";
import { number, t } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";

/** @param {{flow: import("./page.js").Flow, onClose: () => void}} props */
export function StartDialog({ flow, onClose }) {
  const groups = useAll("groups").filter(({ status }) => status === "ready");
  const key = useRef(newKey());
  const start = async (/** @type {FormData} */ data) => {
    const body = {
      flow: flow.uuid,
      groups: data.getAll("group").map(String),
      restart_participants: data.has("restart"),
      exclude_active: data.has("exclude"),
    };
    await post("flow_starts", body, undefined, key.current);
    notify(t("flows.is_started"));
  };
  return html`
    <${FormDialog} title=${`${t("act.start")}: ${flow.name}`} submit=${t("act.start")} draft=${`flow.start.${flow.uuid}`} onSubmit=${start} onClose=${onClose}>
      <fieldset class="field">
        <legend>${t("broadcasts.to")}</legend>
        <ul class="choices-list">${groups.map(({ uuid, name, count }) => html`<li key=${uuid}><label><input type="checkbox" name="group" value=${uuid} /> ${name} (${number(count)})</label></li>`)}</ul>
      </fieldset>
      <ul class="choices-list">
        <li><label><input type="checkbox" name="restart" defaultChecked /> ${t("flows.restart")}</label></li>
        <li><label><input type="checkbox" name="exclude" /> ${t("flows.exclude")}</label></li>
      </ul>
    <//>
  `;
}
