/** A flow, changed: its steps on a surface or as a list, the form of one beside it, and the way back from every change. */

import { Icon } from "../../parts/icons.js";
import { Menu } from "../../parts/menu.js";
import { attempt, notify } from "../../parts/notices.js";
import Presence from "../../parts/presence.js";
import { loadAll } from "../../shared/lists.js";
import { go, link } from "../../shared/router.js";
import { may } from "../../shared/session.js";
import { number, t, word } from "../../shared/texts.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../shared/ui.js";
import { sizedNodes } from "../drawing.js";
import { layOut, WIDTH } from "../layout.js";
import { searchText } from "../node_content.js";
import { BlockDialog, CutDialog } from "./blocks.js";
import { Board, placeOn } from "./board.js";
import { commandsFor } from "./commands.js";
import { ConflictDialog, ConnectDialog, kindItems, PlaceMenu, PublishDialog } from "./dialogs.js";
import { useFigures } from "./figures.js";
import { FlowTranslations } from "./forms/translations.js";
import { StepList } from "./list.js";
import { begin, change, findNode, positionOf, redone, selecting, undone } from "./model.js";
import { StepPanel } from "./panel.js";
import { boxesOf, freePlace, neighbour } from "./places.js";
import { useKeeping, useSaving } from "./saving.js";
import { Simulator } from "./simulator.js";
import { StickyDialog, StickyList } from "./stickies.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {{kind: "connect", node: string, exit?: string} | {kind: "publish" | "conflict" | "block"} | {kind: "cut", deed: import("./blocks.js").Deed} | {kind: "sticky", uuid: string} | {kind: "place", at: {x: number, y: number}, label: string, items: {text: string, onPick: () => void}[]} | null} Asked
 */

const VIEWS = /** @type {const} */ (["surface", "list", "translations"]);
/** Where a list is of more use than a surface. */
const NARROW = "(max-width: 700px)";
const LISTS = /** @type {const} */ (["channels", "fields", "flows", "globals", "groups", "labels", "optins", "templates", "topics", "users"]);
/** @type {import("./model.js").Workspace} */
const EMPTY = /** @type {any} */ (Object.fromEntries(LISTS.map((name) => [name, []])));

/** What the workspace has that a flow can refer to. */
function useWorkspace() {
  const [workspace, setWorkspace] = useState(EMPTY);
  useEffect(() => {
    for (const name of LISTS) if (may(/** @type {any} */ (`list_${name}`))) loadAll(name).then((found) => setWorkspace((old) => ({ ...old, [name]: found })), () => {});
  }, []);
  return { workspace, addFlow: (/** @type {import("./model.js").Asset} */ flow) => setWorkspace((old) => ({ ...old, flows: [...old.flows, flow] })) };
}

/** Begins with what this browser kept, which can be undone. @param {import("./page.js").Opened} opened */
const opening = ({ base, kept }) => {
  const state = begin(base.definition);
  return kept ? change(state, "flow_change.kept", kept.definition) : state;
};

/** What this browser kept began with what the service had then. @param {import("./page.js").Opened} opened @returns {import("./saving.js").Base} */
const baseOf = ({ base, kept }) => (kept ? { ...base, number: kept.based_on, draft: kept.draft } : base);

