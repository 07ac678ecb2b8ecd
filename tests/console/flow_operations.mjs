// Does to each definition of a file what an editor does, and writes what came of it: `node flow_operations.mjs EDITOR CASES TOLD`.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

const [editor, cases, told] = process.argv.slice(2);
const model = await import(`${editor}/model.js`);
const { copied, missingFrom, pasted, readClip, withResult } = await import(`${editor}/clipboard.js`);
const { linesFrom, routesAround } = await import(`${editor}/lines.js`);
const { clipOf, PATTERNS } = await import(`${editor}/patterns.js`);
const { cutOut, NotCut } = await import(`${editor}/subflow.js`);

const isWhole = ({ nodes }) => nodes.every((node) => node?.uuid && Array.isArray(node.exits) && node.exits.every((each) => each?.uuid) && (node.actions ?? []).every((each) => each?.uuid));
const uuids = (definition) => definition.nodes.flatMap((node) => [node.uuid, ...node.exits.map(({ uuid }) => uuid), ...model.itemsOf(node)]);
const counts = { definitions: 0, operated: 0, refused: {}, cuts: [] };

/** @param {any} given */
function operate(given) {
  const before = JSON.stringify(given);
  const all = given.nodes.map(({ uuid }) => uuid);
  let state = model.begin(given);
  const steps = [
    (now) => model.moveNodes(now, new Map(all.map((uuid, at) => [uuid, { left: at * 7.4, top: -3 }]))),
    (now) => model.addNode(now, model.plainNode([{ type: "send_msg", uuid: model.newUuid(), text: "Hi" }]), { left: 1, top: 2 }),
    ...given.nodes.flatMap(({ exits }) => exits.map(({ uuid }) => (now) => model.connect(now, uuid, now.nodes.at(-1).uuid))),
    ...given.nodes.flatMap(({ exits }) => exits.map(({ uuid }) => (now) => model.insertNode(now, uuid, model.plainNode([]), { left: 0, top: 0 }))),
    ...(all.length > 0 ? [(now) => pasted(now, readClip(JSON.stringify(copied(now, all))), { left: 10, top: 10 }).definition] : []),
    ...all.map((uuid) => (now) => model.enterAt(now, uuid)),
    ...all.map((uuid) => (now) => model.deleteNodes(now, [uuid])),
  ];
  for (const step of steps) state = model.change(state, "flow_change.form", step(state.definition));
  assert.equal(new Set(uuids(state.definition)).size, uuids(state.definition).length, "a UUID is there twice");
  const last = state.definition;
  while (state.undo.length > 0) state = model.undone(state);
  assert.equal(state.definition, given);
  assert.equal(JSON.stringify(given), before, "an operation changed what it was given");
  while (state.redo.length > 0) state = model.redone(state);
  assert.equal(state.definition, last);

  const twice = pasted(given, copied(given, all), { left: 0, top: 500 });
  const { _ui: ui, localization = {}, ...rest } = model.deleteNodes(twice.definition, twice.nodes);
  const { _ui: was, localization: said = {}, ...others } = given;
  assert.deepEqual([rest, localization, model.uiOf({ _ui: ui })], [others, said, model.uiOf({ _ui: was })]);
  const results = model.resultNames(given).map(model.resultKey);
  assert.equal(new Set(model.resultNames(twice.definition).map(model.resultKey)).size, 2 * new Set(results).size);
}

