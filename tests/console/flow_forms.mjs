// Does what the forms do to each definition of a file, and writes what they made: `node flow_forms.mjs EDITOR CASES TOLD`.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

const [editor, cases, told] = process.argv.slice(2);
const model = await import(`${editor}/model.js`);
const changing = await import(`${editor}/forms/changing.js`);
const { completionsAt, isOpen, namesOf } = await import(`${editor}/forms/completing.js`);
const { languagesOf, progressOf, saidIn, setSaid, textsOf } = await import(`${editor}/forms/translating.js`);
const { canShow, shown, stored, unknownParts } = await import(`${editor}/forms/values.js`);
const parts = JSON.parse(readFileSync(new URL(`${editor}/forms/parts.json`), "utf8"));

const counts = { definitions: 0, actions: 0, fields: 0, tests: 0, texts: 0 };
const uuidOf = (number) => `5d1f0a52-5f0e-4a4e-8d09-${String(number).padStart(12, "0")}`;
const reference = { uuid: uuidOf(900), name: "Mothers" };

// What is opened and saved without a change stays.

/** @param {any} definition */
function open(definition) {
  const before = JSON.stringify(definition);
  const isUnchanged = (changed) => assert.deepEqual(JSON.parse(JSON.stringify(changed)), JSON.parse(before));
  for (const node of definition.nodes ?? []) {
    if (!node?.uuid || definition.nodes.filter(({ uuid }) => uuid === node.uuid).length > 1) continue;
    for (const action of (node.actions ?? []).filter(Boolean)) {
      counts.actions++;
      const part = parts.actions[action.type];
      const asked = Object.entries(part?.fields ?? {}).filter(([name, field]) => canShow(field, action[name]));
      for (const [name, field] of asked) {
        counts.fields++;
        assert.equal(stored(field, shown(field, action[name]), action[name]), action[name]);
        assert.equal(changing.setField(definition, node.uuid, action, name, field, structuredClone(shown(field, action[name]))), definition);
      }
      const known = Object.fromEntries(asked.filter(([name]) => name in action).map(([name]) => [name, action[name]]));
      assert.deepEqual({ type: action.type, ...("uuid" in action ? { uuid: action.uuid } : {}), ...known, ...unknownParts(action, part) }, action);
    }
    if (!node.router || !Array.isArray(node.router.categories) || !Array.isArray(node.exits)) continue;
    assert.equal(changing.setSplit(definition, node, changing.splitOf(node), parts), definition);
    isUnchanged(changing.setRouterParts(definition, node, { result_name: node.router.result_name }));
    for (const [at, test] of (node.router.cases ?? []).entries()) {
      counts.tests++;
      isUnchanged(changing.setCase(definition, node, at, { arguments: test.arguments }));
      const own = node.router.categories.find(({ uuid }) => uuid === test.category_uuid);
      if (own?.name) isUnchanged(changing.nameCategoryOfCase(definition, node, at, own.name));
    }
    for (const text of textsOf(node, parts)) {
      for (const language of Object.keys(definition.localization ?? {})) {
        counts.texts++;
        const said = saidIn(definition, language, text);
        if (definition.localization[language][text.item]?.[text.property]?.length === said.length) isUnchanged(setSaid(definition, language, text, 0, said[0]));
      }
    }
  }
  assert.equal(JSON.stringify(definition), before, "a form changed what it was given");
}

const definitions = JSON.parse(readFileSync(cases, "utf8"));
for (const definition of definitions) {
  counts.definitions++;
  open(definition);
}

// Every type that the engine knows is made, filled and changed; that it can be read is checked by the engine.

const made = [];
const flowOf = (type, node, version = "14.4.2") => ({ uuid: uuidOf(1), name: "Made", spec_version: version, language: "eng", type, nodes: [node], _ui: { nodes: { [node.uuid]: { position: { left: 0, top: 0 }, type: "execute_actions" } } } });
const nodeOf = (actions = []) => ({ uuid: uuidOf(2), actions, exits: [{ uuid: uuidOf(3), destination_uuid: null }] });
const only = (definition) => definition.nodes[0];

/** What somebody puts into an input. */
function filled(name, { kind, is_list, refers_to, choices }) {
  const texts = { local: "answer", output_local: "answer", attachments: "image/jpeg:https://example.org/a.jpg", urns: "tel:+250788123123", addresses: "a@example.org" };
  const one = { boolean: true, choice: choices?.[0], flags: choices, map: [["X-Clinic", "@contact.name"]], amounts: [["RWF", "500"]], reference: refers_to === "field" ? { key: "age", name: "Age" } : reference }[kind] ?? texts[name] ?? "Hello @contact";
  return is_list ? [one] : one;
}

