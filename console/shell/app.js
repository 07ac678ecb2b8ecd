/** Chooses what a person sees: sign-in, or the pages of the workspace. */

import { Questions } from "../parts/dialog.js";
import { Notices } from "../parts/notices.js";
import { PartByPart } from "../parts/part_by_part.js";
import { Problem, Waiting } from "../parts/small.js";
import { phase, startSession } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html } from "../shared/ui.js";
import { Shell } from "./shell.js";
import { SignIn } from "./sign_in.js";

export const App = () => html`
  ${phase.value === "starting" && html`<main class="centered"><${Waiting} /></main>`}
  ${phase.value === "unreachable" &&
  html`<main class="centered"><${Problem} text=${t("error.offline")} onRetry=${() => startSession().catch(() => {})} /></main>`}
  ${phase.value === "out" && html`<${SignIn} />`}
  ${phase.value === "in" && html`<${Shell} />`}
  <${Questions} />
  <${PartByPart} />
  <${Notices} />
`;
