/** The form of an export: which records, and as what file. */

import { Icon } from "../parts/icons.js";
import { useKeptForm } from "../parts/kept_form.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { useAll, withChosen } from "../shared/lists.js";
import { t, word } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";
import { toMoment } from "../shared/zone_time.js";

const TYPES = ["contacts", "messages", "runs", "tickets"];
const FORMATS = ["xlsx", "csv", "jsonl"];
const FOLDERS = ["inbox", "flows", "archived", "outbox", "sent", "failed"];

/** @param {{query: Record<string, string>, onMade: () => void}} props `query` is what the form begins with */
export function ExportForm({ query, onMade }) {
  const [type, setType] = useState(TYPES.includes(query.type) ? query.type : "contacts");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(newKey());
  const { form, keep, drop } = useKeptForm(`exports.${JSON.stringify(query)}`);
  const groups = withChosen(useAll("groups"), [{ uuid: query.group, name: "…" }]);
  const flows = withChosen(useAll("flows"), [{ uuid: query.flow, name: "…" }]);
  const make = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const data = [...new FormData(/** @type {HTMLFormElement} */ (event.target))].map(([name, value]) => [name, String(value).trim()]);
    const body = Object.fromEntries(data.filter(([, value]) => value).map(([name, value]) => [name, toTime(name, value)]));
    setBusy(true);
    try {
      await post("exports", /** @type {any} */ (body), undefined, key.current);
      setProblem("");
      drop();
      onMade();
    } catch (error) {
      setProblem(explain(error));
    }
    key.current = newKey();
    setBusy(false);
  };
  return html`
    <form class="card export-form" onSubmit=${make} onInputCapture=${keep} ref=${form}>
      <${Field} label=${t("exports.what")} id="type">
        <select id="type" name="type" onChange=${(/** @type {any} */ event) => setType(event.target.value)}>
          ${TYPES.map((each) => html`<option key=${each} value=${each} selected=${each === type}>${word("export_type", each)}</option>`)}
        </select>
      <//>
      ${type === "contacts" && html`
        <${Field} label=${t("contacts.group")} id="group"><select id="group" name="group"><option value="">${t("contacts.everybody")}</option>
          ${groups.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === query.group}>${name}</option>`)}</select><//>
        <${Field} label=${t("export_filter.query")} id="query"><input id="query" name="query" dir="auto" autocapitalize="off" spellcheck="false" defaultValue=${query.query ?? ""} placeholder="age > 18" /><//>`}
      ${type === "messages" && html`<${Field} label=${t("export_filter.folder")} id="folder"><select id="folder" name="folder"><option value="">${t("exports.all_messages")}</option>
        ${FOLDERS.map((each) => html`<option key=${each} value=${each} selected=${each === query.folder}>${word("folder", each)}</option>`)}</select><//>`}
      ${type === "runs" && html`<${Field} label=${t("flow.flow")} id="flow"><select id="flow" name="flow"><option value="">${t("exports.all_flows")}</option>
        ${flows.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === query.flow}>${name}</option>`)}</select><//>`}
      ${type !== "tickets" && html`
        <${Field} label=${t("export_filter.after")} id="after"><input id="after" name="after" type="date" /><//>
        <${Field} label=${t("export_filter.before")} id="before"><input id="before" name="before" type="date" /><//>`}
      <${Field} label=${t("exports.format")} id="format">
        <select id="format" name="format">${FORMATS.map((each) => html`<option key=${each} value=${each}>${word("export_format", each)}</option>`)}</select>
      <//>
      <footer class="form-end"><button type="submit" class="primary" disabled=${busy}><${Icon} name="download" size=${16} /> ${t("exports.make")}</button></footer>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    </form>
  `;
}

/** A day as its first moment, or as its last one, in the time zone of the workspace. @param {string} name @param {string} value */
function toTime(name, value) {
  if (name === "after") return toMoment(`${value}T00:00:00`);
  return name === "before" ? toMoment(`${value}T23:59:59.999`) : value;
}
