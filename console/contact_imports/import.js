/** One file of contacts: what its columns mean, how far it is, and what became of its rows. */

import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { useKeptForm } from "../parts/kept_form.js";
import { attempt } from "../parts/notices.js";
import { Badge, Empty, Field, Problem, Waiting } from "../parts/small.js";
import { get, newKey, post } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { useAll } from "../shared/lists.js";
import { useRepeat } from "../shared/repeat.js";
import { link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { languageName, number, t, word } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { isGoing, TONES } from "./page.js";

/** @typedef {import("./page.js").Import} Import */

const SCHEMES = ["tel", "whatsapp", "telegram", "facebook", "mailto"];
const TYPES = ["text", "number", "datetime", "state", "district", "ward"];
const ENCODINGS = /** @type {const} */ (["utf-8", "utf-16", "cp1252", "cp1250", "cp1254", "cp1257", "mac_roman", "cp850", "cp1251", "koi8-r", "iso-8859-5", "cp866", "cp1253", "cp1255", "cp1256", "cp874", "gb18030", "big5", "cp949", "cp932", "euc-jp", "iso-8859-2", "iso-8859-7", "koi8-u", "cp1258"]);
/** Whose lists are written so, where the name of an encoding says nothing to people. @type {Record<string, string>} */
const WRITTEN_IN = { cp1250: "pol", cp1254: "tur", cp1257: "lit", cp1251: "rus", "koi8-r": "rus", "iso-8859-5": "rus", cp866: "rus", cp1253: "ell", cp1255: "heb", cp1256: "ara", cp874: "tha", gb18030: "zho", big5: "zho", cp949: "kor", cp932: "jpn", "euc-jp": "jpn", "iso-8859-2": "pol", "iso-8859-7": "ell", "koi8-u": "ukr", cp1258: "vie" };
const STYLES = /** @type {const} */ (["day_first", "month_first", "year_first"]);
const SIGNS = /** @type {const} */ ([".", ","]);
/** Stands for the group that is made for the file. */
const NEW = "new";
const UNREAD = /** @type {const} */ (["keep", "reject", "refuse"]);

/** @param {{uuid: string}} props */
export function ImportPage({ uuid }) {
  const [file, setFile] = useState(/** @type {Import | null | undefined} */ (undefined));
  const [problem, setProblem] = useState("");
  const load = () => get("contact_imports", { uuid }).then((page) => (setFile(page.results[0] ?? null), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void load(), [uuid]);
  useRepeat(isGoing(file), load);
  const stop = { title: t("imports.cancel"), text: t("imports.cancel_text"), submit: t("imports.cancel"), onYes: async () => setFile(await post("contact_import_actions", { import: uuid, action: "cancel" })) };
  const takeBack = () =>
    attempt(async () => {
      const { removed, restored, kept } = await post("contact_import_actions", { import: uuid, action: "take_back", dry_run: true });
      const counts = { removed: number(removed), restored: number(restored), kept: number(kept) };
      confirmFirst({ title: t("imports.take_back"), text: t("imports.take_back_text", counts), submit: t("imports.take_back"), onYes: async () => setFile(await post("contact_import_actions", { import: uuid, action: "take_back" })) });
    });
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["contact_imports"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1 dir="auto">${file?.filename ?? t("imports.title")}</h1>
        ${file && html`<${Badge} tone=${TONES[file.status]}>${word("import_status", file.status)}<//>`}
        <span class="grows"></span>
        ${canBeTakenBack(file) && html`<button type="button" class="danger" onClick=${takeBack}>${t("imports.take_back")}</button>`}
        ${((isGoing(file) && !file?.taken_back_on) || file?.status === "ready") && html`<button type="button" class="danger" onClick=${() => confirmFirst(stop)}>${t("imports.cancel")}</button>`}
      </header>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${file === undefined && !problem && html`<${Waiting} />`}
      ${file === null && html`<${Empty} icon="contacts" title=${t("imports.gone")} text=${t("imports.gone_text")} />`}
      ${file?.status === "reading" && html`<p class="waiting" role="status"><span class="spinner" aria-hidden="true"></span>${t("imports.reading")}</p>`}
      ${file?.status === "ready" && html`<${Columns} key=${JSON.stringify(file.reading)} file=${file} onStarted=${setFile} />`}
      ${file && !["reading", "ready"].includes(file.status) && html`<${Course} file=${file} />`}
    </main>
  `;
}

/** An import that has ended and wrote contacts; one that could not be taken back to the end is tried again. */
const canBeTakenBack = (/** @type {Import | null | undefined} */ file) => !!file?.finished_on && file.status !== "taken_back" && file.created + file.updated > 0;

/** @param {{file: Import, onStarted: (file: Import) => void}} props */
function Columns({ file, onStarted }) {
  const { form, keep, drop } = useKeptForm(`import.${file.uuid}`);
  const [targets, setTargets] = useState(() => file.columns.map(({ target }) => target));
  const choose = (/** @type {number} */ at, /** @type {string} */ target) => setTargets((old) => old.with(at, target));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(newKey());
  const fields = useAll("fields");
  const groups = useAll("groups").filter((group) => !group.query && !group.system);
  const [joined, setJoined] = useState("");
  const made = useRef({ name: "", uuid: "" });
  const names = targets.some((target) => target === "uuid" || target.startsWith("urn:"));
  const [unread, setUnread] = useState(file.reading?.unread ?? "keep");
  const leftOut = file.columns.filter(({ header, filled }, at) => targets[at] === "ignore" && (header || filled)).map(({ header, place }) => header || `#${place}`);
  const reading = file.reading ?? {};
  const start = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const named = String(data.get("new-group") ?? "").trim();
    if (await act({ action: "start", columns: chosen(), unread }, () => (joined === NEW ? newGroup(named) : joined))) drop();
  };
  /** The group that is made for this file, once, also when the import is refused and started again. @param {string} name */
  const newGroup = async (name) => {
    if (made.current.name !== name) made.current = { name, uuid: (await post("groups", { name })).uuid };
    return made.current.uuid;
  };
  const chosen = () => file.columns.map((_, at) => ({ place: at + 1, target: targets[at] }));
  /** @param {Omit<import("../shared/contract.js").Sent<"contact_import_actions">, "import">} what @param {() => string | Promise<string>} [groupOf] */
  const act = async (what, groupOf = () => "") => {
    setBusy(true);
    try {
      const group = await groupOf();
      onStarted(await post("contact_import_actions", { import: file.uuid, ...what, ...(group && { group }) }, undefined, key.current));
      return true;
    } catch (error) {
      setProblem(explain(error));
      key.current = newKey();
      setBusy(false);
      return false;
    }
  };
  return html`
    <form class="card" onSubmit=${start} onInputCapture=${keep} ref=${form}>
      <h2>${t("imports.columns")}</h2>
      <p class="help">${t("imports.columns_help")}</p>
      <div class="table-box" tabindex="0" role="region" aria-label=${t("imports.columns")}>
        <table class="table stacked">
          <thead><tr><th scope="col">${t("imports.column")}</th><th scope="col">${t("imports.means")}</th><th scope="col">${t("imports.examples")}</th></tr></thead>
          <tbody>${file.columns.map(({ header, examples, suggested }, at) => html`<tr key=${at}>
            <th scope="row" dir="auto">${header || `#${at + 1}`}</th>
            <td><select name=${`column-${at}`} aria-label=${t("imports.meaning_of", { name: header })}
              onChange=${(/** @type {any} */ event) => choose(at, event.target.value)}>
              ${choices(newName(targets[at]) ?? newName(suggested) ?? header, file.columns[at].target, fields).map(([value, text]) => html`<option key=${value} value=${value} selected=${value === targets[at]}>${text}</option>`)}
            </select>
            ${newName(targets[at]) !== null && html`<input name=${`new-${at}`} value=${newName(targets[at])} maxlength="36" required dir="auto" aria-label=${t("imports.field_name", { name: header })}
              onChange=${(/** @type {any} */ event) => choose(at, `new:${event.target.value.trim()}:${newType(targets[at])}`)} />`}</td>
            <td class="examples">${examples.slice(0, 3).map((each, place) => html`${place > 0 && " · "}<bdi>${each}</bdi>`)}<${Unread} column=${file.columns[at]} target=${targets[at]} fields=${fields} /></td></tr>`)}</tbody>
        </table>
      </div>
      ${leftOut.length > 0 && html`<p class="help" dir="auto">${t("imports.left_out", { names: leftOut.join(", ") })}</p>`}
      <div class="form-grid">
      ${reading.encoding && html`<${Field} label=${t("imports.encoding")} id="encoding"><select id="encoding" disabled=${busy}
        onChange=${(/** @type {any} */ event) => act({ action: "read", unread, encoding: event.target.value })}>
        ${ENCODINGS.map((each) => html`<option key=${each} value=${each} selected=${each === reading.encoding}>${each}${WRITTEN_IN[each] ? ` (${languageName(WRITTEN_IN[each])})` : ""}</option>`)}</select><//>`}
      <${Field} label=${t("imports.dates")} id="dates"><select id="dates" disabled=${busy}
        onChange=${(/** @type {any} */ event) => act({ action: "read", unread, columns: chosen(), date_style: event.target.value })}>
        ${STYLES.map((each) => html`<option key=${each} value=${each} selected=${each === reading.date_style}>${word("date_style", each)}</option>`)}</select><//>
      <${Field} label=${t("imports.decimal")} id="decimal"><select id="decimal" disabled=${busy}
        onChange=${(/** @type {any} */ event) => act({ action: "read", unread, columns: chosen(), decimal_sign: event.target.value })}>
        ${SIGNS.map((each) => html`<option key=${each} value=${each} selected=${each === reading.decimal_sign}>${`1${each}5`}</option>`)}</select><//>
      <${Field} label=${t("imports.unread")} id="unread"><select id="unread" name="unread" onChange=${(/** @type {any} */ event) => setUnread(event.target.value)}>
        ${UNREAD.map((each) => html`<option key=${each} value=${each} selected=${each === unread}>${word("import_unread", each)}</option>`)}</select><//>
      <${Field} label=${t("imports.group")} id="group">
        <select id="group" name="group" onChange=${(/** @type {any} */ event) => setJoined(event.target.value)}><option value="">–</option>
          ${may("write_group") && html`<option value=${NEW} selected=${joined === NEW}>${t("imports.new_group")}</option>`}
          ${groups.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === joined}>${name}</option>`)}</select>
      <//>
      ${joined === NEW && html`<${Field} label=${t("imports.group_name")} id="new-group"><input id="new-group" name="new-group" required maxlength="64" dir="auto" /><//>`}
      </div>
      ${!names && html`<p class="problem" role="alert">${t("imports.needs_address")}</p>`}
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <footer class="form-end"><button type="submit" class="primary" disabled=${busy || !names}>${t("imports.start", { count: number(file.row_count) })}</button></footer>
    </form>
  `;
}

const newName = (/** @type {string | null | undefined} */ target) => (target?.startsWith("new:") ? target.slice(4, target.lastIndexOf(":")) : null);
const newType = (/** @type {string} */ target) => target.slice(target.lastIndexOf(":") + 1);

/**
 * How many values of a column the type of its field does not understand: as the file was read, or, for another target, by
 * what its values can be. And as which years two digits are read.
 * @param {{column: Import["columns"][number], target: string, fields: import("../shared/contract.js").Listed<"fields">[]}} props
 */
function Unread({ column, target, fields }) {
  const type = target.startsWith("new:") ? newType(target) : fields.find(({ key }) => target === `field:${key}`)?.type;
  const filled = column.filled ?? 0;
  const read = type === "number" ? column.numbers : type === "datetime" ? column.dates : undefined;
  const count = target === column.target ? column.unread ?? 0 : filled - (read ?? filled);
  const some = target === column.target ? column.unread_examples ?? [] : [];
  return html`
    ${count > 0 && html`<p class="problem"><span>${t("imports.not_understood", { count: number(count), total: number(filled) })} ${some.map((each) => html`“<bdi>${each}</bdi>” `)}</span></p>`}
    ${type === "datetime" && Boolean(column.short_years) && html`<p class="help">${t("imports.short_years", { count: number(column.short_years ?? 0) })} ${(column.short_year_examples ?? []).map((each) => html`<bdi>${each}</bdi> `)}</p>`}`;
}

/**
 * What a column can mean, with the texts for it.
 * @param {string} name @param {string} guessed @param {import("../shared/contract.js").Listed<"fields">[]} fields
 * @returns {[string, string][]}
 */
function choices(name, guessed, fields) {
  /** @type {[string, string][]} */
  const known = [
    ["ignore", t("imports.ignore")],
    ["name", t("contact.name")],
    ["first_name", t("imports.first_name")],
    ["last_name", t("imports.last_name")],
    ["language", t("contact.language")],
    ["uuid", "UUID"],
    ...SCHEMES.map((scheme) => /** @type {[string, string]} */ ([`urn:${scheme}`, word("scheme", scheme)])),
    ...fields.map(({ key, name: named }) => /** @type {[string, string]} */ ([`field:${key}`, t("imports.field", { name: named ?? key ?? "" })])),
    ...TYPES.map((type) => /** @type {[string, string]} */ ([`new:${name}:${type}`, t("imports.new_field", { type: word("field_type", type) })])),
  ];
  return known.some(([value]) => value === guessed) ? known : [[guessed, guessed], ...known];
}

/** @param {{file: Import}} props */
function Course({ file }) {
  /** @type {[import("../shared/texts.js").Key, number][]} */
  const counts = [["imports.created", file.created], ["imports.updated", file.updated], ["imports.rejected", file.rejected]];
  if (file.taken_back_on) counts.push(["imports.removed", file.removed], ["imports.restored", file.restored], ["imports.kept", file.kept]);
  return html`
    <section class="card" aria-label=${t("imports.title")}>
      ${isGoing(file) && file.taken_back_on && html`<p class="waiting" role="status"><span class="spinner" aria-hidden="true"></span>${t("imports.taking_back")}</p>`}
      ${isGoing(file) && !file.taken_back_on && html`<p role="status">${t("imports.progress", { done: number(file.done), total: number(file.row_count) })}</p>
        <progress max=${Math.max(file.row_count, 1)} value=${file.done} aria-label=${t("imports.title")}></progress>`}
      ${file.error && html`<p class="problem" role="alert">${file.error}</p>`}
      <dl class="facts">${counts.map(([text, count]) => html`<div key=${text}><dt>${t(text)}</dt><dd>${number(count)}</dd></div>`)}</dl>
      ${file.columns.filter(({ unread }) => unread).map((column) => html`<p key=${column.place} class="problem"><span><bdi>${column.header || `#${column.place}`}</bdi>: ${t("imports.not_understood", { count: number(column.unread ?? 0), total: number(column.filled ?? 0) })} ${(column.unread_examples ?? []).map((each) => html`“<bdi>${each}</bdi>” `)}</span></p>`)}
      ${file.rejects_url && html`<p><a class="button" href=${file.rejects_url} download=${`rejected-${file.created_on.slice(0, 10)}.csv`}><${Icon} name="download" size=${16} /> ${t("imports.rejects")}</a></p>
        <p class="help">${t("imports.rejects_help")}</p>`}
      ${file.status === "completed" && html`<p><a href=${link(["contacts"])}>${t("imports.see")}</a></p>`}
    </section>
  `;
}
