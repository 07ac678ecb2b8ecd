/** What an editor does to a definition, without a page: each operation takes a definition and returns another that shares what
 *  did not change, so the way back is a list of definitions. What an operation does not know stays as it is.
 *
 *  For the parts beside the drawing:
 *  - a form changes what it was given with the operations below and calls `onChange(newDefinition, label, field)`; the label is
 *    a text `flow_change.*` and says what undoing takes back; changes of one field that follow each other within a second, as
 *    somebody types, are one step;
 *  - a simulator gets the definition as it stands, and says which nodes it went through.
 */

/**
 * @typedef {import("../node_content.js").Definition} Definition
 * @typedef {import("../node_content.js").FlowNode} FlowNode
 * @typedef {import("../node_content.js").Action} Action
 * @typedef {{uuid: string, destination_uuid?: string | null, [key: string]: any}} Exit
 * @typedef {{uuid: string, name: string, exit_uuid: string, [key: string]: any}} Category
 * @typedef {{uuid: string, type: string, arguments: string[], category_uuid: string, [key: string]: any}} Case
 * @typedef {{type: string, operand?: string, wait?: any, result_name?: string, categories: Category[], cases?: Case[], default_category_uuid?: string, [key: string]: any}} Router
 * @typedef {{left: number, top: number}} Position in the pixels of `_ui`
 * @typedef {import("../../shared/texts.js").Key} Label one of `flow_change.*`
 * @typedef {{label: Label, definition: Definition, field: string, at: number}} Step what was done, what stood before it, and when in milliseconds
 * @typedef {{definition: Definition, selection: string[], undo: Step[], redo: Step[]}} Editor `selection` holds UUIDs of nodes, the opened one first
 * @typedef {{uuid?: string, key?: string, name?: string | null, [key: string]: any}} Asset
 * @typedef {"channels" | "fields" | "flows" | "globals" | "groups" | "labels" | "optins" | "templates" | "topics" | "users"} AssetKind
 * @typedef {Record<AssetKind, Asset[]>} Workspace what the lists of the API tell; those that the person may not see are empty
 * @typedef {(definition: Definition, label: Label, field?: string) => void} OnChange
 * @typedef {{definition: Definition, node: FlowNode, workspace: Workspace, onChange: OnChange}} NodeFormProps of forms/node_form.js
 */

/** Changes of one field that follow each other so quickly are one step. */
const ONE_STEP_MS = 1000;

/** @returns {string} a UUID, also on a page without a secure context */
export const newUuid = () =>
  globalThis.crypto.randomUUID?.() ??
  "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) => (Number(digit) ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (Number(digit) / 4)))).toString(16));

/** @param {Definition} definition @returns {Editor} */
export const begin = (definition) => ({ definition, selection: [], undo: [], redo: [] });

/**
 * A change that can be undone; none if the definition is the same one.
 * @param {Editor} state @param {Label} label @param {Definition} definition @param {string} [field] what somebody types in @param {number} [now] in milliseconds
 * @returns {Editor}
 */
export function change(state, label, definition, field = "", now = Date.now()) {
  if (definition === state.definition) return state;
  const last = state.undo.at(-1);
  const goesOn = last && field && last.field === field && now - last.at < ONE_STEP_MS && state.redo.length === 0;
  const step = { label, field, at: now, definition: goesOn ? last.definition : state.definition };
  return selecting({ ...state, definition, undo: [...(goesOn ? state.undo.slice(0, -1) : state.undo), step], redo: [] }, state.selection);
}

/** The state with what is still there of a selection. @param {Editor} state @param {string[]} selection @returns {Editor} */
export function selecting(state, selection) {
  const known = new Set(state.definition.nodes.map(({ uuid }) => uuid));
  return { ...state, selection: selection.filter((each) => known.has(each)) };
}

/** @param {Editor} state @returns {Editor} the same if there is nothing to undo */
export const undone = (state) => travelled(state, "undo", "redo");

/** @param {Editor} state @returns {Editor} */
export const redone = (state) => travelled(state, "redo", "undo");

/** @param {Editor} state @param {"undo" | "redo"} from @param {"undo" | "redo"} to @returns {Editor} */
function travelled(state, from, to) {
  const step = state[from].at(-1);
  if (!step) return state;
  const back = { ...step, definition: state.definition, at: 0 };
  return selecting({ ...state, definition: step.definition, [from]: state[from].slice(0, -1), [to]: [...state[to], back] }, state.selection);
}