/** @param {import("./page.js").Opened & {query: Record<string, string>}} opened */
export function FlowEditor(opened) {
  const { flow, query } = opened;
  const [state, setState] = useState(() => opening(opened));
  const { definition, selection } = state;
  const [asked, setAsked] = useState(/** @type {Asked} */ (null));
  const [isOpen, setIsOpen] = useState(false);
  const [shown, setShown] = useState("");
  const [sought, setSought] = useState("");
  const [path, setPath] = useState(/** @type {string[]} */ ([]));
  const [isTrying, setIsTrying] = useState(false);
  const [isCounted, setIsCounted] = useState(false);
  const figures = useFigures(flow.uuid, isCounted);
  const { workspace, addFlow } = useWorkspace();
  // As it was opened: a screen that is turned takes nothing from under somebody's hands.
  const [usual] = useState(() => (matchMedia(NARROW).matches ? "list" : "surface"));
  const view = VIEWS.find((each) => each === query.view) ?? usual;
  const isList = view === "list";
  const boxes = useBoxes(definition);
  const { base, theirs, issues, problem, publish, settle } = useSaving(flow.uuid, baseOf(opened), definition);
  const notKept = useKeeping(flow.uuid, base, definition);
  useEffect(() => void (theirs && setAsked({ kind: "conflict" })), [theirs]);
  const counts = useMemo(() => issues.reduce((all, { node_uuid: node }) => all.set(node, (all.get(node) ?? 0) + 1), /** @type {Map<string, number>} */ (new Map())), [issues]);
  const focus = useFocus(definition);
  const isSaved = definition === base.definition;
  const isPublished = isSaved && !base.draft;

  /** @type {import("./commands.js").About["edit"]} */
  const edit = (label, next, { selection: chosen, field, isShown = false } = {}) => {
    setState((old) => (chosen ? selecting(change(old, label, next, field), chosen) : change(old, label, next, field)));
    setShown(isShown && chosen ? chosen[0] : "");
    if (isShown && chosen?.length === 1) setIsOpen(true);
  };
  const select = (/** @type {string[]} */ nodes) => setState((old) => selecting(old, nodes));
  const reveal = (/** @type {string} */ node) => (select([node]), setShown(node));
  const travel = (/** @type {typeof undone} */ way) => (setShown(""), setState(way));
  const commands = commandsFor({ definition, boxes, selection, workspace, edit });
  const remove = (nodes = selection) => {
    focus(neighbour(boxes, nodes[0], "ArrowUp"), nodes);
    commands.remove(nodes);
  };
  const goLive = async (/** @type {FormData} */ data) => {
    const stored = await publish(!data.has("untested"));
    // After the dialog that asked is gone.
    if (!stored) return void setTimeout(() => setAsked({ kind: "conflict" }));
    // What the service linked has its own identifiers now.
    edit("flow_change.publish", stored);
    notify(t("flow_editor.is_published"));
  };
  const openKinds = (/** @type {{clientX: number, clientY: number}} */ event, /** @type {(kind: import("./kinds.js").Kind) => void} */ onPick, /** @type {{text: string, onPick: () => void}[]} */ more = []) =>
    setAsked({ kind: "place", at: { x: event.clientX, y: event.clientY }, label: t("flow_editor.new_step"), items: [...more, ...kindItems(definition, onPick)] });
  useShortcuts({ definition, selection, commands, travel, select, isBusy: asked !== null });

  const onKey = (/** @type {KeyboardEvent} */ event, /** @type {string} */ node) => {
    if (event.key === "Escape") return isOpen ? (setIsOpen(false), true) : selection.length > 1 && (select([node]), true);
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === " ") select(selection.includes(node) ? selection.filter((each) => each !== node) : [...selection, node]);
    else if (event.key === "Delete" || event.key === "Backspace") remove(selection.includes(node) ? selection : [node]);
    else if (event.key.toLowerCase() === "c") setAsked({ kind: "connect", node });
    else return false;
    return true;
  };
  const openStep = (/** @type {string} */ node, /** @type {MouseEvent} */ event) => {
    reveal(node);
    setIsOpen(true);
    // Whoever came by the keyboard goes on in the form.
    if (event.detail === 0) focus("", [], ".step-panel");
  };
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = useMemo(() => definition.nodes.filter((node) => words.length > 0 && words.every((each) => textOf(node, definition.localization).includes(each))).map(({ uuid }) => uuid), [definition, sought]);
  const next = (/** @type {number} */ step) => found.length > 0 && reveal(found[(found.indexOf(selection[0] ?? "") + step + found.length) % found.length]);
  /** @type {import("./model.js").OnChange} */
  const onForm = (next, label, field) => edit(label, next, { field });
  const node = selection.length === 1 ? findNode(definition, selection[0]) : undefined;
  const panel = node && isOpen && html`<${StepPanel} key=${node.uuid} definition=${definition} node=${node} workspace=${workspace} issues=${issues.filter((each) => each.node_uuid === node.uuid)}
    onChange=${onForm} onOpen=${reveal}
    onClose=${() => (setIsOpen(false), focus(node.uuid, []))} figures=${figures} isInline=${isList} />`;
  const addTest = (/** @type {import("./conversation.js").FlowTest} */ test) => {
    edit("flow_change.test", { ...definition, _ui: { ...definition._ui, tests: [...(definition._ui?.tests ?? []), test] } });
    notify(t("simulator.is_saved"));
  };
  const simulator = isTrying && html`<${Simulator} definition=${definition} chosen=${node?.uuid} onPath=${setPath} onTest=${addTest} onClose=${() => (setIsTrying(false), focus("", [], ".try-flow"))} />`;
  const itemsFor = (/** @type {import("./model.js").FlowNode} */ { uuid }) => [
    { text: t("flow_editor.enter_here"), onPick: () => commands.enter(uuid) },
    { text: t("flow_editor.connect"), onPick: () => setAsked({ kind: "connect", node: uuid }) },
    { text: t("act.delete"), danger: true, onPick: () => remove([uuid]) },
  ];
  const close = () => setAsked(null);
  const openSticky = (/** @type {string} */ uuid) => setAsked({ kind: "sticky", uuid });
  const connecting = asked?.kind === "connect" ? findNode(definition, asked.node) : undefined;
  return html`
    <header class="page-header">
      <a class="button quiet icon-only" href=${link(["flows", flow.uuid])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
      <h1>${flow.name}</h1>
      <span class="faint" role="status">${notKept || t(isPublished ? "flow_editor.saved" : isSaved ? "flow_editor.is_draft" : "flow_editor.kept")}</span>
      ${opened.draftOf && !isPublished && html`<span class="faint">${t("flow_editor.draft_of", { who: opened.draftOf.name || opened.draftOf.email })}</span>`}
      <${Presence} kind="flow" uuid=${flow.uuid} />
      <button type="button" class="primary" disabled=${isPublished} onClick=${() => setAsked({ kind: theirs ? "conflict" : "publish" })}>${t("flow_editor.publish")}</button>
    </header>
    <div class="list-tools drawing-tools">
      <${Menu} label=${t("flow_editor.new_step")} className="primary" text=${html`<${Icon} name="plus" size=${18} /> ${t("flow_editor.step")}`} items=${[...kindItems(definition, (kind) => commands.add(kind, isList ? undefined : middleOfSurface())), { text: t("flow_editor.a_block"), icon: "double", onPick: () => setAsked({ kind: "block" }) }]} />
      <button type="button" disabled=${state.undo.length === 0} title=${titleOf(state.undo)} onClick=${() => travel(undone)}>${t("act.undo")}</button>
      <button type="button" disabled=${state.redo.length === 0} title=${titleOf(state.redo)} onClick=${() => travel(redone)}>${t("flow_editor.redo")}</button>
      <${Menu} label=${t("flow_editor.more")} items=${toolItems({ commands, definition, selection, select, remove, onCut: (deed) => setAsked({ kind: "cut", deed }), isCounted, onCount: () => setIsCounted(!isCounted), onNote: () => setAsked({ kind: "sticky", uuid: "" }) })} />
      <input type="search" aria-label=${t("flows.search_nodes")} placeholder=${t("flows.search_nodes")} value=${sought} onInput=${(/** @type {any} */ { target }) => setSought(target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && next(event.shiftKey ? -1 : 1)} />
      <span role="status">${words.length > 0 && t("flows.nodes_found", { count: number(found.length), total: number(definition.nodes.length) })}</span>
      <span class="grows"></span>
      <${Issues} definition=${definition} issues=${issues} problem=${problem} onOpen=${(/** @type {string} */ uuid) => (reveal(uuid), setIsOpen(true))} />
      ${may("run_simulation") && html`<button type="button" class="try-flow" aria-pressed=${isTrying} onClick=${() => setIsTrying(!isTrying)}><${Icon} name="play" size=${16} /> ${t("flow_editor.try")}</button>`}
      ${/** @type {const} */ (["list", "translations"]).map((each) => html`<button key=${each} type="button" aria-pressed=${view === each} onClick=${() => go(["flows", flow.uuid, "edit"], { view: view === each ? "surface" : each }, { replace: true })}>${word("flow_view", each)}</button>`)}
    </div>
    ${view === "translations" && html`<${FlowTranslations} definition=${definition} workspace=${workspace} stored=${{ flow, base, isSaved }} onChange=${onForm} />`}
    ${view !== "translations" && html`<div class=${simulator || (panel && !isList) ? "drawing with-panel" : "drawing"}>
      ${isList
        ? html`<div><${StepList} definition=${definition} opened=${isOpen ? node?.uuid ?? "" : ""} found=${words.length > 0 ? found : null} path=${path} issues=${counts} figures=${figures} form=${panel} itemsFor=${itemsFor}
            onOpen=${(/** @type {string} */ uuid) => (select(uuid ? [uuid] : []), setIsOpen(!!uuid))} onConnect=${(/** @type {string} */ uuid, /** @type {string} */ exit) => setAsked({ kind: "connect", node: uuid, exit })} />
            <${StickyList} definition=${definition} onOpen=${openSticky} /></div>`
        : boxes.size === definition.nodes.length && html`<${Board} definition=${definition} boxes=${boxes} selection=${selection} shown=${shown} found=${found} path=${path} issues=${counts} figures=${figures}
            onSelect=${select} onGo=${(/** @type {string} */ uuid) => (reveal(uuid), focus(uuid, []))} onOpen=${openStep} onKey=${onKey} onSticky=${openSticky} onMove=${(/** @type {Definition} */ moved) => edit("flow_change.move", moved)}
            onConnect=${(/** @type {string} */ exit, /** @type {string | null} */ to, /** @type {any} */ at, /** @type {PointerEvent} */ event) =>
              to ? commands.connect(exit, to) : openKinds(event, (kind) => commands.insert(exit, kind, below(at)))}
            onLine=${(/** @type {string} */ exit, /** @type {any} */ at, /** @type {MouseEvent} */ event) =>
              openKinds(event, (kind) => commands.insert(exit, kind, below(at)), [{ text: t("flow_editor.take_line"), onPick: () => commands.connect(exit, null) }])} />`}
      ${definition.nodes.length === 0 && html`<p class=${isList ? "help" : "board-hint"}>${t("flow_editor.first_step")}</p>`}
      ${simulator ? html`<div class="beside">${!isList && panel}${simulator}</div>` : !isList && panel}
    </div>
    <p class="help">${t(isList ? "flow_editor.list_help" : "flow_editor.keys")}</p>`}
    ${asked?.kind === "place" && html`<${PlaceMenu} at=${asked.at} label=${asked.label} items=${asked.items} onClose=${close} />`}
    ${connecting && asked?.kind === "connect" && html`<${ConnectDialog} definition=${definition} node=${connecting} exit=${asked.exit} onConnect=${commands.connect} onNew=${commands.insert} onClose=${close} />`}
    ${asked?.kind === "block" && html`<${BlockDialog} definition=${definition} workspace=${workspace} onClose=${close} onInsert=${(/** @type {string} */ text) => void commands.paste(text, isList ? undefined : middleOfSurface())} />`}
    ${asked?.kind === "sticky" && html`<${StickyDialog} definition=${definition} uuid=${asked.uuid} onClose=${close} onChange=${onForm} onMade=${setShown}
      place=${() => freePlace(boxes, (isList ? undefined : middleOfSurface()) ?? commands.placeBelow(), WIDTH)} />`}
    ${asked?.kind === "cut" && html`<${CutDialog} deed=${asked.deed} definition=${commands.placed()} nodes=${selection} onClose=${close}
      onCut=${(/** @type {Definition} */ left, /** @type {string} */ made, /** @type {import("./model.js").Asset} */ flow) => (addFlow(flow), edit("flow_change.subflow", left, { selection: [made], isShown: true }))}
      onBlock=${(/** @type {import("./model.js").Asset} */ flow) => (addFlow(flow), notify(t("flow_editor.block_is_saved")))} />`}
    ${asked?.kind === "publish" && html`<${PublishDialog} flow=${flow.uuid} before=${base.live} now=${definition} isRefused=${isSaved && issues.some(({ fatal }) => fatal)} onPublish=${goLive} onClose=${close} />`}
    ${asked?.kind === "conflict" && theirs && html`<${ConflictDialog} theirs=${theirs} before=${base.live} onClose=${close}
      onMine=${() => (settle(theirs), close())} onTheirs=${() => (settle(theirs), edit("flow_change.theirs", theirs.base.definition), close())} />`}
  `;
}

