/** The opened step beside the surface: what is wrong with it, and its form. */

import { Icon } from "../../parts/icons.js";
import { number, t } from "../../shared/texts.js";
import { html } from "../../shared/ui.js";
import { NodeContent } from "../node_content.js";

const NO_COUNTS = { waiting: new Map(), left: new Map(), exits: new Map() };

/**
 * @param {import("./model.js").NodeFormProps & {issues: import("./saving.js").Issue[], isInline: boolean, onOpen: (node: string) => void, onClose: () => void}} props
 *   inline it stands in the list, whose heading it then has
 */
export function StepPanel({ definition, node, issues, isInline, onOpen, onClose }) {
  const content = html`
    ${issues.length > 0 && html`<ul class="step-issues" aria-label=${t("flow_editor.issues")}>${issues.map(({ message, field, language, fatal }, at) => html`<li key=${at} class=${fatal ? "bad" : "warn"}><${Icon} name="failed" size=${14} /> <span dir="auto">${[language, field].filter(Boolean).join(" · ")} ${message}</span></li>`)}</ul>`}
    <${NodeContent} definition=${definition} node=${node} flow="" counts=${NO_COUNTS} onOpen=${onOpen} />`;
  if (isInline) return html`<div class="step-panel" tabindex="-1">${content}</div>`;
  return html`<aside class="card node-panel step-panel" tabindex="0" aria-labelledby="node-title" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !event.defaultPrevented && onClose()}>
    <header><h2 id="node-title">${t("flows.node", { number: number(definition.nodes.indexOf(node) + 1) })}</h2>
      <button type="button" class="quiet icon-only" aria-label=${t("act.close")} onClick=${onClose}><${Icon} name="close" /></button></header>
    ${content}</aside>`;
}
