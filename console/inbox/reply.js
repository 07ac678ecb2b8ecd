/** The box in which people write an answer. */

import { Icon } from "../parts/icons.js";
import { Loaded, LoadedDialog } from "../parts/loaded.js";
import { Menu } from "../parts/menu.js";
import { attempt } from "../parts/notices.js";
import { newKey, upload } from "../shared/api.js";
import { followDraft, keepDraft, loadDraft } from "../shared/drafts.js";
import { revalidate } from "../shared/lists.js";
import { countSegments } from "../shared/segments.js";
import { listTime, number, t } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { useKeys } from "./keys.js";
import { follow, send } from "./outbox.js";
import { QuickReplies } from "./quick_replies.js";
import { useRoute } from "./route.js";
import { besideOf, filledIn, FoundReplies, useSavedReplies } from "./saved_replies.js";

/** Most channels never need it. */
const loadLater = () => import("./send_later.js");
const loadTemplates = () => import("./template_reply.js");

/** What the API takes; characters are counted as it does. */
const MOST = 4096;
const FILES = "image/*,audio/*,video/*,application/pdf";

/** @typedef {{text: string, files: {uuid: string, filename: string}[], choices: string[] | null, beside: import("./saved_replies.js").Beside | null}} Draft */

/** @type {Draft} */
const NOTHING = { text: "", files: [], choices: null, beside: null };

/**
 * @param {{contact: string, person?: import("./thread.js").Contact | undefined, status?: string | null, urn?: string | null, newest: number,
 *   onSent: import("./outbox.js").Sent}} props `newest` is the id of the newest message that is known
 */
