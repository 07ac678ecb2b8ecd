/** The kinds of nodes that people add, as a flow can have them, and what each has at first. */

import { t } from "../../shared/texts.js";
import { acting, deciding, freeName, newUuid, plainNode, resultKey, resultNames } from "./model.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./model.js").FlowNode} FlowNode
 * @typedef {{kind: string, ui: string, isFor?: (type: string) => boolean, make: (definition: Definition) => FlowNode}} Kind
 */

/** Names of categories as all editors of the format give them. */
const [ALL, OTHER] = ["All Responses", "Other"];
const isVoice = (/** @type {string} */ type) => type === "voice";
const isMessaging = (/** @type {string} */ type) => type === "messaging";
const isCalling = (/** @type {string} */ type) => type !== "messaging_offline";

/** Some parts have other properties from 14 on. @param {Definition} definition */
export const isNewer = ({ spec_version: version }) => Number(String(version ?? "").split(".")[0]) >= 14;

/** From 14 on a web service leaves its status, before that its result. @param {Definition} definition */
export function calling(definition) {
  const isNew = isNewer(definition);
  const name = freeName(t("flow_editor.call"), resultNames(definition));
  const test = isNew ? { type: "has_number_between", arguments: ["200", "299"] } : { type: "has_only_text", arguments: ["Success"] };
  const operand = isNew ? "@(default(webhook.status, 0))" : `@results.${resultKey(name)}.category`;
  return deciding({ operand, cases: [{ ...test, category: "Success" }], otherwise: "Failure" }, [{ uuid: newUuid(), type: "call_webhook", method: "GET", url: "", ...(isNew ? {} : { result_name: name }) }]);
}

/** In the order in which they are offered. @type {Kind[]} */
const KINDS = [
  { kind: "send_msg", ui: "execute_actions", isFor: (type) => !isVoice(type), make: () => acting({ type: "send_msg", text: "" }) },
  { kind: "say_msg", ui: "execute_actions", isFor: isVoice, make: () => acting({ type: "say_msg", text: "" }) },
  {
    kind: "wait_for_response",
    ui: "wait_for_response",
    isFor: (type) => type !== "messaging_background",
    make: (definition) => deciding({ wait: { type: "msg", ...(isVoice(String(definition.type)) ? { hint: { type: "digits" } } : {}) }, result_name: freeName(t("flow_editor.result_1"), resultNames(definition)), operand: "@input.text", otherwise: ALL }),
  },
  {
    kind: "wait_for_time",
    ui: "wait_for_response",
    isFor: isMessaging,
    make: () => {
      const node = deciding({ operand: "@input.text", otherwise: "Continue" });
      const timeout = { seconds: 3600, category_uuid: node.router.default_category_uuid };
      return { ...node, router: { ...node.router, wait: { type: "msg", timeout, pause: { ends_by: "time" } } } };
    },
  },
  {
    kind: "wait_for_callback",
    ui: "wait_for_response",
    isFor: isMessaging,
    make: (definition) => deciding({ wait: { type: "msg", pause: { ends_by: "callback" } }, result_name: freeName(t("flow_editor.result_1"), resultNames(definition)), operand: "@resume.body", otherwise: ALL }),
  },
  { kind: "set_contact_field", ui: "execute_actions", make: () => acting({ type: "set_contact_field", field: { key: "", name: "" }, value: "" }) },
  { kind: "add_contact_groups", ui: "execute_actions", make: () => acting({ type: "add_contact_groups", groups: [] }) },
  { kind: "split_by_expression", ui: "split_by_expression", make: () => deciding({ operand: "@contact", otherwise: OTHER }) },
  { kind: "split_by_groups", ui: "split_by_groups", make: () => deciding({ operand: "@contact.groups", otherwise: OTHER }) },
  {
    kind: "split_by_random",
    ui: "split_by_random",
    make: () => {
      const { router: { categories }, ...node } = deciding({ operand: "", cases: [{ type: "", arguments: [], category: "Bucket 1" }], otherwise: "Bucket 2" });
      return { ...node, router: { type: "random", categories } };
    },
  },
  {
    kind: "split_by_subflow",
    ui: "split_by_subflow",
    make: () =>
      deciding({ operand: "@child.status", cases: [{ type: "has_only_text", arguments: ["completed"], category: "Complete" }, { type: "has_only_text", arguments: ["expired"], category: "Expired" }], otherwise: OTHER }, [{ uuid: newUuid(), type: "enter_flow", flow: { uuid: "", name: "" } }]),
  },
  { kind: "split_by_webhook", ui: "split_by_webhook", isFor: isCalling, make: calling },
  { kind: "open_ticket", ui: "execute_actions", isFor: isCalling, make: (definition) => acting({ type: "open_ticket", topic: null, [isNewer(definition) ? "note" : "body"]: "" }) },
  { kind: "execute_actions", ui: "execute_actions", make: () => plainNode([]) },
];

/** Those that a flow of its type can have. @param {Definition} definition */
export const kindsFor = ({ type }) => KINDS.filter(({ isFor }) => !isFor || isFor(String(type)));
