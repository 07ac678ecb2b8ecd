/** What a new workspace needs, a step at a time: each asks the API whether it is done, and leads to the page where it is done. */

import { Icon } from "../parts/icons.js";
import { get } from "../shared/api.js";
import { link } from "../shared/router.js";
import { account, may, workspace } from "../shared/session.js";
import { number, t, word } from "../shared/texts.js";
import { classes, html, useEffect, useState } from "../shared/ui.js";

/** @typedef {{name: string, needs: Parameters<typeof may>[0], place: string[], isDone: () => Promise<boolean>}} Step */

const ONE = { page_size: 1 };
/** @param {Promise<{results: unknown[]}>} page @param {number} [least] */
const has = async (page, least = 1) => (await page).results.length >= least;

/** @type {Step[]} */
const STEPS = [
  { name: "channel", needs: "claim_relayer", place: ["channels", "add"], isDone: () => has(get("channels", ONE)) },
  { name: "people", needs: "create_invitation", place: ["settings", "users"], isDone: async () => (await Promise.all([has(get("users", { page_size: 2 }), 2), has(get("invitations", ONE))])).includes(true) },
  { name: "contacts", needs: "list_contact_imports", place: ["contact_imports"], isDone: () => has(get("contacts", ONE)) },
  { name: "flow", needs: "write_definitions", place: ["flows", "templates"], isDone: () => has(get("flows", ONE)) },
  { name: "message", needs: "create_broadcast", place: ["broadcasts", "new"], isDone: () => has(get("messages", { ...ONE, folder: "sent" })) },
];

/** Kept for a person in a workspace who has seen all steps done, or wants to see them no more. */
const keyOf = () => `relayboard.steps.${workspace.value?.uuid}.${account.value?.user.email}`;

/** @param {{isYoung: boolean}} props whether the workspace may still have steps to do */
export function Steps({ isYoung }) {
  const steps = STEPS.filter(({ needs }) => may(needs));
  const [done, setDone] = useState(/** @type {boolean[] | null} */ (null));
  const [isHidden, setHidden] = useState(localStorage.getItem(keyOf()) !== null);
  const hide = () => {
    localStorage.setItem(keyOf(), "hidden");
    setHidden(true);
  };
  const isAsked = isYoung && !isHidden && steps.length > 0;
  useEffect(() => {
    if (!isAsked) return;
    // Without an answer the overview goes without the steps: its figures tell what is wrong with the service.
    Promise.all(steps.map(({ isDone }) => isDone())).then((found) => (found.every(Boolean) ? hide() : setDone(found)), () => setDone(null));
  }, [isAsked]);
  if (!isAsked || !done) return null;
  const next = done.indexOf(false);
  return html`
    <section class="card first-steps" aria-labelledby="steps-title">
      <header><h2 id="steps-title">${t("steps.title")}</h2><span class="faint">${t("steps.done", { done: number(done.filter(Boolean).length), all: number(steps.length) })}</span><span class="grows"></span>
        <button type="button" class="quiet" onClick=${hide}>${t("steps.hide")}</button></header>
      <ol>${steps.map(({ name, place }, at) => html`<li key=${name} class=${classes(done[at] && "done")}>
        <span class="step-mark">${done[at] ? html`<${Icon} name="check" size=${16} /><span class="hidden">${t("steps.is_done")}</span>` : number(at + 1)}</span>
        <div><strong>${word("step", name)}</strong>${!done[at] && html`<p>${word("step_help", name)}</p>`}</div>
        ${!done[at] && html`<a class=${classes("button", at === next && "primary")} href=${link(place)}>${word("step_act", name)}</a>`}
      </li>`)}</ol>
    </section>
  `;
}
