/** Contacts: the list, and one contact. */

import { get, newKey, post } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { useList, useAll } from "../shared/lists.js";
import { go } from "../shared/router.js";
import { useTypedSearch } from "../shared/search.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { Icon } from "../parts/icons.js";
import { FormDialog } from "../parts/dialog.js";
import { Menu } from "../parts/menu.js";
import { Field } from "../parts/small.js";
import { ContactDialog } from "./contact_dialog.js";
import { ContactPage } from "./contact.js";
import { completions, useQueryWords } from "../shared/query_words.js";
import { Columns, ContactList, countText, useColumns } from "./contact_list.js";
import { Jobs, whoMatch } from "./everyone.js";

/** The orders of the list, as its address names them, and what the service calls them. */
const ORDERS = /** @type {const} */ ({
  "": { text: "contacts.newest_first", asked: {} },
  oldest: { text: "contacts.oldest_first", asked: { reverse: "true" } },
  name: { text: "contacts.by_name", asked: { sort: "name" } },
  name_back: { text: "contacts.by_name_back", asked: { sort: "name", reverse: "true" } },
});
/** @typedef {keyof typeof ORDERS} Order */

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Contacts({ place }) {
  if (place.parts[0]) return html`<${ContactPage} key=${place.parts[0]} uuid=${place.parts[0]} />`;
  return html`<${ContactsPage} query=${place.query} />`;
}

/** @param {{query: Record<string, string>}} props */
function ContactsPage({ query }) {
  const { group = "", search = "", order = "" } = query;
  const [typed, setTyped] = useTypedSearch(search);
  const [adding, setAdding] = useState(false);
  const [saving, setSaving] = useState(false);
  const [counted, setCounted] = useState(0);
  const groups = useAll("groups", counted);
  const sorted = /** @type {Order} */ (order in ORDERS ? order : "");
  const sort = (/** @type {Order} */ chosen) => go(["contacts"], { ...query, order: chosen });
  const list = useList("contacts", { group: group || undefined, query: search || undefined, ...ORDERS[sorted].asked });
  useChanges(["contact"], (told) => {
    setCounted((times) => times + 1);
    // Each message changes its contact: rows are asked for again only if nobody knows what changed.
    return told || list.loading ? undefined : list.refresh();
  });
  const total = useCount({ group: group || undefined, query: search || undefined }, counted);
  // Who is new, or joins a group while its query is looked at, would be counted and not shown.
  useEffect(() => {
    if (total && !list.loading && !list.hasMore && total.value > list.items.length) list.refresh();
  }, [total, list.loading]);
  const words = useQueryWords();
  const fields = useAll("fields");
  const [columns, setColumns] = useColumns();
  const [begun, setBegun] = useState("");
  const recount = () => (setCounted((times) => times + 1), list.reload());
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <h1>${t("contacts.title")}</h1>
        ${total && html`<p class="faint" role="status">${countText(total)}</p>`}
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
        <${Columns} columns=${columns} fields=${fields} onChange=${setColumns} />
        <${Menu} label=${t("act.more_actions")} items=${[
          may("write_group") && !!search && { text: t("contacts.save_search"), icon: "bookmark", onPick: () => setSaving(true) },
          .../** @type {Order[]} */ (Object.keys(ORDERS)).map((name) => ({ text: t(ORDERS[name].text), checked: name === sorted, onPick: () => sort(name) })),
          may("list_contact_imports") && { text: t("imports.title"), icon: "plus", onPick: () => go(["contact_imports"]) },
          may("list_contact_doubles") && { text: t("doubles.title"), icon: "contacts", onPick: () => go(["contact_doubles"]) },
          may("list_exports") && { text: t("exports.title"), icon: "download", onPick: () => go(["exports"], { type: "contacts", group, query: search }) },
        ]} />
        ${may("write_contact") && html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" size=${18} /> ${t("contacts.add")}</button>`}
      </header>
      <${Jobs} begun=${begun} onEnd=${recount} />
      <${ContactList} key=${JSON.stringify([group, search, order])} list=${{ ...list, reload: recount }} groups=${groups} fields=${fields} columns=${columns} isFiltered=${!!(group || search)}
        order=${sorted} onSort=${sort} total=${total} who=${whoMatch(group, search)} onBegun=${setBegun} />
      ${saving && html`<${SaveSearch} search=${search} onClose=${() => setSaving(false)} />`}
      ${adding && html`<${ContactDialog} groups=${groups} onClose=${() => setAdding(false)} onDone=${(/** @type {any} */ contact) => go(["contacts", contact.uuid])} />`}
    </main>
  `;
}

/** How many there are. @param {import("../shared/contract.js").Filters<"contacts">} filters @param {number} state when it changes, they are counted again */
function useCount(filters, state) {
  const [count, setCount] = useState(/** @type {{value: number, is_exact: boolean} | null} */ (null));
  const key = JSON.stringify(filters);
  useEffect(() => {
    const stop = new AbortController();
    get("contacts", { ...filters, count: true, page_size: 1 }, stop.signal).then(
      (page) => setCount(page.count ?? null),
      () => !stop.signal.aborted && setCount(null),
    );
    return () => stop.abort();
  }, [key, state]);
  return count;
}

/** Makes a group of whoever matches, now and later. @param {{search: string, onClose: () => void}} props */
function SaveSearch({ search, onClose }) {
  const key = useRef(newKey());
  const save = async (/** @type {FormData} */ data) => {
    const made = await post("groups", { name: String(data.get("name")).trim(), query: search }, undefined, key.current);
    go(["contacts"], { group: made.uuid });
  };
  return html`
    <${FormDialog} title=${t("contacts.save_search")} submit=${t("act.save")} draft="contacts.search" onSubmit=${save} onClose=${onClose}>
      <p>${t("contacts.save_search_help")} <code dir="ltr">${search}</code></p>
      <${Field} label=${t("contact.name")} id="search-name"><input id="search-name" name="name" required maxlength="64" dir="auto" /><//>
    <//>
  `;
}
