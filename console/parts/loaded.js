/** A part of the console that is loaded when it is first drawn. */

import { get } from "../shared/api.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useLayoutEffect, useState } from "../shared/ui.js";
import { Dialog } from "./dialog.js";
import { attempt } from "./notices.js";
import { Problem, Waiting } from "./small.js";

/** @param {{load: () => Promise<{default: (props: any) => any}>, isPart?: boolean, isQuiet?: boolean, isDialog?: boolean, [name: string]: any}} props one that `isPart` of a page stands in its
 *   main part, where nothing is until it is loaded; one that `isQuiet` is not missed; one that `isDialog` is closed by
 *   `onClose`, also if it could not be loaded; what else is given goes to it */
export function Loaded({ load, isPart = false, isQuiet = false, isDialog = false, ...props }) {
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
  if (isDialog) return failed && html`<${Dialog} title=${t("error.offline")} onClose=${props.onClose}><footer><button type="button" class="primary" onClick=${again}>${t("act.retry")}</button></footer><//>`;
  // Beside a part somebody may be writing: the page is not loaded again by itself once the network is back.
  if (isPart) return failed && !isQuiet && html`<div class="problem" role="alert"><span>${t("error.offline")}</span> <button type="button" onClick=${again}>${t("act.retry")}</button></div>`;
  const problem = failed && html`<${Problem} text=${t("error.offline")} onRetry=${again} />`;
  return html`<main id="main" tabindex="-1">${problem || html`<${Waiting} />`}</main>`;
}

/** From when a dialog is loaded until it is open. */
const OPENS_MS = 200;
let awaited = 0;
/** Whether a dialog that somebody opened is on its way: what they type is meant for it. */
export const isAwaited = () => awaited > 0;

/** A dialog that is loaded when it is first opened. @param {{load: () => Promise<{default: (props: any) => any}>, onClose: () => void, [name: string]: any}} props */
export function LoadedDialog(props) {
  // In one step with the drawing: the next key may follow at once.
  useLayoutEffect(() => {
    let isComing = true;
    const end = () => {
      if (isComing) awaited--;
      isComing = false;
    };
    awaited++;
    props.load().then(() => setTimeout(end, OPENS_MS), end);
    return end;
  }, [props.load]);
  return html`<${Loaded} isDialog ...${props} />`;
}
