/** Answers that are sent at a chosen time: the dialog that asks for it, and what can be done while one waits. */

import { attempt, notify } from "../parts/notices.js";
import { post, remove } from "../shared/api.js";
import { may } from "../shared/session.js";
import { shortTime, t } from "../shared/texts.js";
import { html, useLayoutEffect, useRef, useState } from "../shared/ui.js";
import { WhenForm } from "./when_form.js";

/** @typedef {import("./thread_data.js").Message} Message */

/** @param {{onChosen: (time: string) => Promise<unknown>, onClose: () => void}} props */
const LaterForm = (props) => html`<${WhenForm} title=${t("later.title")} text=${t("later.text")} ...${props} />`;
export default LaterForm;

/** What can be done with an answer that waits. @param {{message: Message, refresh: () => void}} props */
export function Later({ message, refresh }) {
  const [isAsked, setAsked] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const shown = box.current;
    const course = /** @type {HTMLElement | null | undefined} */ (shown?.closest(".course"));
    return () => {
      // What was sent, moved or taken back takes its buttons with it, and perhaps its dialog.
      if (shown?.contains(document.activeElement)) requestAnimationFrame(() => course?.focus({ preventScroll: true }));
    };
  }, []);
  const contact = message.contact?.uuid;
  if (!contact || !may("create_message")) return null;
  const send = async (/** @type {string | null} */ time) => {
    await post("messages", { contact, replaces: message.uuid, send_on: time });
    refresh();
  };
  const move = async (/** @type {string} */ time) => {
    await send(time);
    notify(t("later.moved", { time: shortTime(time) }));
  };
  const takeBack = async () => {
    await remove("messages", { uuid: message.uuid });
    refresh();
  };
  const again = async (/** @type {string} */ key) => {
    const { text, attachments, quick_replies, due_on } = message;
    const files = attachments.map(({ content_type: type, url }) => `${type}:${url}`);
    await post("messages", { contact, text, attachments: files, quick_replies, send_on: due_on }, undefined, key);
    refresh();
  };
  return html`<span class="later-actions" ref=${box}>
    <button type="button" class="link" onClick=${() => attempt(() => send(null), t("later.sent"))}>${t("later.now")}</button>
    <button type="button" class="link" onClick=${() => setAsked(true)}>${t("later.change")}</button>
    <button type="button" class="link" onClick=${() => attempt(takeBack, t("later.cancelled"), again)}>${t("later.cancel")}</button>
    ${isAsked && html`<${LaterForm} onChosen=${move} onClose=${() => setAsked(false)} />`}
  </span>`;
}