/** Each node, each with what it leads to, and all: which of them can be a flow of their own. @param {any} given */
function cutting(given) {
  const before = JSON.stringify(given);
  const led = (node) => node.exits.map(({ destination_uuid: to }) => to).filter((to) => to && model.findNode(given, to));
  const choices = given.nodes.flatMap((node) => [[node.uuid], [...new Set([node.uuid, ...led(node)])]]);
  const cuts = [];
  for (const chosen of [...new Set([...choices, given.nodes.map(({ uuid }) => uuid)].map((each) => each.join()))].filter(Boolean)) {
    try {
      const { subflow, leave } = cutOut(given, chosen.split(","), { name: "Cut", outcome: "Way on" });
      const { definition } = leave({ uuid: subflow.uuid, name: "Cut" });
      const all = [...uuids(definition), ...uuids(subflow)];
      assert.equal(new Set(all).size, all.length, "a UUID is there twice");
      assert.equal(definition.nodes.some(({ uuid }) => chosen.includes(uuid)), false);
      cuts.push({ of: definitions.indexOf(given), definition, subflow });
    } catch (error) {
      if (!(error instanceof NotCut)) throw error;
      counts.refused[error.reason] = (counts.refused[error.reason] ?? 0) + 1;
    }
  }
  assert.equal(JSON.stringify(given), before, "a cut changed what it was given");
  return cuts;
}

const definitions = JSON.parse(readFileSync(cases, "utf8"));
for (const given of definitions) {
  counts.definitions++;
  if (!isWhole(given) || new Set(uuids(given)).size !== uuids(given).length) continue;
  operate(given);
  counts.cuts.push(...cutting(given));
  counts.operated++;
}

// A node by hand: what goes with what.
const other = (number) => `5d1f0a52-5f0e-4a4e-8d09-00000000000${number}`;
const [asks, says] = [other(1), other(2)];
const question = {
  uuid: asks,
  actions: [{ type: "send_msg", uuid: other(3), text: "Are you @results.age? @(results.age + results.age_group) @parent.results.age @@results.age results.age" }],
  router: {
    type: "switch", operand: "@input.text", result_name: "Age", default_category_uuid: other(5),
    cases: [{ uuid: other(4), type: "has_group", arguments: ["aaaa", "Mothers"], category_uuid: other(5) }],
    categories: [{ uuid: other(5), name: "All", exit_uuid: other(6) }],
  },
  exits: [{ uuid: other(6), destination_uuid: says }],
};
const answer = { uuid: says, actions: [{ type: "set_contact_field", uuid: other(7), field: { key: "age", name: "Age" }, value: "@results.age" }], exits: [{ uuid: other(8), destination_uuid: asks }] };
const french = { [other(3)]: { text: ["Quel âge ?"] }, [other(5)]: { name: ["Tous"] }, [other(7)]: { odd: ["kept"] } };
const flow = { uuid: other(9), odd: [1], localization: { fra: french, kin: {} }, nodes: [question, answer], _ui: { stickies: { a: 1 }, nodes: { [asks]: { position: { left: 5, top: 6, right: 7 }, config: { cases: { [other(4)]: 1 } } } } } };

const { definition, nodes, renamed } = pasted(flow, copied(flow, [asks]), { left: 100, top: 100 });
const copy = model.findNode(definition, nodes[0]);
assert.deepEqual(renamed, [{ from: "Age", to: "Age 2" }]);
assert.equal(copy.router.result_name, "Age 2");
assert.equal(copy.actions[0].text, "Are you @results.age_2? @(results.age_2 + results.age_group) @parent.results.age @@results.age results.age");
assert.deepEqual([copy.exits[0].destination_uuid, copy.router.categories[0].exit_uuid], [null, copy.exits[0].uuid]);
assert.deepEqual(definition.localization.fra[copy.actions[0].uuid], { text: ["Quel âge ?"] });
assert.deepEqual(definition._ui.nodes[copy.uuid], { position: { left: 100, top: 100 }, config: { cases: { [copy.router.cases[0].uuid]: 1 } } });
assert.deepEqual(missingFrom(copied(flow, [asks, says]), { groups: [{ uuid: "bbbb", name: "Mothers" }], fields: [] }), ["Age", "Mothers"]);
assert.equal(withResult("@(upper(\"results.a)\") & results.a)", "a", "b"), "@(upper(\"results.b)\") & results.b)");
assert.equal(readClip('{"relayboard": "nodes", "nodes": [{}]}'), null);
assert.equal(readClip("hello"), null);