/** What nodes say, as long as they say it. @type {WeakMap<import("./model.js").FlowNode, {localization: Definition["localization"], text: string}>} */
const texts = new WeakMap();

/** @param {import("./model.js").FlowNode} node @param {Definition["localization"]} localization */
function textOf(node, localization) {
  const known = texts.get(node);
  if (known && known.localization === localization) return known.text;
  const text = searchText(node, localization);
  texts.set(node, { localization, text });
  return text;
}

/** @param {import("./model.js").Step[]} steps */
const titleOf = (steps) => {
  const last = steps.at(-1);
  return last && t(last.label);
};

/** Where a node lies whose upper edge has its middle there. @param {{x: number, y: number}} point */
const below = ({ x, y }) => ({ left: x - WIDTH / 2, top: y });

/** The middle of what is seen of the surface. */
function middleOfSurface() {
  const [surface, held] = [".board", ".flow-box"].map((name) => /** @type {HTMLElement | null} */ (document.querySelector(name)));
  if (!surface || !held) return undefined;
  const { left, top, width, height } = held.getBoundingClientRect();
  const { x, y } = placeOn(surface, { clientX: left + width / 2, clientY: top + height / 3 });
  return { left: x, top: y };
}

/** The boxes of all nodes; those without a place are laid out first. @param {Definition} definition */
function useBoxes(definition) {
  const [laidOut, setLaidOut] = useState(/** @type {Map<string, import("./model.js").Position> | null} */ (null));
  const before = useRef(/** @type {Map<string, import("./places.js").Box>} */ (new Map()));
  const isPlaced = definition.nodes.length === 0 || definition.nodes.some(({ uuid }) => positionOf(definition, uuid));
  useEffect(() => {
    if (laidOut || isPlaced) return;
    const stop = new AbortController();
    layOut(sizedNodes(definition.nodes), stop.signal).then(({ boxes }) => setLaidOut(new Map([...boxes].map(([uuid, { x, y }]) => [uuid, { left: x, top: y }]))), () => setLaidOut(new Map()));
    return () => stop.abort();
  }, [isPlaced]);
  return useMemo(() => {
    if (!laidOut && !isPlaced) return new Map();
    return (before.current = boxesOf(definition, laidOut ?? new Map(), before.current));
  }, [definition, laidOut]);
}