export function Reply({ contact, person, status, urn, newest, onSent }) {
  const [draft, setDraft] = useState(() => ({ ...NOTHING, ...loadDraft(`reply.${contact}`, NOTHING) }));
  const { text, files, choices, beside } = draft;
  const [uploading, setUploading] = useState(false);
  const [isLater, setLater] = useState(false);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const route = useRoute(contact);
  useKeys({ reply: () => area.current?.focus() });
  useEffect(() => follow(contact, onSent), [contact]);
  // All tabs of a browser write the same answer.
  useEffect(() => followDraft(`reply.${contact}`, (kept) => setDraft({ ...NOTHING, ...kept })), [contact]);
  useEffect(() => fit(area.current), [text]);

  const change = (/** @type {(old: Draft) => Partial<Draft>} */ edit) =>
    setDraft((old) => {
      const changed = { ...old, ...edit(old) };
      keepDraft(`reply.${contact}`, changed.text || changed.files.length || changed.choices ? changed : null);
      return changed;
    });
  const write = (/** @type {string} */ value) => change((old) => ({ text: value, beside: isAnew(old.text, value) ? null : old.beside }));
  const [saved, found, fields] = useSavedReplies(text, (chosen) => {
    const written = inserted(area.current, filledIn(chosen.text, person, fields));
    change((old) => ({ text: written, beside: besideOf(chosen) ?? old.beside }));
  });
  const [foundAt, setFoundAt] = useState(0);
  const at = Math.min(foundAt, (found?.length ?? 1) - 1);
  const take = (/** @type {import("./saved_replies.js").SavedReply} */ reply) => {
    change(() => ({ text: filledIn(reply.text, person, fields), beside: besideOf(reply) }));
    setFoundAt(0);
    area.current?.focus();
  };
  const attach = async (/** @type {File[]} */ chosen) => {
    setUploading(true);
    for (const file of chosen) {
      await attempt(async () => {
        const { uuid } = await upload(file);
        change((old) => ({ files: [...old.files, { uuid, filename: file.name }] }));
      });
    }
    setUploading(false);
  };
  const length = [...text].length;
  const isTooLong = length > MOST;
  const isEmpty = !text.trim() && files.length === 0;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!isEmpty && !isTooLong && !uploading) sendAt();
  };
  const sendAt = (/** @type {string | undefined} */ time = undefined) => {
    const replies = (choices ?? []).map((choice) => choice.trim()).filter(Boolean).map((choice) => ({ text: choice }));
    send(contact, { key: newKey(), text, attachments: files.map(({ uuid }) => uuid), quick_replies: replies, ...(beside ? { saved_reply: beside.uuid } : {}), ...(time ? { send_on: time } : {}), problem: "", after: newest });
    change(() => NOTHING);
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
    if (found && (step || event.key === "Enter") && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      event.preventDefault();
      if (step) setFoundAt((at + step + found.length) % found.length);
      else take(found[at]);
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
    else if (event.key === "Escape") area.current?.blur();
  };
  const pasted = (/** @type {ClipboardEvent} */ event) => {
    const pictures = [...(event.clipboardData?.files ?? [])];
    // What office programs put there beside a text is a picture of it.
    if (pictures.length === 0 || event.clipboardData?.getData("text/plain")) return;
    event.preventDefault();
    void attach(pictures);
  };
  if (status && status !== "active") return html`<p class="reply-closed">${t("reply.closed")}</p>`;
  if (route?.channel && !route.takes_text) return html`<${Loaded} load=${loadTemplates} isPart contact=${contact} route=${route} newest=${newest} />`;
  const { characters, segments } = countSegments(text);
  const isSms = !urn || urn.startsWith("tel:");
  return html`
    <form class="reply" onSubmit=${submit}
      onDragOver=${(/** @type {DragEvent} */ event) => event.preventDefault()}
      onDrop=${(/** @type {DragEvent} */ event) => (event.preventDefault(), attach([...(event.dataTransfer?.files ?? [])]))}>
      ${choices && html`<${QuickReplies} choices=${choices} onChange=${(/** @type {string[] | null} */ next) => change(() => ({ choices: next }))} />`}
      ${files.length > 0 &&
      html`<ul class="files">
        ${files.map(
          ({ uuid, filename }) => html`<li key=${uuid}>${filename}
            <button type="button" class="quiet tiny" aria-label=${t("reply.remove_file", { name: filename })}
              onClick=${() => change((old) => ({ files: old.files.filter((file) => file.uuid !== uuid) }))}><${Icon} name="close" size=${14} /></button></li>`,
        )}
      </ul>`}
      ${beside && html`<p class="files faint">${t("reply.then")}: ${beside.deeds}
        <button type="button" class="quiet tiny" aria-label=${t("reply.then_nothing")} title=${t("reply.then_nothing")} onClick=${() => change(() => ({ beside: null }))}><${Icon} name="close" size=${14} /></button></p>`}
      ${found && html`<${FoundReplies} found=${found} at=${at} onPick=${take} />`}
      <textarea ref=${area} rows="1" dir="auto" value=${text} aria-label=${t("reply.write")} placeholder=${t("reply.write")}
        aria-describedby="reply-count" aria-controls=${found ? "found-replies" : undefined} aria-activedescendant=${found ? `saved-${found[at].uuid}` : undefined} onInput=${(/** @type {any} */ event) => write(event.target.value)} onKeyDown=${pressed} onPaste=${pasted}></textarea>
      <div class="reply-bar">
        <input ref=${picker} type="file" hidden multiple accept=${FILES} tabindex="-1"
          onChange=${(/** @type {any} */ event) => (attach([...event.target.files]), (event.target.value = ""))} />
        <button type="button" class="quiet icon-only" aria-label=${t("reply.attach")} title=${t("reply.attach")} disabled=${uploading}
          onClick=${() => picker.current?.click()}><${Icon} name="attach" /></button>
        <button type="button" class="quiet icon-only" aria-label=${t("reply.choices")} title=${t("reply.choices")} aria-pressed=${!!choices}
          onClick=${() => change((old) => ({ choices: old.choices ? null : [""] }))}><${Icon} name="choices" /></button>
        <${Menu} label=${t("reply.saved")} icon="bookmark" up items=${saved} onOpen=${() => revalidate("saved_replies")} />
        <span class="reply-count" id="reply-count">
          ${isTooLong && html`<span class="state failed" role="status">${t("reply.too_long", { characters: number(length), most: number(MOST) })}</span>`}
          ${isTooLong ? "" : uploading ? t("reply.uploading") : isSms && text ? t("reply.count", { characters: number(characters), segments: number(segments) })
            : !isSms && route?.takes_text_until ? t("reply.window_until", { time: listTime(route.takes_text_until) }) : ""}
        </span>
        <button type="button" class="quiet icon-only" aria-label=${t("later.title")} title=${t("later.title")} disabled=${isEmpty || isTooLong || uploading} onClick=${() => setLater(true)}><${Icon} name="clock" /></button>
        <button type="submit" class="primary" disabled=${isEmpty || isTooLong || uploading}>${t("act.send")} <${Icon} name="send" size=${16} /></button>
      </div>
    </form>
    ${isLater && html`<${LoadedDialog} load=${loadLater} onChosen=${async (/** @type {string} */ time) => sendAt(time)} onClose=${() => setLater(false)} />`}
  `;
}

/** Whether another text was begun in place of one: neither its first nor its last character stands. @param {string} before @param {string} now */
const isAnew = (before, now) => before[0] !== now[0] && before.at(-1) !== now.at(-1);

/** What is written, with a text at the cursor. @param {HTMLTextAreaElement | null} area @param {string} text */
function inserted(area, text) {
  if (!area) return text;
  const at = area.selectionEnd;
  const [before, after] = [/\S$/.test(area.value.slice(0, at)) ? " " : "", /^\S/.test(area.value.slice(at)) ? " " : ""];
  area.setRangeText(before + text + after, at, at, "end");
  area.focus();
  return area.value;
}

/** @param {HTMLTextAreaElement | null} area */
function fit(area) {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight + 2, 200)}px`;
}
