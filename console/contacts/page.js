/** Contacts: the list, and one contact. */

import { useChanges } from "../shared/changes.js";
import { useList, useAll } from "../shared/lists.js";
import { go } from "../shared/router.js";
import { useTypedSearch } from "../shared/search.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { ContactDialog } from "./contact_dialog.js";
import { ContactPage } from "./contact.js";
import { completions, useQueryWords } from "./query_words.js";
import { ContactList } from "./contact_list.js";

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Contacts({ place }) {
  if (place.parts[0]) return html`<${ContactPage} key=${place.parts[0]} uuid=${place.parts[0]} />`;
  return html`<${ContactsPage} query=${place.query} />`;
}

/** @param {{query: Record<string, string>}} props */
function ContactsPage({ query }) {
  const { group = "", search = "" } = query;
  const [typed, setTyped] = useTypedSearch(search);
  const [adding, setAdding] = useState(false);
  const [counted, setCounted] = useState(0);
  const groups = useAll("groups", counted);
  useChanges(["contact"], () => setCounted((times) => times + 1));
  const list = useList("contacts", { group: group || undefined, query: search || undefined });
  const words = useQueryWords();
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <h1>${t("contacts.title")}</h1>
        <div class="search">
          <${Icon} name="search" size=${18} />
          <input type="search" aria-label=${t("contacts.search")} placeholder=${t("contacts.search")} value=${typed} list="query-words"
            autocapitalize="off" spellcheck="false" onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
          <datalist id="query-words">${completions(typed, words).map((text) => html`<option key=${text} value=${text}></option>`)}</datalist>
        </div>
        <select aria-label=${t("contacts.group")} onChange=${(/** @type {any} */ event) => go(["contacts"], { ...query, group: event.target.value })}>
          <option value="">${t("contacts.everybody")}</option>
          ${groups.map(({ uuid, name, count }) => html`<option key=${uuid} value=${uuid} selected=${uuid === group}>${name} (${count})</option>`)}
        </select>
        <${Menu} label=${t("act.more_actions")} items=${[
          may("list_contact_imports") && { text: t("imports.title"), icon: "plus", onPick: () => go(["contact_imports"]) },
          may("list_contact_doubles") && { text: t("doubles.title"), icon: "contacts", onPick: () => go(["contact_doubles"]) },
          may("list_exports") && { text: t("exports.title"), icon: "download", onPick: () => go(["exports"], { type: "contacts", group, query: search }) },
        ]} />
        ${may("write_contact") && html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" size=${18} /> ${t("contacts.add")}</button>`}
      </header>
      <${ContactList} key=${JSON.stringify([group, search])} list=${{ ...list, reload: () => (setCounted(counted + 1), list.reload()) }} groups=${groups} isFiltered=${!!(group || search)} />
      ${adding && html`<${ContactDialog} groups=${groups} onClose=${() => setAdding(false)} onDone=${(/** @type {any} */ contact) => go(["contacts", contact.uuid])} />`}
    </main>
  `;
}
