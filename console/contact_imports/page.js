/** Files of contacts: one is chosen here, looked at, and imported by a worker. */

import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { Badge, Empty, ListEnd } from "../parts/small.js";
import { upload } from "../shared/api.js";
import { useList } from "../shared/lists.js";
import { useRepeat } from "../shared/repeat.js";
import { go, link } from "../shared/router.js";
import { fullTime, listTime, number, t, word } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";
import { ImportPage } from "./import.js";

/** @typedef {import("../shared/contract.js").Listed<"contact_imports">} Import */

const FILES = ".xlsx,.xls,.xlsb,.ods,.csv,.tsv,.txt";
const GOING = ["reading", "pending", "running"];
/** @type {Record<string, "good" | "bad" | "warn">} */
export const TONES = { completed: "good", failed: "bad", ready: "warn", cancelled: "bad", taken_back: "warn" };
export const isGoing = (/** @type {Import | null | undefined} */ each) => !!each && GOING.includes(each.status);

/** @param {{place: import("../shared/router.js").Place}} props */
export default function Imports({ place }) {
  const [chosen] = place.parts;
  return chosen ? html`<${ImportPage} key=${chosen} uuid=${chosen} />` : html`<${ImportList} />`;
}

function ImportList() {
  const list = useList("contact_imports", {});
  useRepeat(list.items.some(isGoing), list.refresh);
  const isEmpty = list.items.length === 0 && !list.loading && !list.problem;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["contacts"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t("imports.title")}</h1><span class="grows"></span>
        ${!isEmpty && html`<${FileButton} />`}
      </header>
      ${isEmpty && html`<${Empty} icon="contacts" title=${t("imports.empty")} text=${t("imports.empty_text")}><${FileButton} /><//>`}
      ${list.items.length > 0 && html`<p class="help">${t("imports.help")}</p>`}
      <ul class="stack">
        ${list.items.map((each) => html`<li key=${each.uuid} class="card job">
          <a href=${link(["contact_imports", each.uuid])}><strong dir="auto">${each.filename}</strong></a>
          <${Badge} tone=${TONES[each.status]}>${word("import_status", each.status)}<//>
          <span class="grows">${t("imports.rows", { count: number(each.row_count) })}</span>
          <time datetime=${each.created_on} title=${fullTime(each.created_on)}>${listTime(each.created_on)}</time>
        </li>`)}
      </ul>
      <${ListEnd} list=${list} />
    </main>
  `;
}

function FileButton() {
  const [uploading, setUploading] = useState(false);
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const store = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    setUploading(true);
    await attempt(async () => go(["contact_imports", (await upload(file, "contact_imports")).uuid]));
    setUploading(false);
  };
  return html`
    <input ref=${picker} type="file" hidden accept=${FILES} tabindex="-1" aria-label=${t("imports.choose")}
      onChange=${(/** @type {any} */ event) => (store(event.target.files[0]), (event.target.value = ""))} />
    <button type="button" class="primary" disabled=${uploading} onClick=${() => picker.current?.click()}><${Icon} name="plus" size=${18} /> ${t(uploading ? "reply.uploading" : "imports.choose")}</button>
  `;
}
