/** What an editor asks: which kind of step, where an exit leads, whether to publish, and what to do when somebody else did. */

import { Dialog, FormDialog } from "../../parts/dialog.js";
import { Field } from "../../parts/small.js";
import { explain } from "../../shared/explain.js";
import { get } from "../../shared/api.js";
import { number, shortTime, t, word } from "../../shared/texts.js";
import { html, useEffect, useRef, useState } from "../../shared/ui.js";
import { exitNames, linesOf } from "../node_content.js";
import { compare, Differences } from "../revisions.js";
import { kindsFor } from "./kinds.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").FlowNode} FlowNode
 */

/** A value of the chooser that is no UUID. */
const [NOWHERE, NEW] = ["", "new:"];
const MOST_LETTERS = 60;

/** How a node is called where it is chosen. @param {Definition} definition @param {FlowNode} node */
export const nodeName = (definition, node) => [t("flows.node", { number: number(definition.nodes.indexOf(node) + 1) }), linesOf(node)[0]?.slice(0, MOST_LETTERS)].filter(Boolean).join(" · ");

/**
 * What is offered at a place of the window, such as the kinds of steps.
 * @param {{at: {x: number, y: number}, label: string, items: {text: string, onPick: () => void}[], onClose: () => void}} props
 */
export function PlaceMenu({ at, label, items, onClose }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const before = useRef(document.activeElement);
  useEffect(() => {
    box.current?.querySelector("button")?.focus({ preventScroll: true });
    const leave = (/** @type {Event} */ event) => !box.current?.contains(/** @type {Node} */ (event.target)) && onClose();
    document.addEventListener("pointerdown", leave, true);
    return () => document.removeEventListener("pointerdown", leave, true);
  }, []);
  const press = (/** @type {KeyboardEvent} */ event) => {
    const all = /** @type {HTMLElement[]} */ ([...(box.current?.querySelectorAll("button") ?? [])]);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      onClose();
      /** @type {HTMLElement | null} */ (before.current)?.focus();
    } else if (step) all[(all.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step + all.length) % all.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="menu-list place-menu" role="menu" aria-label=${label} ref=${box} style=${{ left: `min(${at.x}px, 100vw - 240px)`, top: `max(8px, min(${at.y}px, 100vh - 520px))` }} onKeyDown=${press}>
    ${items.map(({ text, onPick }) => html`<button key=${text} type="button" role="menuitem" class="menu-item" onClick=${() => (onClose(), onPick())}>${text}</button>`)}</div>`;
}

/** @param {Definition} definition @param {(kind: import("./kinds.js").Kind) => void} onPick */
export const kindItems = (definition, onPick) => kindsFor(definition).map((kind) => ({ text: word("node_kind", kind.kind), onPick: () => onPick(kind) }));

/**
 * Where an exit leads: to a step that is there, to a new one, or nowhere.
 * @param {{definition: Definition, node: FlowNode, exit?: string, onConnect: (exit: string, to: string | null) => void, onNew: (exit: string, kind: import("./kinds.js").Kind) => void, onClose: () => void}} props
 */
export function ConnectDialog({ definition, node, exit, onConnect, onNew, onClose }) {
  const [chosen, setChosen] = useState(exit ?? node.exits.find(({ destination_uuid: to }) => !to)?.uuid ?? node.exits[0].uuid);
  const names = exitNames(node);
  const target = node.exits.find(({ uuid }) => uuid === chosen)?.destination_uuid ?? NOWHERE;
  const kinds = kindsFor(definition);
  const done = async (/** @type {FormData} */ data) => {
    const to = String(data.get("to"));
    const kind = kinds.find((each) => NEW + each.kind === to);
    if (kind) onNew(chosen, kind);
    else onConnect(chosen, to || null);
  };
  return html`<${FormDialog} title=${t("flow_editor.connect")} submit=${t("flow_editor.connect")} onSubmit=${done} onClose=${onClose}>
    <${Field} id="connect-exit" label=${t("flow_editor.exit")}>
      <select id="connect-exit" name="exit" onChange=${(/** @type {any} */ { target: { value } }) => setChosen(value)}>
        ${node.exits.map(({ uuid }, at) => html`<option key=${uuid} value=${uuid} selected=${uuid === chosen}>${names[at]}</option>`)}</select><//>
    <${Field} id="connect-to" label=${t("flow_editor.leads_to")} help=${t("flow_editor.new_help")}>
      <select id="connect-to" name="to" key=${chosen} aria-describedby="connect-to-help">
        <option value=${NOWHERE}>${t("flow_editor.nowhere")}</option>
        <optgroup label=${t("flow_editor.new_step")}>${kinds.map(({ kind }) => html`<option key=${kind} value=${NEW + kind}>${word("node_kind", kind)}</option>`)}</optgroup>
        <optgroup label=${t("flow_editor.steps")}>${definition.nodes.map((each) => html`<option key=${each.uuid} value=${each.uuid} selected=${each.uuid === target}>${nodeName(definition, each)}</option>`)}</optgroup>
      </select><//>
  <//>`;
}

/**
 * What changed since the revision that runs, and who is in the flow now.
 * @param {{flow: string, before: Definition, now: Definition, isRefused: boolean, onPublish: (data: FormData) => Promise<unknown>, onClose: () => void}} props
 */
export function PublishDialog({ flow, before, now, isRefused, onPublish, onClose }) {
  const [waiting, setWaiting] = useState("");
  const changes = compare(before.nodes, now.nodes);
  useEffect(() => {
    const kept = new Set(now.nodes.map(({ uuid }) => uuid));
    get("flow_figures", { uuid: flow, days: 7 }).then(
      ({ waiting: found }) => {
        const sum = (/** @type {typeof found} */ some) => number(some.reduce((all, { count }) => all + count, 0));
        setWaiting(t("flow_editor.in_it", { count: sum(found), lost: sum(found.filter(({ node }) => !kept.has(node))) }));
      },
      (error) => setWaiting(explain(error)),
    );
  }, []);
  return html`<${FormDialog} title=${t("flow_editor.publish")} submit=${t("flow_editor.publish")} disabled=${isRefused} onSubmit=${onPublish} onClose=${onClose} wide>
    <p>${t("flow_editor.publish_text")}</p>
    <p class="help" role="status">${waiting}</p>
    ${isRefused && html`<p class="problem" role="alert">${t("flow_editor.must_be_right")}</p>`}
    <${Differences} found=${changes} />
    ${now._ui?.tests?.length > 0 && html`<p class="field"><label><input type="checkbox" name="untested" /> ${t("flow_editor.untested")}</label></p>`}
  <//>`;
}

/**
 * Somebody saved another revision meanwhile: nothing is overwritten before people say so.
 * @param {{theirs: import("./saving.js").Newest, before: Definition, onMine: () => void, onTheirs: () => void, onClose: () => void}} props
 */
export function ConflictDialog({ theirs: { base, who, time, isDraft }, before, onMine, onTheirs, onClose }) {
  return html`<${Dialog} title=${t("flow_editor.conflict")} onClose=${onClose} wide>
    <p>${t(isDraft ? "flow_editor.conflict_draft" : "flow_editor.conflict_text", { number: number(base.number), who: who?.name || who?.email || t("flow_editor.somebody"), time: time && shortTime(time) })}</p>
    <${Differences} found=${compare(before.nodes, base.definition.nodes)} />
    <footer><button type="button" onClick=${onTheirs}>${t("flow_editor.take_theirs")}</button>
      <button type="button" class="primary" onClick=${onMine}>${t("flow_editor.keep_mine")}</button></footer>
  <//>`;
}