/** @param {Definition} definition @param {string} uuid */
export const findNode = (definition, uuid) => definition.nodes.find((node) => node.uuid === uuid);

/** What of a node may have texts in other languages. @param {FlowNode} node @returns {string[]} */
export const itemsOf = ({ actions, router }) =>
  [...(actions ?? []), ...(router?.cases ?? []), ...(router?.categories ?? [])].map(({ uuid }) => uuid).filter(Boolean);

/** @param {string | null} [destination] @returns {Exit} */
export const newExit = (destination = null) => ({ uuid: newUuid(), destination_uuid: destination });

/** A node that goes on, or ends the flow. @param {Action[]} actions @returns {FlowNode} */
export const plainNode = (actions) => ({ uuid: newUuid(), actions, exits: [newExit()] });

/** A node with one action. @param {Action} action */
export const acting = (action) => plainNode([{ uuid: newUuid(), ...action }]);

/**
 * A node that decides. @param {{operand: string, cases?: {type: string, arguments: string[], category: string}[], otherwise: string, [key: string]: any}} about what else it has goes to the router
 * @param {Action[]} [actions]
 * @returns {FlowNode}
 */
export function deciding({ operand, cases = [], otherwise, ...rest }, actions = []) {
  const categories = [...cases.map(({ category }) => category), otherwise].map((name) => ({ uuid: newUuid(), name, exit_uuid: newUuid() }));
  return {
    uuid: newUuid(),
    actions,
    router: {
      type: "switch",
      ...rest,
      operand,
      cases: cases.map(({ category: _, ...each }, at) => ({ uuid: newUuid(), ...each, category_uuid: categories[at].uuid })),
      categories,
      default_category_uuid: categories[categories.length - 1].uuid,
    },
    exits: categories.map(({ exit_uuid: uuid }) => ({ uuid, destination_uuid: null })),
  };
}

/**
 * Adds a node. The first one of a flow is where contacts enter.
 * @param {Definition} definition @param {FlowNode} node @param {Position} position @param {string} [kind] as `_ui` calls it
 */
export const addNode = (definition, node, position, kind = node.router ? "split_by_expression" : "execute_actions") =>
  setUi({ ...definition, nodes: [...definition.nodes, node] }, node.uuid, { position: rounded(position), type: kind });

/** Puts a node in the place of the one with its UUID; texts in other languages go with what they belong to. @param {Definition} definition @param {FlowNode} node */
export function replaceNode(definition, node) {
  const old = findNode(definition, node.uuid);
  if (!old || old === node) return definition;
  const kept = new Set(itemsOf(node));
  const nodes = definition.nodes.map((each) => (each === old ? node : each));
  return forget({ ...definition, nodes }, itemsOf(old).filter((item) => !kept.has(item)));
}

/** @param {Definition} definition @param {string} uuid @param {(node: FlowNode) => FlowNode} edit */
function edited(definition, uuid, edit) {
  const node = findNode(definition, uuid);
  return node ? replaceNode(definition, edit(node)) : definition;
}

/** @param {Definition} definition @param {string} node @param {Action} action @param {number} [at] by default the last place */
export const addAction = (definition, node, action, at) =>
  edited(definition, node, (old) => ({ ...old, actions: inserted(old.actions ?? [], at ?? old.actions?.length ?? 0, action) }));

/** Replaces the action with the same UUID. @param {Definition} definition @param {string} node @param {Action} action */
export const replaceAction = (definition, node, action) =>
  edited(definition, node, (old) => ({ ...old, actions: old.actions.map((each) => (each.uuid === action.uuid ? action : each)) }));

/** @param {Definition} definition @param {string} node @param {string} action */
export const removeAction = (definition, node, action) => edited(definition, node, (old) => ({ ...old, actions: old.actions.filter(({ uuid }) => uuid !== action) }));

/** @param {Definition} definition @param {string} node @param {string} action @param {number} to its place among the others */
export const moveAction = (definition, node, action, to) =>
  edited(definition, node, (old) => {
    const moved = old.actions.find(({ uuid }) => uuid === action);
    return moved ? { ...old, actions: inserted(old.actions.filter((each) => each !== moved), to, moved) } : old;
  });

/**
 * Gives a node a router with its exits, or takes it away: then the first exit stays.
 * @param {Definition} definition @param {string} node @param {Router | null} router @param {Exit[]} [exits] by default those of its categories,
 *   as far as they are there
 */
