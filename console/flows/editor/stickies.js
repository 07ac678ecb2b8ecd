/** Notes beside the steps, for whoever draws; contacts never see them. */

import { FormDialog } from "../../parts/dialog.js";
import { Field } from "../../parts/small.js";
import { t, word } from "../../shared/texts.js";
import { html } from "../../shared/ui.js";
import { newUuid, setSticky, stickiesOf } from "./model.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").Sticky} Sticky
 */

/** Those of the format; a note of another one is drawn in the first. */
const COLORS = /** @type {const} */ (["yellow", "blue", "gray", "green", "pink"]);
const SIZE = { width: 182, height: 100 };
const LONGEST = { title: 100, body: 2000 };

/** As much room as a note takes at least. @param {Sticky} sticky @returns {import("./places.js").Box} */
export const boxOfSticky = ({ position: { left, top } }) => ({ x: left, y: top, ...SIZE });

/** @param {Sticky} sticky */
const colorOf = ({ color }) => COLORS.find((each) => each === color) ?? COLORS[0];

/** @param {{stickies: Map<string, Sticky>, gesture: {uuid: string, dx: number, dy: number} | null, onOpen: (uuid: string, event: MouseEvent) => void}} props */
export const Stickies = ({ stickies, gesture, onOpen }) =>
  stickies.size > 0 && html`<ul>${[...stickies].map(([uuid, sticky]) => {
    const { dx, dy } = gesture?.uuid === uuid ? gesture : { dx: 0, dy: 0 };
    return html`<li key=${uuid} class="sticky-note ${colorOf(sticky)}" dir=${document.documentElement.dir || "ltr"} style=${{ left: `${sticky.position.left + dx}px`, top: `${sticky.position.top + dy}px`, width: `${SIZE.width}px`, minHeight: `${SIZE.height}px` }}>
      <button type="button" class="sticky-opener" data-sticky=${uuid} onClick=${(/** @type {MouseEvent} */ event) => onOpen(uuid, event)}><span class="hidden">${t("flow_editor.note")}: </span><strong dir="auto">${sticky.title}</strong> <span dir="auto">${sticky.body}</span></button></li>`;
  })}</ul>`;

/** The notes below the list of steps. @param {{definition: Definition, onOpen: (uuid: string) => void}} props */
export function StickyList({ definition, onOpen }) {
  const stickies = stickiesOf(definition);
  return stickies.size > 0 && html`<section aria-labelledby="notes-title"><h2 id="notes-title">${t("flow_editor.notes")}</h2>
    <ul class="node-list">${[...stickies].map(([uuid, sticky]) => html`<li key=${uuid} class="card"><button type="button" class="link" onClick=${() => onOpen(uuid)}>${sticky.title || t("flow_editor.note")}</button><p dir="auto">${sticky.body}</p></li>`)}</ul></section>`;
}

/**
 * What a note says, and its color. @param {{definition: Definition, uuid: string, place: () => import("./model.js").Position, onChange: import("./model.js").OnChange, onMade: (uuid: string) => void, onClose: () => void}} props
 *   an empty UUID is a new note, which comes to lie at the place
 */
export function StickyDialog({ definition, uuid, place, onChange, onMade, onClose }) {
  const sticky = stickiesOf(definition).get(uuid);
  const done = async (/** @type {FormData} */ data) => {
    const said = { title: String(data.get("title")).trim(), body: String(data.get("body")).trim(), color: String(data.get("color")) };
    if (!sticky) {
      const made = newUuid();
      onChange(setSticky(definition, made, { position: place(), ...said }), "flow_change.note");
      return onMade(made);
    }
    if (said.title !== (sticky.title ?? "") || said.body !== (sticky.body ?? "") || said.color !== colorOf(sticky)) onChange(setSticky(definition, uuid, said), "flow_change.note");
  };
  const remove = () => {
    onClose();
    onChange(setSticky(definition, uuid, null), "flow_change.note_delete");
  };
  return html`<${FormDialog} title=${t(sticky ? "flow_editor.note" : "flow_editor.new_note")} submit=${t("act.save")} onSubmit=${done} onClose=${onClose}>
    <${Field} id="note-title" label=${t("flow_editor.note_title")}><input id="note-title" name="title" maxlength=${LONGEST.title} dir="auto" autocomplete="off" defaultValue=${sticky?.title ?? ""} /><//>
    <${Field} id="note-body" label=${t("flow_editor.note_text")} help=${t("flow_editor.note_help")}><textarea id="note-body" name="body" rows="5" maxlength=${LONGEST.body} dir="auto" aria-describedby="note-body-help" defaultValue=${sticky?.body ?? ""}></textarea><//>
    <${Field} id="note-color" label=${t("flow_editor.note_color")}><select id="note-color" name="color">${COLORS.map((each) => html`<option key=${each} value=${each} selected=${each === (sticky ? colorOf(sticky) : COLORS[0])}>${word("note_color", each)}</option>`)}</select><//>
    ${sticky && html`<p><button type="button" class="link danger" onClick=${remove}>${t("flow_editor.note_delete")}</button></p>`}
  <//>`;
}