/** Gives the focus to a node, or to what a selector finds, once the next drawing is there. @param {Definition} definition */
function useFocus(definition) {
  const [wanted, setWanted] = useState({ node: "", selector: "" });
  useLayoutEffect(() => {
    const target = wanted.selector ? document.querySelector(wanted.selector) : document.getElementById(`node-${wanted.node}`) ?? (wanted.node ? document.querySelector(`[data-step="${wanted.node}"]`) ?? document.querySelector(".flow-box") : null);
    /** @type {HTMLElement | null} */ (target)?.focus({ preventScroll: true });
  }, [wanted]);
  /** @param {string} node @param {string[]} gone @param {string} [selector] */
  return (node, gone, selector = "") => setWanted({ node: gone.includes(node) ? definition.nodes.find(({ uuid }) => !gone.includes(uuid))?.uuid ?? "none" : node, selector });
}

/** Whether somebody writes there, and means the text. @param {EventTarget | null} target */
const isWriting = (target) => target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));

/**
 * Keys and the clipboard, wherever the focus is outside of fields.
 * @param {{definition: Definition, selection: string[], commands: ReturnType<typeof commandsFor>, travel: (way: typeof undone) => void, select: (nodes: string[]) => void, isBusy: boolean}} props
 */
function useShortcuts(props) {
  const present = useRef(props);
  present.current = props;
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      const { travel, select, definition, isBusy } = present.current;
      if (isBusy || isWriting(event.target) || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      const key = event.key.toLowerCase();
      if (key === "z") travel(event.shiftKey ? redone : undone);
      else if (key === "y") travel(redone);
      else if (key === "a" && document.activeElement?.closest(".canvas")) select(definition.nodes.map(({ uuid }) => uuid));
      else return;
      event.preventDefault();
    };
    const carry = (/** @type {ClipboardEvent} */ event) => {
      const { commands, selection, isBusy } = present.current;
      if (isBusy || isWriting(event.target) || !event.clipboardData) return;
      const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.node;
      const nodes = selection.length === 0 && focused ? [focused] : selection;
      if (event.type === "paste" ? !commands.paste(event.clipboardData.getData("text/plain"), middleOfSurface()) : nodes.length === 0 || getSelection()?.toString()) return;
      if (event.type !== "paste") event.clipboardData.setData("text/plain", commands.copy(nodes, event.type === "cut"));
      event.preventDefault();
    };
    const listeners = /** @type {[string, any][]} */ ([["keydown", press], ["copy", carry], ["cut", carry], ["paste", carry]]);
    for (const [name, listener] of listeners) document.addEventListener(name, listener);
    return () => listeners.forEach(([name, listener]) => document.removeEventListener(name, listener));
  }, []);
}

