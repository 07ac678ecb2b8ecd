/** The editor of a flow, loaded when it is opened. */

import { Icon } from "../../parts/icons.js";
import { Empty, Problem, Waiting } from "../../parts/small.js";
import { get } from "../../shared/api.js";
import { explain } from "../../shared/explain.js";
import { link } from "../../shared/router.js";
import { t } from "../../shared/texts.js";
import { html, useEffect, useState } from "../../shared/ui.js";
import { FlowEditor } from "./editor.js";
import { readKept, readNewest } from "./saving.js";

/** @typedef {{flow: import("../page.js").Flow, base: import("./saving.js").Base, kept: import("./saving.js").Kept | null, draftOf: import("./saving.js").Newest["who"]}} Opened */

/** @param {{uuid: string, query: Record<string, string>}} props */
export default function EditorPage({ uuid, query }) {
  const [opened, setOpened] = useState(/** @type {Opened | null | undefined} */ (undefined));
  const [problem, setProblem] = useState("");
  const load = async () => {
    try {
      const [page, { base, who, isDraft }] = await Promise.all([get("flows", { uuid }), readNewest(uuid), loadStyle()]);
      const flow = page.results[0];
      setOpened(flow ? { flow, base, kept: readKept(uuid, base), draftOf: isDraft ? who : null } : null);
      setProblem("");
    } catch (error) {
      setProblem(explain(error));
    }
  };
  useEffect(() => void load(), [uuid]);
  const name = opened?.flow.name ?? t("flows.title");
  return html`
    <main id="main" class="page editor" tabindex="-1">
      ${opened && !opened.flow.archived
        ? html`<${FlowEditor} key=${uuid} ...${opened} query=${query} />`
        : html`<header class="page-header"><a class="button quiet icon-only" href=${link(["flows", uuid])} aria-label=${t("act.back")}><${Icon} name="back" /></a><h1>${name}</h1></header>
          ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
          ${!problem && opened === undefined && html`<${Waiting} />`}
          ${opened === null && html`<${Empty} icon="flow" title=${t("error.gone")} />`}
          ${opened?.flow.archived && html`<${Empty} icon="flow" title=${t("flows.archived")} text=${t("flow_editor.is_archived")} />`}`}
    </main>
  `;
}

/** The style of the editor, once. */
async function loadStyle() {
  const href = new URL("../../styles/editor.css", import.meta.url).href;
  if (document.querySelector(`link[href="${href}"]`)) return;
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  await new Promise((done) => {
    style.onload = style.onerror = done;
    document.head.append(style);
  });
}