export const setRouter = (definition, node, router, exits) =>
  edited(definition, node, ({ router: _, ...old }) => {
    if (!router) return { ...old, exits: (exits ?? old.exits).slice(0, 1) };
    const wanted = [...new Set(router.categories.map(({ exit_uuid: exit }) => exit))];
    return { ...old, router, exits: exits ?? wanted.map((uuid) => old.exits.find((exit) => exit.uuid === uuid) ?? { uuid, destination_uuid: null }) };
  });

/** Leads an exit to a node, or with null nowhere. @param {Definition} definition @param {string} exit @param {string | null} destination */
export function connect(definition, exit, destination) {
  const node = ownerOf(definition, exit);
  if (!node || (destination && !findNode(definition, destination))) return definition;
  if ((node.exits.find(({ uuid }) => uuid === exit)?.destination_uuid ?? null) === destination) return definition;
  return replaceNode(definition, { ...node, exits: node.exits.map((each) => (each.uuid === exit ? { ...each, destination_uuid: destination } : each)) });
}

/** The node of an exit. @param {Definition} definition @param {string} exit */
export const ownerOf = (definition, exit) => definition.nodes.find(({ exits }) => exits.some(({ uuid }) => uuid === exit));

/**
 * Puts a node on the line that an exit begins; all its open exits lead on to where the line led.
 * @param {Definition} definition @param {string} exit @param {FlowNode} node one that is not there yet @param {Position} position @param {string} [kind]
 */
export function insertNode(definition, exit, node, position, kind) {
  const target = ownerOf(definition, exit)?.exits.find(({ uuid }) => uuid === exit)?.destination_uuid ?? null;
  const exits = node.exits.map((each) => (each.destination_uuid ? each : { ...each, destination_uuid: target }));
  return connect(addNode(definition, { ...node, exits }, position, kind), exit, node.uuid);
}

/** @param {Definition} definition @param {Map<string, Position>} positions */
export function moveNodes(definition, positions) {
  const ui = uiOf(definition);
  const nodes = { ...ui.nodes };
  for (const [uuid, position] of positions) nodes[uuid] = { ...nodes[uuid], position: { ...nodes[uuid]?.position, ...rounded(position) } };
  return { ...definition, _ui: { ...ui, nodes } };
}

/** Where `_ui` says that a node is. @param {Definition} definition @param {string} node @returns {Position | undefined} */
export function positionOf(definition, node) {
  const place = uiOf(definition).nodes[node]?.position;
  return Number.isFinite(place?.left) && Number.isFinite(place?.top) ? place : undefined;
}

/** Changes what `_ui` says of a node: its position, its kind as `type`, or `config`. @param {Definition} definition @param {string} node @param {Record<string, any>} said */
export function setUi(definition, node, said) {
  const ui = uiOf(definition);
  return { ...definition, _ui: { ...ui, nodes: { ...ui.nodes, [node]: { ...ui.nodes[node], ...said } } } };
}

/** @param {Definition} definition @returns {{nodes: Record<string, any>, [key: string]: any}} */
export function uiOf({ _ui: ui }) {
  const isObject = (/** @type {unknown} */ each) => each !== null && typeof each === "object" && !Array.isArray(each);
  return { ...(isObject(ui) ? ui : {}), nodes: isObject(ui?.nodes) ? ui.nodes : {} };
}

/** @typedef {{title?: string, body?: string, color?: string, position: Position & Record<string, any>, [key: string]: any}} Sticky a note beside the nodes, as `_ui` has it */

/** The notes of a definition that can be drawn, by their UUIDs. @param {Definition} definition @returns {Map<string, Sticky>} */
export function stickiesOf({ _ui: ui }) {
  const all = ui?.stickies;
  if (all === null || typeof all !== "object" || Array.isArray(all)) return new Map();
  return new Map(Object.entries(all).filter(([, each]) => Number.isFinite(each?.position?.left) && Number.isFinite(each?.position?.top)));
}

/** Adds a note, changes what is said of it, or with null takes it away; others stay as they are, also those that nobody can draw. @param {Definition} definition @param {string} uuid @param {Partial<Sticky> | null} said */
export function setSticky(definition, uuid, said) {
  const ui = uiOf(definition);
  const { [uuid]: old, ...others } = ui.stickies ?? {};
  // A note that is there keeps its place among the others.
  return { ...definition, _ui: { ...ui, stickies: said ? { ...ui.stickies, [uuid]: { ...old, ...said } } : others } };
}