for (const [type, { fields, allowed_in }] of Object.entries(parts.actions)) {
  const asked = Object.entries(fields).filter(([, { kind }]) => kind !== "json");
  assert.ok(asked.length > 0, `${type} asks nothing`);
  let definition = changing.addNewAction(flowOf(allowed_in.at(-1), nodeOf()), uuidOf(2), type, parts);
  const action = () => only(definition).actions[0];
  const put = (from, name, field) => changing.setField(from, uuidOf(2), only(from).actions[0], name, field, filled(name, field));
  const needed = asked.filter(([name, { is_required }]) => is_required || ["text", "groups"].includes(name));
  for (const [name, field] of needed) definition = put(definition, name, field);
  made.push(definition);
  for (const [name, field] of asked) {
    if (name === "all_groups") definition = changing.setField(definition, uuidOf(2), action(), "groups", fields.groups, []);
    const changed = put(definition, name, field);
    assert.deepEqual(shown(field, only(changed).actions[0][name]), filled(name, field), `${type} ${name}`);
    made.push(changed);
  }
}

const splits = ["none", "msg", "dial", ...Object.keys(parts.routers)];
assert.deepEqual(Object.keys(parts.waits).filter((wait) => !splits.includes(wait)), [], "a wait without a form");
for (const from of splits) {
  for (const to of splits) {
    const begun = changing.setSplit(flowOf("voice", nodeOf()), nodeOf(), from, parts);
    let definition = changing.setSplit(begun, only(begun), to, parts);
    if (to === "dial") definition = changing.setWait(definition, only(definition), { phone: "+250788123123" });
    assert.equal(changing.splitOf(only(definition)), to);
    assert.equal(definition._ui.nodes[uuidOf(2)].type, changing.kindOf(only(definition)));
    made.push(definition);
  }
}

assert.deepEqual(Object.keys(parts.pauses), ["callback", "time"], "a pause without a form");
for (const from of ["none", "msg", "switch", "random", "time", "callback"]) {
  for (const to of ["time", "callback", "msg"]) {
    const begun = changing.setSplit(flowOf("messaging", nodeOf()), nodeOf(), from, parts);
    let definition = changing.setSplit(begun, only(begun), to, parts);
    assert.equal(changing.splitOf(only(definition)), to);
    made.push(definition);
    if (to !== "time") continue;
    definition = changing.setPauseEnd(definition, only(definition), { until: "08:00" });
    made.push(definition);
    assert.deepEqual(only(definition).router.wait.pause, { ends_by: "time", until: "08:00" });
    definition = changing.setPauseEnd(definition, only(definition), { seconds: 60 });
    assert.deepEqual([only(definition).router.wait.pause, only(definition).router.wait.timeout.seconds], [{ ends_by: "time" }, 60]);
  }
}

const waiting = changing.setSplit(flowOf("messaging", nodeOf()), nodeOf(), "msg", parts);
for (const [type, told] of Object.entries(parts.tests)) {
  let definition = changing.addCase(waiting, only(waiting), "has_text", parts);
  definition = changing.setTest(definition, only(definition), 0, type, parts);
  const given = told.flatMap(({ kind }) => (kind === "group" ? [reference.uuid, reference.name] : ["1"]));
  definition = changing.setCase(definition, only(definition), 0, { arguments: given });
  definition = changing.nameCategoryOfCase(definition, only(definition), 0, "Fits");
  definition = changing.setTimeLimit(definition, only(definition), 60);
  made.push(definition);
  assert.deepEqual(only(definition).router.categories.map(({ name }) => name), ["Fits", "Other", "No Response"]);
  definition = changing.setTimeLimit(definition, only(definition), null);
  definition = changing.removeCase(definition, only(definition), 0);
  assert.deepEqual([only(definition).exits, only(definition).router.cases, only(definition).router.wait], [only(waiting).exits, [], { type: "msg" }]);
}

for (const version of ["13.6.1", "14.4.2"]) {
  for (const type of Object.keys(parts.actions)) {
    const action = changing.newAction(type, parts);
    if (!changing.hasOutcome(action, parts)) continue;
    const given = Object.entries(parts.actions[type].fields).reduce((flow, [name, field]) => (field.is_required ? changing.setField(flow, uuidOf(2), only(flow).actions[0], name, field, filled(name, field)) : flow), flowOf("messaging", nodeOf([action]), version));
    const definition = changing.splitByOutcome(given, only(given), only(given).actions[0], parts);
    assert.notEqual(changing.kindOf(only(definition)), "split_by_expression", `${type} of ${version}`);
    assert.equal(definition._ui.nodes[uuidOf(2)].type, changing.kindOf(only(definition)));
    made.push(definition);
  }
}

