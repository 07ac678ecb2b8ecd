/** A part of the console that is loaded when it is first drawn. */

import { get } from "../shared/api.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { attempt } from "./notices.js";
import { Problem, Waiting } from "./small.js";

/** @param {{load: () => Promise<{default: (props: any) => any}>, [name: string]: any}} props what else is given goes to the part */
export function Loaded({ load, ...props }) {
  const [Shown, setShown] = useState(/** @type {any} */ (null));
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    load().then(
      (module) => setShown(() => module.default),
      () => setFailed(true),
    );
  }, [load]);
  // A browser does not load again what it could not load once, and without a network it would show its own page instead.
  const again = () => attempt(() => get("account").then(() => location.reload()));
  if (failed) return html`<main id="main" tabindex="-1"><${Problem} text=${t("error.offline")} onRetry=${again} /></main>`;
  return Shown ? html`<${Shown} ...${props} />` : html`<main id="main" tabindex="-1"><${Waiting} /></main>`;
}
