/** A part of the console that is loaded when it is first drawn. */

import { get } from "../shared/api.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { attempt } from "./notices.js";
import { Problem, Waiting } from "./small.js";

/** @param {{load: () => Promise<{default: (props: any) => any}>, isPart?: boolean, [name: string]: any}} props one that `isPart` of a page stands in its main part,
 *   where nothing is until it is loaded; what else is given goes to it */
export function Loaded({ load, isPart = false, ...props }) {
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
  if (Shown) return html`<${Shown} ...${props} />`;
  const problem = failed && html`<${Problem} text=${t("error.offline")} onRetry=${again} />`;
  return isPart ? problem : html`<main id="main" tabindex="-1">${problem || html`<${Waiting} />`}</main>`;
}
