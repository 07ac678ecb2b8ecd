/** Steps that are put in together: patterns, and the blocks of the workspace, which are flows with a label; and how chosen steps
 *  become a flow, as a block or as one that the flow enters. */

import { FormDialog } from "../../parts/dialog.js";
import { Field } from "../../parts/small.js";
import { get, newKey, post, Refused } from "../../shared/api.js";
import { t, word } from "../../shared/texts.js";
import { html, useRef } from "../../shared/ui.js";
import { copied, pasted } from "./clipboard.js";
import { newUuid } from "./model.js";
import { clipOf, PATTERNS } from "./patterns.js";
import { readNewest } from "./saving.js";
import { cutOut, NotCut } from "./subflow.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {"block" | "subflow"} Deed
 */

/** The label of the flows that are blocks, the same in every language. */
const LABEL = "Blocks";
const PATTERN = "pattern:";
const TEXTS = /** @type {const} */ ({ block: ["flow_editor.block_of_steps", "flow_editor.block_text"], subflow: ["flow_editor.subflow_of_steps", "flow_editor.subflow_text"] });

/** @param {import("./model.js").Asset} flow */
const isBlock = ({ labels }) => (labels ?? []).some((/** @type {{name: string}} */ { name }) => name === LABEL);

/**
 * Makes a flow of a definition. What it would take the place of is refused, and so is what is not finished.
 * @param {Definition} definition @param {string} key so that it is made once, however often it is sent @returns {Promise<{uuid: string, name: string}>}
 */
async function makeFlow(definition, key) {
  const document = /** @type {any} */ ({ version: "13", site: location.origin, flows: [definition], campaigns: [], triggers: [], fields: [], groups: [] });
  const { refusal, flows: [would] } = await post("definitions", { document, dry_run: true });
  if (refusal) throw new Refused(409, refusal, {});
  if (would.change !== "created" && would.uuid !== definition.uuid) throw new Refused(409, t("flow_cut.name_taken", { name: would.name }), {});
  const { flows: [made] } = await post("definitions", { document, dry_run: false }, undefined, key);
  return { uuid: made.uuid, name: made.name };
}

/**
 * Chooses what is put in. @param {{definition: Definition, workspace: import("./model.js").Workspace, onInsert: (text: string) => void, onClose: () => void}} props
 */
export function BlockDialog({ definition, workspace, onInsert, onClose }) {
  const blocks = workspace.flows.filter((flow) => isBlock(flow) && !flow.archived && flow.uuid !== definition.uuid);
  const insert = async (/** @type {FormData} */ data) => {
    const chosen = String(data.get("block"));
    const pattern = PATTERNS.find(({ name }) => PATTERN + name === chosen);
    if (pattern) return onInsert(JSON.stringify(clipOf(pattern, definition)));
    const { base } = await readNewest(chosen, true);
    onInsert(JSON.stringify(copied(base.definition, base.definition.nodes.map(({ uuid }) => uuid))));
  };
  return html`<${FormDialog} title=${t("flow_editor.insert_block")} submit=${t("flow_editor.insert")} onSubmit=${insert} onClose=${onClose}>
    <${Field} id="block" label=${t("flow_editor.block")} help=${t("flow_editor.block_help")}>
      <select id="block" name="block" aria-describedby="block-help">
        <optgroup label=${t("flow_editor.patterns")}>${PATTERNS.map(({ name }) => html`<option key=${name} value=${PATTERN + name}>${word("flow_block", name)}</option>`)}</optgroup>
        ${blocks.length > 0 && html`<optgroup label=${t("flow_editor.own_blocks")}>${blocks.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid}>${name}</option>`)}</optgroup>`}
      </select><//>
  <//>`;
}

/** A flow of copies of these nodes. @param {Definition} definition @param {string[]} nodes @param {string} name @returns {Definition} */
function flowOf(definition, nodes, name) {
  const { nodes: _, localization: __, _ui: ___, ...said } = definition;
  return pasted({ ...said, uuid: newUuid(), name, localization: {}, nodes: [] }, copied(definition, nodes), { left: 20, top: 20 }).definition;
}

/** A cut, or in a sentence why there is none. @param {Definition} definition @param {string[]} nodes @param {string} name */
function cut(definition, nodes, name) {
  try {
    return cutOut(definition, nodes, { name, outcome: t("flow_cut.outcome") });
  } catch (error) {
    if (error instanceof NotCut) throw new Refused(409, t(error.reason, error.values), {});
    throw error;
  }
}

/**
 * Names the flow that chosen steps become.
 * @param {{deed: Deed, definition: Definition, nodes: string[], onCut: (definition: Definition, node: string, flow: {uuid: string, name: string}) => void, onBlock: (block: {uuid: string, name: string}) => void, onClose: () => void}} props
 */
export function CutDialog({ deed, definition, nodes, onCut, onBlock, onClose }) {
  const tried = useRef({ name: "", key: "", cut: /** @type {import("./subflow.js").Cut | null} */ (null) });
  const done = async (/** @type {FormData} */ data) => {
    const name = String(data.get("name")).trim();
    // The same flow, however often it is tried.
    if (tried.current.name !== name) tried.current = { name, key: newKey(), cut: deed === "subflow" ? cut(definition, nodes, name) : { subflow: flowOf(definition, nodes, name), leave: () => ({ definition, node: "" }) } };
    const { key, cut: made } = tried.current;
    if (!made) return;
    const flow = await makeFlow(made.subflow, key);
    if (deed === "subflow") {
      const { definition: left, node } = made.leave(flow);
      return onCut(left, node, flow);
    }
    await post("flow_actions", { flows: [flow.uuid], action: "label", label: LABEL });
    onBlock((await get("flows", { uuid: flow.uuid })).results[0]);
  };
  const [title, text] = TEXTS[deed];
  return html`<${FormDialog} title=${t(title)} submit=${t("act.save")} onSubmit=${done} onClose=${onClose}>
    <p>${t(text)}</p>
    <${Field} id="cut-name" label=${t("contact.name")}><input id="cut-name" name="name" required maxlength="64" dir="auto" autocomplete="off" /><//>
  <//>`;
}
