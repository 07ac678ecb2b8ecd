/** A conversation in which somebody tries a flow: what of it is played, what happened, and the test that is made of it. Pure. */

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").FlowNode} FlowNode
 * @typedef {import("../../shared/contract.js").Written<"simulations">} Played
 * @typedef {{type: "msg" | "dial" | "callback" | "wait_timeout" | "wait_expiration", text?: string, status?: "answered" | "no_answer" | "busy" | "failed"}} Said
 * @typedef {{said: Said | null, played: Played}} Turn the first one begins the conversation
 * @typedef {Record<string, any>} Event
 * @typedef {{name: string, contact?: Record<string, any>, services?: Record<string, any>, steps: Record<string, any>[], then: Record<string, any>}} FlowTest
 */

const WRITTEN = ["msg_created", "ivr_created"];
/** What says nothing to people: the conversation shows it already, or it concerns the engine. */
const UNSAID = [...WRITTEN, "msg_received", "msg_wait", "dial_wait", "time_wait", "callback_wait", "dial_ended", "run_ended", "run_expired", "wait_timed_out", "contact_last_seen_changed", "contact_refreshed", "environment_refreshed", "flow_event_made"];
const PROBLEMS = ["error", "failure", "warning"];

/**
 * The definition that is played: it begins at a node, and nodes take the branch of a category whatever was answered.
 * @param {Definition} definition @param {string} start the UUID of a node, or nothing @param {Record<string, string>} branches categories by node
 * @returns {Definition}
 */
export function playable(definition, start, branches) {
  const nodes = definition.nodes.map((node) => (branches[node.uuid] && node.router ? { ...node, router: taking(node.router, branches[node.uuid]) } : node));
  const first = nodes.filter(({ uuid }) => uuid === start);
  return { ...definition, nodes: [...first, ...nodes.filter(({ uuid }) => uuid !== start || first.length === 0)] };
}

/** @param {any} router @param {string} category */
const taking = (router, category) => ({ operand: "@input.text", ...router, type: "switch", cases: [], default_category_uuid: category });

/** The node of this flow at which the conversation waits. @param {Definition} definition @param {Played | undefined} played @returns {FlowNode | undefined} */
export function waitingAt(definition, played) {
  const last = played?.status === "waiting" ? played.path.at(-1) : undefined;
  return definition.nodes.find(({ uuid }) => uuid === last?.node_uuid);
}

/** The nodes of this flow that were visited, in their order. @param {Definition} definition @param {Played | undefined} played @returns {string[]} */
export function visited(definition, played) {
  const known = new Set(definition.nodes.map(({ uuid }) => uuid));
  return (played?.path ?? []).map((step) => String(step.node_uuid)).filter((uuid) => known.has(uuid));
}

/** @param {Played} played @returns {{text: string, attachments: string[], replies: string[]}[]} */
export const messagesOf = (played) =>
  /** @type {Event[]} */ (played.events).filter(({ type }) => WRITTEN.includes(type)).map(({ msg }) => ({ text: msg.text ?? "", attachments: msg.attachments ?? [], replies: (msg.quick_replies ?? []).map((/** @type {any} */ { text }) => text ?? "").filter(Boolean) }));

/** What else happened, by the type of its event. @param {Played} played @returns {{type: string, text: string, isProblem: boolean}[]} */
export const eventsOf = (played) =>
  /** @type {Event[]} */ (played.events)
    .filter(({ type, parent_uuid: parent }) => !UNSAID.includes(type) && (type !== "run_started" || parent))
    .map((event) => ({ type: event.type, text: saidOf(event), isProblem: PROBLEMS.includes(event.type) }));