/** @param {{commands: ReturnType<typeof commandsFor>, definition: Definition, selection: string[], select: (nodes: string[]) => void, remove: () => void, onCut: (deed: import("./blocks.js").Deed) => void, isCounted: boolean, onCount: () => void, onNote: () => void}} props */
function toolItems({ commands, definition, selection, select, remove, onCut, isCounted, onCount, onNote }) {
  const some = selection.length > 0;
  const paste = async () => {
    // Without a secure context only the keys give the clipboard.
    const text = await navigator.clipboard?.readText().catch(() => undefined);
    if (text === undefined || !commands.paste(text, middleOfSurface())) notify(t("flow_editor.nothing_to_paste"), true);
  };
  return [
    some && { text: t("flow_editor.copy"), onPick: () => void document.execCommand("copy") },
    some && { text: t("flow_editor.cut"), onPick: () => void document.execCommand("cut") },
    { text: t("flow_editor.paste"), onPick: () => void paste() },
    { text: t("flow_editor.select_all"), onPick: () => select(definition.nodes.map(({ uuid }) => uuid)) },
    ...(selection.length > 1 ? /** @type {const} */ (["left", "top", "middle", "row"]) : []).map((side) => ({ text: word("flow_align", side), onPick: () => commands.align(side) })),
    some && may("write_definitions") && { text: t("flow_editor.block_of_steps"), onPick: () => onCut("block") },
    some && may("write_definitions") && { text: t("flow_editor.subflow_of_steps"), onPick: () => onCut("subflow") },
    { text: t("flow_editor.lay_out"), onPick: () => void attempt(() => commands.layOut(new AbortController().signal)) },
    { text: t("flow_editor.new_note"), onPick: onNote },
    { text: t("flow_editor.numbers"), checked: isCounted, several: true, onPick: onCount },
    some && { text: t("act.delete"), danger: true, icon: "trash", onPick: () => remove() },
  ];
}

/** @param {{definition: Definition, issues: import("./saving.js").Issue[], problem: string, onOpen: (node: string) => void}} props */
function Issues({ definition, issues, problem, onOpen }) {
  const places = new Map(definition.nodes.map(({ uuid }, at) => [uuid, at + 1]));
  if (problem) return html`<span class="problem" role="status">${problem}</span>`;
  if (issues.length === 0) return null;
  const items = issues.map(({ node_uuid: node, message, field }, at) => ({ id: String(at), text: `${places.has(node) ? `${t("flows.node", { number: number(places.get(node) ?? 0) })}: ` : ""}${message}${field ? ` (${field})` : ""}`, onPick: () => void (places.has(node) && onOpen(node)) }));
  return html`<${Menu} label=${t("flow_editor.issues")} className="issues-menu" text=${html`<${Icon} name="failed" size=${16} /> ${t("flow_editor.issues_here", { count: number(issues.length) })}`} items=${items} />`;
}
