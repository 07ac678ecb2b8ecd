/** Steps that most flows need, ready to be put in: what people write themselves stands in their language. */

import { t } from "../../shared/texts.js";
import { WIDTH } from "../layout.js";
import { calling, isNewer } from "./kinds.js";
import { acting, deciding, freeName, newUuid, plainNode, resultNames } from "./model.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").FlowNode} FlowNode
 * @typedef {import("./model.js").Action} Action
 * @typedef {{type: string, arguments: string[], category: string}} Test
 * @typedef {{name: string, make: (definition: Definition) => FlowNode[]}} Pattern the first node is where it begins
 */

/** Names of categories as all editors of the format give them. */
const [OTHER, SILENT] = ["Other", "No Response"];
const DAY_SECONDS = 86_400;
/** Contacts are asked so often in all. */
const MOST_TRIES = 3;
const ROW = 320;

/** @param {string} text @param {string[]} [replies] @returns {Action} */
const saying = (text, replies = []) => ({ type: "send_msg", text, ...(replies.length > 0 ? { quick_replies: replies } : {}) });

/** Leads the exits of a node on, in their order. @param {FlowNode} node @param {(FlowNode | null)[]} to @returns {FlowNode} */
const leading = (node, to) => ({ ...node, exits: node.exits.map((exit, at) => ({ ...exit, destination_uuid: to[at]?.uuid ?? null })) });

/**
 * A question with an answer that is looked at; whoever answers otherwise is asked again, three times in all, and then there is
 * a way out.
 * @param {Definition} definition @param {{ask: string, replies?: string[], tests: Test[], again: string}} about
 */
function asking(definition, { ask, replies = [], tests, again }) {
  const result_name = freeName(t("flow_editor.result_1"), resultNames(definition));
  const question = deciding({ wait: { type: "msg" }, result_name, operand: "@input.text", cases: tests, otherwise: OTHER }, [{ uuid: newUuid(), ...saying(ask, replies) }]);
  const misunderstood = acting(saying(again));
  const gaveUp = acting(saying(t("flow_pattern.gave_up")));
  const tries = deciding({ operand: "@node.visit_count", cases: [{ type: "has_number_lt", arguments: [String(MOST_TRIES)], category: t("flow_pattern.again") }], otherwise: t("flow_pattern.enough") });
  return [leading(question, [...tests.map(() => null), tries]), leading(tries, [misunderstood, gaveUp]), leading(misunderstood, [question]), gaveUp];
}

/** In the order in which they are offered. @type {Pattern[]} */
export const PATTERNS = [
  { name: "question", make: (definition) => asking(definition, { ask: t("flow_pattern.ask"), tests: [{ type: "has_text", arguments: [], category: t("flow_pattern.answered") }], again: t("flow_pattern.please_again") }) },
  {
    name: "yes_no",
    make: (definition) => {
      const [yes, no] = [t("flow_pattern.yes"), t("flow_pattern.no")];
      const tests = [yes, no].map((each) => ({ type: "has_any_word", arguments: [each.toLowerCase()], category: each }));
      return asking(definition, { ask: t("flow_pattern.ask_yes_no"), replies: [yes, no], tests, again: t("flow_pattern.please_yes_no") });
    },
  },
  { name: "number", make: (definition) => asking(definition, { ask: t("flow_pattern.ask_number"), tests: [{ type: "has_number_between", arguments: ["1", "100"], category: t("flow_pattern.in_range") }], again: t("flow_pattern.please_number") }) },
  { name: "date", make: (definition) => asking(definition, { ask: t("flow_pattern.ask_date"), tests: [{ type: "has_date", arguments: [], category: t("flow_pattern.is_date") }], again: t("flow_pattern.please_date") }) },
  {
    name: "menu",
    make: (definition) => {
      const tests = ["1", "2", "3"].map((each) => ({ type: "has_number_eq", arguments: [each], category: t("flow_pattern.choice", { number: each }) }));
      return asking(definition, { ask: t("flow_pattern.ask_menu"), tests, again: t("flow_pattern.please_menu") });
    },
  },
  {
    name: "opt_out",
    make: (definition) => {
      const stop = t("flow_pattern.stop");
      const question = deciding({ wait: { type: "msg" }, result_name: freeName(t("flow_editor.result_1"), resultNames(definition)), operand: "@input.text", cases: [{ type: "has_any_word", arguments: [stop.toLowerCase()], category: stop }], otherwise: OTHER }, [{ uuid: newUuid(), ...saying(t("flow_pattern.ask_stop", { word: stop })) }]);
      const leaves = plainNode([{ uuid: newUuid(), ...saying(t("flow_pattern.stopped")) }, { uuid: newUuid(), type: "set_contact_status", status: "stopped" }]);
      return [leading(question, [leaves, null]), leaves];
    },
  },
  {
    name: "ticket",
    make: (definition) => {
      const name = freeName(t("flow_editor.result_1"), resultNames(definition));
      const silent = { uuid: newUuid(), name: SILENT, exit_uuid: newUuid() };
      const asked = deciding({ result_name: name, operand: "@input.text", otherwise: "All Responses" }, [{ uuid: newUuid(), ...saying(t("flow_pattern.ask_help")) }]);
      const router = { ...asked.router, wait: { type: "msg", timeout: { seconds: DAY_SECONDS, category_uuid: silent.uuid } }, categories: [...asked.router.categories, silent] };
      const question = { ...asked, router, exits: [...asked.exits, { uuid: silent.exit_uuid, destination_uuid: null }] };
      const opens = plainNode([{ uuid: newUuid(), type: "open_ticket", topic: null, [isNewer(definition) ? "note" : "body"]: "@input.text" }, { uuid: newUuid(), ...saying(t("flow_pattern.ticket_opened")) }]);
      return [leading(question, [opens, null]), opens];
    },
  },
  {
    name: "webhook",
    make: (definition) => {
      const failed = acting(saying(t("flow_pattern.call_failed")));
      return [leading(calling(definition), [null, failed]), failed];
    },
  },
];

/** The message that starts a flow answers a wait in its first node: there the question has a node of its own. @param {FlowNode[]} nodes @returns {FlowNode[]} */
function begun([question, ...others]) {
  if (!question.router?.wait) return [question, ...others];
  const asks = { ...plainNode(question.actions), exits: [{ uuid: newUuid(), destination_uuid: question.uuid }] };
  const again = others.map((node) => ({ ...node, exits: node.exits.map((exit) => (exit.destination_uuid === question.uuid ? { ...exit, destination_uuid: asks.uuid } : exit)) }));
  return [asks, { ...question, actions: [] }, ...again];
}

/** The nodes of a pattern with their places, as text of the clipboard has them. @param {Pattern} pattern @param {Definition} definition @returns {import("./clipboard.js").Clip} */
export function clipOf(pattern, definition) {
  const made = pattern.make(definition);
  const nodes = definition.nodes.length === 0 ? begun(made) : made;
  const below = nodes.length - made.length;
  const ui = Object.fromEntries(nodes.map((node, at) => {
    const kind = node.router?.wait ? "wait_for_response" : node.router ? "split_by_expression" : "execute_actions";
    return [node.uuid, { type: kind, position: at <= below ? { left: 0, top: at * (ROW / 2) } : { left: WIDTH + 40, top: (at - 1) * (ROW / 2) } }];
  }));
  return { relayboard: "nodes", nodes, ui, localization: {} };
}