/** @param {Event} event @returns {string} */
function saidOf({ name, value, category, field, groups_added: added, groups_removed: removed, language, status, url, flow, text, labels, ticket, subject, urns }) {
  if (added || removed) return [...(added ?? []).map((/** @type {any} */ group) => `+ ${group.name}`), ...(removed ?? []).map((/** @type {any} */ group) => `− ${group.name}`)].join(", ");
  if (field) return `${field.name}: ${value?.text ?? "—"}`;
  if (category !== undefined || value !== undefined) return `${name}: ${typeof value === "object" ? JSON.stringify(value) : value ?? ""}${category ? ` (${category})` : ""}`;
  const listed = (labels ?? []).map((/** @type {any} */ label) => label.name).join(", ") || (urns ?? []).join(", ");
  return [text ?? name ?? listed, language, url, flow?.name, ticket?.topic?.name, subject, status].filter(Boolean).join(" · ");
}

/**
 * The test that plays this conversation and expects what was seen.
 * @param {string} name @param {Turn[]} turns @param {Record<string, any>} contact with whom it began @param {Record<string, any> | undefined} services
 * @returns {FlowTest}
 */
export function makeTest(name, turns, contact, services) {
  const steps = turns.flatMap(({ said, played }) => {
    const expect = messagesOf(played).map(({ text, attachments, replies }) => (attachments.length || replies.length ? { text, ...(attachments.length ? { attachments } : {}), ...(replies.length ? { quick_replies: replies } : {}) } : text));
    return [...(said ? [stepOf(said)] : []), { expect }];
  });
  const last = turns[turns.length - 1].played;
  return { name, ...(Object.keys(contact).length ? { contact } : {}), ...(services ? { services } : {}), steps, then: outcomeOf(turns, last) };
}

/** @param {Said} said */
const stepOf = ({ type, text, status }) => (type === "msg" ? { say: text ?? "" } : type === "dial" ? { call: status } : type === "callback" ? { callback: text ?? "" } : type === "wait_timeout" ? { timeout: true } : { expire: true });

/** What was changed by the end: only that belongs to a test. @param {Turn[]} turns @param {Played} last */
function outcomeOf(turns, last) {
  /** @type {Record<string, any>} */
  const then = { status: last.status };
  const results = Object.entries(/** @type {Record<string, any>} */ (last.results)).map(([key, { value, category }]) => [key, { value, ...(category ? { category } : {}) }]);
  if (results.length > 0) then.results = Object.fromEntries(results);
  /** @type {Map<string, boolean>} */
  const groups = new Map();
  for (const event of /** @type {Event[]} */ (turns.flatMap(({ played }) => played.events))) {
    if (event.type === "contact_field_changed") then.fields = { ...then.fields, [event.field.key]: event.value?.text ?? null };
    if (event.type === "contact_name_changed") then.name = event.name;
    if (event.type === "contact_language_changed") then.language = event.language;
    for (const { name } of event.groups_added ?? []) groups.set(name, true);
    for (const { name } of event.groups_removed ?? []) groups.set(name, false);
  }
  const [inside, outside] = [true, false].map((isIn) => [...groups].filter(([, is]) => is === isIn).map(([name]) => name));
  return { ...then, ...(inside.length ? { groups: inside } : {}), ...(outside.length ? { not_groups: outside } : {}) };
}

/**
 * A copy of a contact as a test gives it: as it was before the first step changed it.
 * @param {Played} first @returns {Record<string, any>}
 */
export function contactOf(first) {
  const { name, language, fields, groups } = /** @type {Record<string, any>} */ (first.contact);
  const events = /** @type {Event[]} */ (first.events);
  const changed = new Set(events.map(({ field }) => field?.key).filter(Boolean));
  const [added, removed] = ["groups_added", "groups_removed"].map((part) => events.flatMap((event) => (event[part] ?? []).map((/** @type {any} */ group) => group.name)));
  const texts = Object.entries(fields ?? {}).filter(([key, value]) => value?.text && !changed.has(key)).map(([key, value]) => [key, value.text]);
  const names = [...(groups ?? []).map((/** @type {any} */ group) => group.name).filter((/** @type {string} */ each) => !added.includes(each)), ...removed];
  return { ...(name ? { name } : {}), ...(language ? { language } : {}), ...(texts.length ? { fields: Object.fromEntries(texts) } : {}), ...(names.length ? { groups: names } : {}) };
}