// Categories of tests: a name that is there already is the same category; one that several lead to is not renamed.

let two = changing.addCase(waiting, only(waiting), "has_any_word", parts);
two = changing.addCase(two, only(two), "has_number", parts);
two = changing.nameCategoryOfCase(two, only(two), 0, "Yes");
two = changing.nameCategoryOfCase(two, only(two), 1, " yes ");
assert.deepEqual(only(two).router.categories.map(({ name }) => name), ["Yes", "Other"]);
assert.equal(only(two).exits.length, 2);
const apart = changing.nameCategoryOfCase(two, only(two), 1, "Number");
assert.deepEqual(only(apart).router.categories.map(({ name }) => name), ["Yes", "Other", "Number"]);
assert.deepEqual(changing.moveCase(apart, only(apart), 1, 0).nodes[0].router.cases.map(({ type }) => type), ["has_number", "has_any_word"]);
const bound = changing.setOperand({ ...apart, _ui: { nodes: { [uuidOf(2)]: { type: "split_by_contact_field", config: { operand: {} } } } } }, only(apart), "@contact.groups");
assert.deepEqual(bound._ui.nodes[uuidOf(2)], { type: "wait_for_response", config: {} });

// A quick reply that goes takes its translation along.

const replies = parts.actions.send_msg.fields.quick_replies;
const asks = { type: "send_msg", uuid: uuidOf(5), text: "Well?", quick_replies: ["Yes", "No"], topic: "event" };
const french = { ...flowOf("messaging", nodeOf([asks])), localization: { fra: { [uuidOf(5)]: { quick_replies: ["Oui", "Non"] } } } };
const fewer = changing.removeItem(french, uuidOf(2), asks, "quick_replies", replies, 0);
assert.deepEqual([only(fewer).actions[0].quick_replies, fewer.localization.fra[uuidOf(5)].quick_replies], [["No"], ["Non"]]);
assert.deepEqual(unknownParts(asks, parts.actions.send_msg), { topic: "event" });
assert.deepEqual(languagesOf(french, ["eng", "kin"]), ["fra", "kin"]);
const [text, choices] = textsOf(only(french), parts);
assert.deepEqual(progressOf(french, french.nodes, "fra", parts), { total: 2, done: 1 });
const told2 = setSaid(french, "fra", text, 0, "Alors ?");
assert.deepEqual(told2.localization.fra[uuidOf(5)], { quick_replies: ["Oui", "Non"], text: ["Alors ?"] });
assert.deepEqual(setSaid(setSaid(french, "fra", choices, 0, ""), "fra", choices, 1, " ").localization.fra, {});

// What comes next in an expression.

const workspace = { fields: [{ key: "age", name: "Age" }], globals: [{ key: "clinic", name: "Clinic" }] };
const asking = changing.setRouterParts(waiting, only(waiting), { result_name: "Weeks Left" });
const names = namesOf(parts, asking, workspace);
const offered = (typed) => completionsAt(typed, typed.length, names)?.items.map(({ insert }) => insert) ?? null;
assert.deepEqual(offered("Hello @con"), ["contact", "(concat(", "(contains("]);
assert.deepEqual(offered("Hello @contact.fi"), ["contact.fields", "contact.first_name"]);
assert.deepEqual(offered("@fields."), ["fields.age"]);
assert.deepEqual(offered("@contact.fields."), ["fields.age"].map((each) => `contact.${each}`));
assert.deepEqual(offered("@results."), ["results.weeks_left"]);
assert.deepEqual(offered("@results.weeks_left.va"), ["results.weeks_left.value"]);
assert.deepEqual(offered("@globals.c"), ["globals.clinic"]);
assert.deepEqual(offered("@(upper(contact.na"), ["contact.name"]);
assert.deepEqual(offered("@(if(contact.name = \"a)\", upp"), ["upper("]);
const isBegun = (typed) => completionsAt(typed, typed.length, namesOf(parts, changing.setRouterParts(asking, only(asking), { result_name: "Weeks" }), workspace))?.isBegun;
assert.deepEqual(["@con", "@contact.", "@", "@(up"].map(isBegun), [true, false, false, true]);
for (const typed of ["me@con", "@@con", "@contact.name", "@(\"con", "@(1) con", "Hello", "@("]) assert.equal(offered(typed), null, typed);
assert.deepEqual(["@(1", "@(\"a", "@(1) @@(", "a@b", "@(\"(\")"].map(isOpen), [true, true, false, false, false]);

writeFileSync(told, JSON.stringify({ ...counts, made, shown: Object.fromEntries(Object.entries(parts.actions).map(([type, { fields }]) => [type, Object.keys(fields)])) }));
