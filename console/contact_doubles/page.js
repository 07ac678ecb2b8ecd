/** Contacts who are probably one person, merged one by one or all of a kind; and numbers that change by a rule. */

import { MergeDialog } from "../contacts/merge_dialog.js";
import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { Empty, ListEnd } from "../parts/small.js";
import { post } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { addressOf, displayName } from "../shared/names.js";
import { useParts } from "../shared/repeat.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { Renumbering } from "./renumbering.js";

/** @typedef {import("../shared/contract.js").Listed<"contact_doubles">} Double */

const KINDS = /** @type {const} */ (["old_number", "two_schemes"]);

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Doubles({ place }) {
  const kind = KINDS.find((each) => each === place.query.kind);
  const list = useList("contact_doubles", { kind });
  const [merging, setMerging] = useState(/** @type {Double | null} */ (null));
  const parts = useParts();
  const [merged, setMerged] = useState({ done: 0, left: 0 });
  const mergeAll = async () => {
    let done = 0;
    if (!kind) return;
    await parts.run(async () => {
      const part = await post("contact_doubles", { kind, dry_run: false });
      setMerged({ done: (done += part.merged), left: part.left });
      return part.merged > 0 && part.left > 0;
    });
    list.reload();
  };
  const ask = () =>
    attempt(async () => {
      const { left } = await post("contact_doubles", { kind: /** @type {typeof KINDS[number]} */ (kind), dry_run: true });
      confirmFirst({ title: t("doubles.merge_all"), text: t("doubles.merge_all_text", { count: number(left) }), submit: t("contacts.merge_two"), onYes: async () => void mergeAll() });
    });
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["contacts"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t("doubles.title")}</h1>
        <select aria-label=${t("doubles.kind")} disabled=${parts.isGoing} onChange=${(/** @type {any} */ event) => go(["contact_doubles"], { kind: event.target.value })}>
          <option value="">${t("settings.all")}</option>
          ${KINDS.map((each) => html`<option key=${each} value=${each} selected=${each === kind}>${word("double_kind", each)}</option>`)}
        </select>
        <span class="grows"></span>
        ${kind && !isEmpty && !parts.isGoing && html`<button type="button" class="danger" onClick=${ask}>${t("doubles.merge_all")}</button>`}
        ${parts.isGoing && html`<button type="button" onClick=${parts.stop}>${t("parts.stop")}</button>`}
      </header>
      ${(parts.isGoing || merged.done > 0) && html`<p role="status">${t("doubles.merged", { done: number(merged.done), left: number(merged.left) })}</p>`}
      ${parts.problem && html`<p class="problem" role="alert">${parts.problem}</p>`}
      ${isEmpty ? html`<${Empty} icon="contacts" title=${t("doubles.none")} text=${t("doubles.none_text")} />` : html`<p class="help">${t("doubles.help")}</p>`}
      ${list.items.length > 0 &&
      html`<div class="table-box" tabindex="0" role="region" aria-label=${t("doubles.title")}>
        <table class="table stacked">
          <thead><tr><th scope="col">${t("doubles.stays")}</th><th scope="col">${t("doubles.other")}</th><th scope="col">${t("doubles.kind")}</th><th scope="col"></th></tr></thead>
          <tbody>${list.items.map((pair) => html`<tr key=${pair.other.uuid + pair.other_urn}>
            <td data-label=${t("doubles.stays")}><${Person} person=${pair.contact} urn=${pair.urn} /></td>
            <td data-label=${t("doubles.other")}><${Person} person=${pair.other} urn=${pair.other_urn} /></td>
            <td>${word("double_kind", pair.kind)}</td>
            <td class="number"><button type="button" disabled=${parts.isGoing} aria-label=${t("doubles.merge_pair", { name: displayName(pair.other.name, pair.other_urn) })} onClick=${() => setMerging(pair)}>${t("contacts.merge_two")}</button></td>
          </tr>`)}</tbody>
        </table>
      </div>`}
      <${ListEnd} list=${list} />
      ${may("renumber_contacts") && html`<${Renumbering} onDone=${list.reload} />`}
      ${merging && html`<${MergeDialog} contacts=${bothOf(merging)} onClose=${() => setMerging(null)} onDone=${list.reload} />`}
    </main>
  `;
}

/** @param {Double} pair */
const bothOf = ({ contact, urn, other, other_urn }) => [{ ...contact, urns: [urn] }, { ...other, urns: [other_urn] }];

/** @param {{person: Double["contact"], urn: string}} props */
const Person = ({ person, urn }) => html`
  <a href=${link(["contacts", person.uuid])}><bdi>${displayName(person.name, urn)}</bdi></a>
  <span class="faint">${word("scheme", urn.split(":")[0])} <bdi>${addressOf(urn)}</bdi></span>
`;
