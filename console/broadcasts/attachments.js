/** Files that go with a message to many people. */

import { Icon } from "../parts/icons.js";
import { attempt } from "../parts/notices.js";
import { upload } from "../shared/api.js";
import { t } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

const FILES = "image/*,audio/*,video/*,application/pdf";
const MOST = 10;

/** @param {{files: import("./draft.js").Named[], onChange: (files: import("./draft.js").Named[]) => void}} props */
export function Attachments({ files, onChange }) {
  const [uploading, setUploading] = useState(false);
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const attach = async (/** @type {File[]} */ chosen) => {
    setUploading(true);
    const added = [...files];
    for (const file of chosen.slice(0, MOST - files.length)) {
      await attempt(async () => void added.push({ uuid: (await upload(file)).uuid, name: file.name }));
    }
    onChange(added);
    setUploading(false);
  };
  return html`
    ${files.length > 0 && html`<ul class="files">
      ${files.map(({ uuid, name }) => html`<li key=${uuid}>${name}
        <button type="button" class="quiet tiny" aria-label=${t("reply.remove_file", { name })} onClick=${() => onChange(files.filter((file) => file.uuid !== uuid))}><${Icon} name="close" size=${14} /></button></li>`)}
    </ul>`}
    <p class="field">
      <input ref=${picker} type="file" hidden multiple accept=${FILES} tabindex="-1" onChange=${(/** @type {any} */ event) => (attach([...event.target.files]), (event.target.value = ""))} />
      <button type="button" disabled=${uploading || files.length >= MOST} onClick=${() => picker.current?.click()}><${Icon} name="attach" size=${18} /> ${t(uploading ? "reply.uploading" : "reply.attach")}</button>
    </p>
  `;
}
