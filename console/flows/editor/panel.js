/** The opened step beside the surface: what is wrong with it, and its form. */

import { Icon } from "../../parts/icons.js";
import { number, t } from "../../shared/texts.js";
import { html } from "../../shared/ui.js";
import { exitNames, NodeCounts } from "../node_content.js";
import { NodeForm } from "./forms/node_form.js";

/**
 * @param {import("./model.js").NodeFormProps & {issues: import("./saving.js").Issue[], figures: import("../node_content.js").Counts | null, isInline: boolean, onOpen: (node: string) => void, onClose: () => void}} props
 *   inline it stands in the list, whose heading it then has
 */
export function StepPanel({ definition, node, workspace, issues, figures, isInline, onChange, onOpen, onClose }) {
  const names = exitNames(node);
  // The others stand in the form, at what they are about.
  const ofNode = issues.filter(({ action_uuid: action, field }) => !action && !field.startsWith("router."));
  const content = html`${figures && html`<${NodeCounts} flow=${String(definition.uuid)} node=${node.uuid} counts=${figures} />`}
    ${ofNode.length > 0 && html`<ul class="step-issues" aria-label=${t("flow_editor.issues")}>${ofNode.map(({ message, field, language, fatal }, at) => html`<li key=${at} class=${fatal ? "bad" : "warn"}><${Icon} name="failed" size=${14} /> <span dir="auto">${[language, field].filter(Boolean).join(" · ")} ${message}</span></li>`)}</ul>`}
    <${NodeForm} definition=${definition} node=${node} workspace=${workspace} issues=${issues} onChange=${onChange} />
    ${!isInline && html`<section class="node-part"><h3>${t("flows.exits")}</h3><ul class="node-exits">${node.exits.map(({ uuid, destination_uuid: to }, at) => html`<li key=${uuid}><bdi>${names[at]}</bdi>
      ${to && html`<button type="button" class="link" onClick=${() => onOpen(to)}><${Icon} name="forward" size=${14} /> ${t("flows.node", { number: number(definition.nodes.findIndex((each) => each.uuid === to) + 1) })}</button>`}</li>`)}</ul></section>`}`;
  if (isInline) return html`<div class="step-panel" tabindex="-1">${content}</div>`;
  return html`<aside class="card node-panel step-panel" tabindex="0" aria-labelledby="node-title" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !event.defaultPrevented && onClose()}>
    <header><h2 id="node-title">${t("flows.node", { number: number(definition.nodes.indexOf(node) + 1) })}</h2>
      <button type="button" class="quiet icon-only" aria-label=${t("act.close")} onClick=${onClose}><${Icon} name="close" /></button></header>
    ${content}</aside>`;
}
