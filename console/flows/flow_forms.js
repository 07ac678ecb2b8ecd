/** What people do with a whole flow: make, copy, rename, label, archive and export it. */

import { FormDialog } from "../parts/dialog.js";
import { attempt } from "../parts/notices.js";
import { saveFile } from "../parts/save_file.js";
import { Field } from "../parts/small.js";
import { get, newKey, post } from "../shared/api.js";
import { may, workspace } from "../shared/session.js";
import { languageName, t, word } from "../shared/texts.js";
import { html, useRef } from "../shared/ui.js";

/**
 * @typedef {import("./page.js").Flow} Flow
 * @typedef {"new" | "copy" | "change" | "label"} Deed
 * @typedef {import("../shared/contract.js").Sent<"flows">} Sent
 */

const TYPES = /** @type {const} */ (["message", "voice", "survey"]);
const DAY = 1440;

/**
 * The entries of the menu of a flow.
 * @param {{flow: Flow, onAsk: (deed: Deed) => void, onChange: () => void}} about
 */
export function flowItems({ flow, onAsk, onChange }) {
  const act = async (/** @type {"archive" | "restore"} */ action) => {
    const done = t(action === "archive" ? "flows.is_archived" : "flows.is_restored");
    const turn = (/** @type {"archive" | "restore"} */ deed) => post("flow_actions", { flows: [flow.uuid], action: deed }).then(onChange);
    // Its triggers stay archived when it is restored, and contacts are out of it: nothing takes that back.
    await attempt(() => turn(action), done, action === "restore" ? () => turn("archive") : undefined);
  };
  const save = () =>
    attempt(async () => {
      const found = await get("definitions", /** @type {any} */ ({ flow: flow.uuid, dependencies: "all" }));
      saveFile(`${flow.name}.json`, "application/json", JSON.stringify(found, null, 2));
    });
  const mayWrite = may("write_flow");
  return [
    mayWrite && !flow.archived && { text: t("act.edit"), onPick: () => onAsk("change") },
    mayWrite && { text: t("flows.copy"), icon: "double", onPick: () => onAsk("copy") },
    may("act_on_flows") && { text: t("act.label"), icon: "label", onPick: () => onAsk("label") },
    may("read_definitions") && { text: t("flows.export"), icon: "download", onPick: save },
    may("act_on_flows") && (flow.archived ? { text: t("act.restore"), onPick: () => act("restore") } : { text: t("act.archive"), icon: "archive", onPick: () => act("archive") }),
  ];
}

/** @param {{deed: Deed, flow: Flow | null, onDone: (uuid: string) => void, onClose: () => void}} props */
export function FlowDialog({ deed, flow, onDone, onClose }) {
  const key = useRef(newKey());
  if (deed === "label" && flow) return html`<${LabelDialog} flow=${flow} onDone=${onDone} onClose=${onClose} />`;
  const languages = workspace.value?.languages?.length ? workspace.value.languages : ["eng"];
  const save = async (/** @type {FormData} */ data) => {
    const days = Number(data.get("days"));
    /** @type {Sent} */
    const written = {
      name: String(data.get("name")).trim(),
      ...(deed === "copy" ? { copy_of: flow?.uuid } : deed === "new" ? { type: TYPES.find((each) => each === data.get("type")), base_language: String(data.get("language")) } : { expires: Math.round(days * DAY) }),
    };
    const made = await post("flows", written, deed === "change" && flow ? { uuid: flow.uuid } : undefined, key.current);
    onDone(made.uuid);
  };
  const name = deed === "copy" ? t("flows.copy_of", { name: flow?.name ?? "" }).slice(0, 64) : (flow?.name ?? "");
  const title = { new: t("flows.new"), copy: t("flows.copy"), change: t("flows.change") }[/** @type {"new"} */ (deed)];
  return html`
    <${FormDialog} title=${title} submit=${t("act.save")} draft=${`flow.${deed}.${flow?.uuid ?? ""}`} onSubmit=${save} onClose=${onClose}>
      <${Field} label=${t("contact.name")} id="flow-name"><input id="flow-name" name="name" required maxlength="64" dir="auto" defaultValue=${name} /><//>
      ${deed === "new" && html`
        <${Field} label=${t("channels.type")} id="flow-type"><select id="flow-type" name="type">${TYPES.map((each) => html`<option key=${each} value=${each}>${word("flow_type", each)}</option>`)}</select><//>
        <${Field} label=${t("contact.language")} id="flow-language"><select id="flow-language" name="language">${languages.map((each) => html`<option key=${each} value=${each}>${languageName(each)}</option>`)}</select><//>`}
      ${deed === "change" && flow?.type === "message" && html`<${Field} label=${t("flows.expires")} id="flow-days" help=${t("flows.expires_help")}>
        <input id="flow-days" name="days" type="number" required min="0.01" max="14" step="any" defaultValue=${Math.round((flow.expires / DAY) * 100) / 100} aria-describedby="flow-days-help" /><//>`}
    <//>
  `;
}

/** Labels of a flow, by name: those that are written here are all that it has then. @param {{flow: Flow, onDone: (uuid: string) => void, onClose: () => void}} props */
function LabelDialog({ flow, onDone, onClose }) {
  const before = flow.labels.map(({ name }) => name);
  const save = async (/** @type {FormData} */ data) => {
    const wanted = String(data.get("labels")).split(",").map((each) => each.trim()).filter(Boolean);
    const has = (/** @type {string[]} */ names, /** @type {string} */ name) => names.some((other) => other.toLowerCase() === name.toLowerCase());
    for (const label of wanted.filter((each) => !has(before, each))) await post("flow_actions", { flows: [flow.uuid], action: "label", label });
    for (const label of before.filter((each) => !has(wanted, each))) await post("flow_actions", { flows: [flow.uuid], action: "unlabel", label });
    onDone(flow.uuid);
  };
  return html`
    <${FormDialog} title=${`${t("act.label")}: ${flow.name}`} submit=${t("act.save")} draft=${`flow.label.${flow.uuid}`} onSubmit=${save} onClose=${onClose}>
      <${Field} label=${t("flows.labels")} id="flow-labels" help=${t("flows.labels_help")}><input id="flow-labels" name="labels" dir="auto" maxlength="1000" defaultValue=${before.join(", ")} aria-describedby="flow-labels-help" /><//>
    <//>
  `;
}
