/** The steps of a flow one below the other, for small screens and screen readers: the same can be done to them as on the surface. */

import { Icon } from "../../parts/icons.js";
import { Menu } from "../../parts/menu.js";
import { number, t } from "../../shared/texts.js";
import { classes, html, useEffect, useRef } from "../../shared/ui.js";
import { shortLines } from "../drawing.js";
import { exitNames, NodeCounts } from "../node_content.js";

/**
 * @typedef {import("./model.js").FlowNode} FlowNode
 * @typedef {{definition: import("./model.js").Definition, opened: string, found: string[] | null, path: string[], issues: Map<string, number>, figures: import("../node_content.js").Counts | null, form: any,
 *   onOpen: (node: string) => void, onConnect: (node: string, exit: string) => void, itemsFor: (node: FlowNode) => import("../../parts/menu.js").Item[]}} Props
 *   `found` is null without a search; the form is that of the opened node
 */

/** @param {Props} props */
export function StepList({ definition, opened, found, path, issues, figures, form, onOpen, onConnect, itemsFor }) {
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => shown.current?.scrollIntoView({ block: "nearest" }), [opened]);
  const places = new Map(definition.nodes.map(({ uuid }, at) => [uuid, at + 1]));
  return html`<ol class="node-list editor-list">${definition.nodes.map((node, at) => {
    if (found && !found.includes(node.uuid)) return null;
    const names = exitNames(node);
    const title = t("flows.node", { number: number(at + 1) });
    const isOpen = node.uuid === opened;
    const wrong = issues.get(node.uuid) ?? 0;
    return html`<li key=${node.uuid} class=${classes("card", path.includes(node.uuid) && "lit")} ref=${isOpen ? shown : undefined}>
      <header><h3><button type="button" class="link" data-step=${node.uuid} aria-expanded=${isOpen} onClick=${() => onOpen(isOpen ? "" : node.uuid)}>${title}</button></h3>
        ${at === 0 && html`<span class="badge calm">${t("flow_editor.entry")}</span>`}
        ${wrong > 0 && html`<span class="badge bad">${t("flow_editor.issues_here", { count: number(wrong) })}</span>`}
        <span class="grows"></span><${Menu} label=${t("flow_editor.more_of", { step: title })} items=${itemsFor(node)} /></header>
      ${isOpen ? form : html`<ul class="does">${shortLines(node).map((line, place) => html`<li key=${place} dir="auto">${line}</li>`)}</ul>`}
      ${figures && !isOpen && html`<${NodeCounts} flow=${String(definition.uuid)} node=${node.uuid} counts=${figures} />`}
      <ul class="step-exits" aria-label=${t("flows.exits")}>${node.exits.map(({ uuid, destination_uuid: to }, place) => html`<li key=${uuid}><bdi>${names[place]}</bdi>${figures && html`<strong>${number(figures.exits.get(uuid) ?? 0)}</strong>`}
        <button type="button" class="link" onClick=${() => onConnect(node.uuid, uuid)}><${Icon} name="forward" size=${14} /> ${places.has(to ?? "") ? t("flows.node", { number: number(places.get(to ?? "") ?? 0) }) : t("flow_editor.nowhere")}<span class="hidden"> (${names[place]})</span></button></li>`)}</ul>
    </li>`;
  })}</ol>`;
}
