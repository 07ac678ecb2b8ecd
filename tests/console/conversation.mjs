// What of a conversation becomes a test, and what is played: `node conversation.mjs EDITOR`.
import assert from "node:assert/strict";

const [editor] = process.argv.slice(2);
const { contactOf, eventsOf, makeTest, playable, visited, waitingAt } = await import(`${editor}/conversation.js`);

const said = (text, more = {}) => ({ type: "msg_created", msg: { text, ...more } });
const played = (events, more = {}) => ({ status: "waiting", events, path: [], results: {}, contact: {}, session: {}, ...more });
const group = (name) => ({ uuid: name, name });

// A copy of a contact is as it was before the first step.
const first = played([{ type: "contact_groups_changed", groups_added: [group("Mothers")], groups_removed: [group("New")] }, { type: "contact_field_changed", field: { key: "age", name: "Age" }, value: { text: "34" } }], {
  contact: { name: "Grace", language: "fra", urns: ["tel:+250788000111"], groups: [group("Mothers"), group("Kigali")], fields: { age: { text: "34" }, town: { text: "Kigali" } } },
});
assert.deepEqual(contactOf(first), { name: "Grace", language: "fra", fields: { town: "Kigali" }, groups: ["Kigali", "New"] });
assert.deepEqual(eventsOf(first).map(({ type, text }) => [type, text]), [["contact_groups_changed", "+ Mothers, − New"], ["contact_field_changed", "Age: 34"]]);

// Each way of answering has its step, and the end says what was changed.
const last = played([{ type: "contact_groups_changed", groups_removed: [group("Mothers")] }], { status: "expired", results: { age: { name: "Age", value: "34", category: "" } } });
const turns = [
  { said: null, played: played([said("Hello", { quick_replies: [{ text: "Yes" }], attachments: ["image:https://example.org/a.jpg"] })]) },
  { said: { type: "msg", text: "hi" }, played: played([]) },
  { said: { type: "dial", status: "busy" }, played: played([said("Again")]) },
  { said: { type: "wait_timeout" }, played: first },
  { said: { type: "wait_expiration" }, played: last },
];
assert.deepEqual(makeTest("All", turns, { name: "Ann" }, { email: "fails" }), {
  name: "All",
  contact: { name: "Ann" },
  services: { email: "fails" },
  steps: [
    { expect: [{ text: "Hello", attachments: ["image:https://example.org/a.jpg"], quick_replies: ["Yes"] }] },
    { say: "hi" }, { expect: [] }, { call: "busy" }, { expect: ["Again"] }, { timeout: true }, { expect: [] }, { expire: true }, { expect: [] },
  ],
  then: { status: "expired", results: { age: { value: "34" } }, fields: { age: "34" }, not_groups: ["Mothers", "New"] },
});

// What is played begins at a node and takes a way; what is drawn stays as it is.
const random = { uuid: "b", actions: [], exits: [], router: { type: "random", categories: [{ uuid: "c", name: "One" }] } };
const definition = { uuid: "f", nodes: [{ uuid: "a", actions: [], exits: [] }, random] };
const { nodes } = playable(definition, "b", { a: "none", b: "c" });
assert.deepEqual(nodes.map(({ uuid }) => uuid), ["b", "a"]);
assert.deepEqual([nodes[0].router.type, nodes[0].router.cases, nodes[0].router.default_category_uuid], ["switch", [], "c"]);
assert.equal(random.router.type, "random");
assert.deepEqual(playable(definition, "gone", {}).nodes, definition.nodes);
const path = played([], { path: [{ node_uuid: "a" }, { node_uuid: "of another flow" }, { node_uuid: "b" }] });
assert.deepEqual([visited(definition, path), waitingAt(definition, path)], [["a", "b"], random]);
assert.equal(waitingAt(definition, { ...path, status: "completed" }), undefined);
