/** Who else draws the flow: whoever saved a draft of it a short while ago. */

import { get } from "../../shared/api.js";
import { account } from "../../shared/session.js";
import { t } from "../../shared/texts.js";
import { html, useEffect, useState } from "../../shared/ui.js";

/** Between two looks; drafts are saved a moment after each change. */
const ASK_MS = 20_000;
/** So long somebody is said to draw after they saved a draft. */
const DRAWS_MS = 10 * 60_000;

/** @param {{flow: string}} props */
export function Others({ flow }) {
  const [names, setNames] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    const ask = async () => {
      if (document.hidden) return;
      const { drafts } = await get("flow_revisions", { uuid: flow });
      const recent = drafts.filter(({ saved_on: saved }) => Date.now() - Date.parse(saved) < DRAWS_MS);
      const others = recent.flatMap(({ created_by: by }) => (by && by.email !== account.value?.user.email ? by.name || by.email : []));
      setNames([...new Set(others)]);
    };
    // It only tells who is there: what cannot be asked now is asked again.
    const look = () => void ask().catch(() => {});
    look();
    const again = setInterval(look, ASK_MS);
    return () => clearInterval(again);
  }, [flow]);
  return html`<span class="faint" role="status">${names.length > 0 && t("flow_editor.also", { names: names.join(", ") })}</span>`;
}