/** @param {Definition} definition @param {string} uuid @param {number} dx @param {number} dy */
export function moveSticky(definition, uuid, dx, dy) {
  const position = stickiesOf(definition).get(uuid)?.position;
  if (!position || (!dx && !dy)) return definition;
  const [x, y] = [Math.max(dx, -position.left), Math.max(dy, -position.top)].map(Math.round);
  const far = Object.fromEntries([["right", x], ["bottom", y]].flatMap(([side, by]) => (Number.isFinite(position[side]) ? [[side, position[side] + by]] : [])));
  return setSticky(definition, uuid, { position: { ...position, ...far, ...rounded({ left: position.left + x, top: position.top + y }) } });
}

/** Takes nodes away; exits that led to them become open. @param {Definition} definition @param {string[]} uuids */
export function deleteNodes(definition, uuids) {
  const gone = new Set(uuids);
  const left = definition.nodes.filter(({ uuid }) => gone.has(uuid));
  if (left.length === 0) return definition;
  const nodes = definition.nodes.filter(({ uuid }) => !gone.has(uuid)).map((node) => {
    const leads = node.exits.some(({ destination_uuid: to }) => to && gone.has(to));
    return leads ? { ...node, exits: node.exits.map((exit) => (exit.destination_uuid && gone.has(exit.destination_uuid) ? { ...exit, destination_uuid: null } : exit)) } : node;
  });
  const rest = forget({ ...definition, nodes }, left.flatMap(itemsOf));
  const ui = uiOf(definition);
  if (!uuids.some((uuid) => uuid in ui.nodes)) return rest;
  return { ...rest, _ui: { ...ui, nodes: Object.fromEntries(Object.entries(ui.nodes).filter(([uuid]) => !gone.has(uuid))) } };
}

/** Lets contacts enter at a node: the first of a definition. @param {Definition} definition @param {string} uuid */
export function enterAt(definition, uuid) {
  const node = findNode(definition, uuid);
  return !node || definition.nodes[0] === node ? definition : { ...definition, nodes: [node, ...definition.nodes.filter((each) => each !== node)] };
}

/**
 * What a text of an item says in another language; without values the base language speaks.
 * @param {Definition} definition @param {string} language @param {string} item UUID of an action, a case or a category @param {string} property @param {string[] | null} values
 */
export function translate(definition, language, item, property, values) {
  const texts = definition.localization?.[language] ?? {};
  const { [property]: _, ...others } = texts[item] ?? {};
  const { [item]: __, ...rest } = texts;
  const said = values ? { ...others, [property]: values } : others;
  return { ...definition, localization: { ...definition.localization, [language]: Object.keys(said).length > 0 ? { ...rest, [item]: said } : rest } };
}

/** Leaves out the texts in other languages of items that are gone; the languages stay. @param {Definition} definition @param {string[]} items */
function forget(definition, items) {
  const gone = new Set(items);
  const { localization } = definition;
  if (!localization || !Object.values(localization).some((texts) => items.some((item) => item in texts))) return definition;
  const kept = Object.entries(localization).map(([language, texts]) => [language, Object.fromEntries(Object.entries(texts).filter(([item]) => !gone.has(item)))]);
  return { ...definition, localization: Object.fromEntries(kept) };
}

/** @template T @param {T[]} items @param {number} at @param {T} item @returns {T[]} */
const inserted = (items, at, item) => [...items.slice(0, at), item, ...items.slice(at)];

/** Drawings have no places above or left of their corner. @param {Position} position @returns {Position} */
const rounded = ({ left, top }) => ({ left: Math.max(0, Math.round(left)), top: Math.max(0, Math.round(top)) });

/** The key by which expressions know a result. @param {string} name */
export const resultKey = (name) => name.trim().replace(/[^\p{L}\p{N}_]+/gu, "_").toLowerCase();

/** The names under which a flow saves results. @param {{nodes: FlowNode[]}} definition @returns {string[]} */
export const resultNames = ({ nodes }) => [
  ...new Set(nodes.flatMap(({ actions, router }) => [router?.result_name, ...(actions ?? []).map((action) => (action.type === "set_run_result" ? action.name : action.result_name))]).filter(Boolean)),
];

/** A name like it that the flow does not use yet. @param {string} name @param {Iterable<string>} used */
export function freeName(name, used) {
  const taken = new Set([...used].map(resultKey));
  for (let count = 2; ; count++) {
    if (!taken.has(resultKey(name))) return name;
    name = `${name.replace(/ \d+$/, "").slice(0, MOST_NAME - 5)} ${count}`;
  }
}

/** The longest name of a result. */
const MOST_NAME = 64;