const without = model.removeAction(flow, asks, other(3));
assert.deepEqual(without.localization, { fra: { [other(5)]: { name: ["Tous"] }, [other(7)]: { odd: ["kept"] } }, kin: {} });
const routerless = model.setRouter(flow, asks, null);
assert.deepEqual([model.findNode(routerless, asks).router, model.findNode(routerless, asks).exits], [undefined, question.exits]);
assert.deepEqual(Object.keys(routerless.localization.fra), [other(3), other(7)]);
const two = model.addAction(flow, says, { type: "set_contact_name", uuid: "x", name: "A" }, 0);
assert.deepEqual(model.findNode(model.moveAction(two, says, "x", 1), says).actions.map(({ uuid }) => uuid), [other(7), "x"]);
assert.equal(model.connect(flow, other(6), says), flow);
assert.equal(model.connect(flow, other(6), other(0)), flow);
assert.deepEqual(model.translate(flow, "kin", other(3), "text", ["Yego"]).localization.kin, { [other(3)]: { text: ["Yego"] } });
assert.equal(model.translate(model.translate(flow, "kin", other(3), "text", ["Yego"]), "kin", other(3), "text", null).localization.kin[other(3)], undefined);

// Notes: what cannot be drawn stays, and what is known of a place moves with it.
const noted = model.setSticky(flow, "n", { title: "Ask", position: { left: 50, top: 60, right: 232, odd: 1 } });
assert.deepEqual([noted._ui.stickies.a, [...model.stickiesOf(noted).keys()], noted.nodes], [1, ["n"], flow.nodes]);
assert.deepEqual(model.moveSticky(noted, "n", -80, 10)._ui.stickies.n, { title: "Ask", position: { left: 0, top: 70, right: 182, odd: 1 } });
assert.deepEqual(model.setSticky(noted, "n", null), flow);
assert.equal(model.moveSticky(noted, "a", 1, 1), noted);

// A line whose curve would run behind a node goes around it, again when the node comes there, and not when it is gone.
const box = (x, y) => ({ x, y, width: 230, height: 150 });
const start = { uuid: "s", exits: [{ uuid: "e", destination_uuid: "t" }] };
const free = new Map([["s", box(0, 0)], ["t", box(0, 600)]]);
const drawn = (routes) => linesFrom(start, routes.boxes, routes)[0].d;
const straight = drawn(routesAround(free, null));
const crowded = routesAround(new Map([...free, ["b", box(20, 300)]]), routesAround(free, null));
assert.match(straight, / C/);
assert.match(drawn(crowded), /^M230,130 L.* L115,600$/);
const uprights = [...drawn(crowded).matchAll(/L(\d+),(\d+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
assert.ok(uprights.every(([x, y]) => y <= 300 || y >= 450 || x <= 20 || x >= 250), "the way around runs behind the node");
assert.equal(drawn(routesAround(free, crowded)), straight);

let moved = model.begin(flow);
for (let step = 0; step < 200; step++) moved = model.change(moved, "flow_change.move", model.moveNodes(moved.definition, new Map([[says, { left: step, top: 0 }]])));
for (let step = 0; step < 200; step++) moved = model.undone(moved);
assert.deepEqual([moved.definition, moved.undo.length, moved.redo.length], [flow, 0, 200]);

let typed = model.begin(flow);
for (const [text, now] of [["a", 0], ["ab", 500], ["abc", 1400], ["abcd", 3000]]) typed = model.change(typed, "flow_change.form", { ...flow, text }, "field", now);
assert.deepEqual(typed.undo.map((step) => step.definition.text), [undefined, "abc"]);
assert.equal(model.undone(typed).definition.text, "abc");

const empty = { uuid: model.newUuid(), name: "Begun", language: "eng", type: "messaging", spec_version: "14.4.2", localization: {}, nodes: [] };
const begun = PATTERNS.map((pattern) => pasted(empty, readClip(JSON.stringify(clipOf(pattern, empty))), { left: 0, top: 0 }).definition);

writeFileSync(told, JSON.stringify({ ...counts, begun, stored: definitions.map((each) => model.begin(each).definition) }));
