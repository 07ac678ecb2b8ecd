/** Numbers that a country changed: what a rule would change, and then the change. */

import { CountryChoice } from "../parts/choosers.js";
import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Field } from "../parts/small.js";
import { post } from "../shared/api.js";
import { useParts } from "../shared/repeat.js";
import { number, t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

/** @typedef {{old: string, new: string, country?: string}} Rule */
/** @typedef {import("../shared/contract.js").Written<"contact_renumberings">} Part */
/** @typedef {Pick<Part, "applied" | "renumbered" | "taken" | "untouched" | "examples" | "taken_examples">} Report */

/** The most examples that are shown of each kind. */
const EXAMPLES = 5;

/** @param {{onDone: () => void}} props */
export function Renumbering({ onDone }) {
  const parts = useParts();
  const [rule, setRule] = useState(/** @type {Rule | null} */ (null));
  const [report, setReport] = useState(/** @type {Report | null} */ (null));
  const walk = async (/** @type {Rule} */ wanted, /** @type {boolean} */ apply) => {
    /** @type {Report} */
    let sum = { applied: apply, renumbered: 0, taken: 0, untouched: 0, examples: [], taken_examples: [] };
    let after = /** @type {string | null} */ (null);
    setRule(null);
    setReport(null);
    const isWhole = await parts.run(async () => {
      const part = await post("contact_renumberings", { ...wanted, apply, ...(after ? { after } : {}) });
      sum = add(sum, part);
      setReport(sum);
      after = part.next;
      return after !== null;
    });
    if (isWhole && !apply) setRule(wanted);
    if (apply) onDone();
  };
  const preview = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const [old, its, country] = ["old", "new", "country"].map((name) => String(data.get(name)).replace(/\s/g, ""));
    walk({ old, new: its, ...(country ? { country } : {}) }, false);
  };
  const count = number(report?.renumbered ?? 0);
  const ask = (/** @type {Rule} */ wanted) =>
    confirmFirst({ title: t("renumber.title"), text: t("renumber.apply_text", { count, old: wanted.old, new: wanted.new }), submit: t("renumber.apply", { count }), onYes: async () => void walk(wanted, true) });
  return html`
    <section class="card renumbering" aria-labelledby="renumbering-title">
      <h2 id="renumbering-title">${t("renumber.title")}</h2>
      <p class="help">${t("renumber.help")}</p>
      <form class="form-grid" onSubmit=${preview} onInput=${() => setRule(null)}>
        <${Field} label=${t("renumber.old")} id="renumber-old"><input id="renumber-old" name="old" dir="ltr" inputmode="tel" placeholder="+229" required maxlength="16" pattern="\s*\+[0-9 ]*[0-9][0-9 ]*" title="+229" /><//>
        <${Field} label=${t("renumber.new")} id="renumber-new"><input id="renumber-new" name="new" dir="ltr" inputmode="tel" placeholder="+22901" required maxlength="16" pattern="\s*\+[0-9 ]*[0-9][0-9 ]*" title="+22901" /><//>
        <${Field} label=${t("renumber.country")} id="renumber-country" help=${t("renumber.country_help")}><${CountryChoice} id="renumber-country" /><//>
        <p class="actions">
          <button type="submit" disabled=${parts.isGoing}>${t("renumber.preview")}</button>
          ${rule && report && report.renumbered > 0 && html`<button type="button" class="danger" onClick=${() => ask(rule)}>${t("renumber.apply", { count })}</button>`}
          ${parts.isGoing && html`<button type="button" onClick=${parts.stop}>${t("parts.stop")}</button>`}
        </p>
      </form>
      ${parts.problem && html`<p class="problem" role="alert">${parts.problem}</p>`}
      ${report && html`<div role="status"><dl class="facts">
        <div><dt>${t(report.applied ? "renumber.changed" : "renumber.would")}</dt><dd>${number(report.renumbered)}<${Examples} examples=${report.examples} /></dd></div>
        <div><dt>${t("renumber.taken")}</dt><dd>${number(report.taken)}<${Examples} examples=${report.taken_examples} /></dd></div>
        <div><dt>${t("renumber.untouched")}</dt><dd>${number(report.untouched)}</dd></div>
      </dl></div>`}
    </section>
  `;
}

/** @param {{examples: Part["examples"]}} props */
const Examples = ({ examples }) =>
  examples.map((each) => html`<div key=${each.old} class="faint"><bdi>${each.old}</bdi> <${Icon} name="forward" size=${12} /> <bdi>${each.new}</bdi></div>`);

/** @param {Report} sum @param {Part} part @returns {Report} */
const add = (sum, part) => ({
  applied: part.applied,
  renumbered: sum.renumbered + part.renumbered,
  taken: sum.taken + part.taken,
  untouched: sum.untouched + part.untouched,
  examples: [...sum.examples, ...part.examples].slice(0, EXAMPLES),
  taken_examples: [...sum.taken_examples, ...part.taken_examples].slice(0, EXAMPLES),
});
