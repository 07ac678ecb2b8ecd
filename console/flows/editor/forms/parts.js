/** What the forms are made of: the parts that flows can consist of, and their texts and looks, which no other page needs. */

import { explain } from "../../../shared/explain.js";
import { addTexts, t, word } from "../../../shared/texts.js";
import { useEffect, useState } from "../../../shared/ui.js";

/** @typedef {keyof typeof import("./texts/en.json")} Text */

/** @type {Promise<import("./values.js").Parts> | null} */
let loading = null;

/** @returns {Promise<import("./values.js").Parts>} */
async function load() {
  const [answer] = await Promise.all([fetch(new URL("./parts.json", import.meta.url)), addTexts(new URL("./texts/", import.meta.url)), addLooks()]);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

/** @returns {Promise<void>} */
const addLooks = () =>
  new Promise((resolve, reject) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("./forms.css", import.meta.url).href, onload: () => resolve(), onerror: reject });
    document.head.append(link);
  });

/** The parts once they are there; what is wrong if they do not come. */
export function useParts() {
  const [parts, setParts] = useState(/** @type {import("./values.js").Parts | null} */ (null));
  const [problem, setProblem] = useState("");
  const start = () => {
    setProblem("");
    loading ??= load();
    loading.then(setParts, (error) => {
      loading = null;
      setProblem(explain(error));
    });
  };
  useEffect(start, []);
  return { parts, problem, start };
}

/** A text of the forms. @param {Text} key @param {Record<string, string | number>} [values] */
export const say = (key, values) => t(/** @type {any} */ (key), values);

/** What undoing takes back, as the editor is told. @param {Text} key @returns {import("../model.js").Label} */
export const label = (key) => /** @type {any} */ (key);

/** What people call a property of an action. @param {string} action @param {string} name */
export const fieldName = (action, name) => word("flow_field", `${action}-${name}`, word("flow_field", name));

/** What an example or a rule of a property is; empty if nothing has to be said. @param {string} action @param {string} name */
export const fieldHelp = (action, name) => word("flow_field_help", `${action}-${name}`, word("flow_field_help", name, ""));
