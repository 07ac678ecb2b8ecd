/** Starts the console. */

import { startOutbox } from "./inbox/outbox.js";
import { startCounts } from "./shared/counts.js";
import { startLive } from "./shared/live.js";
import { startSession, waitForSignIn } from "./shared/session.js";
import { startTexts } from "./shared/texts.js";
import { html, render } from "./shared/ui.js";
import { App } from "./shell/app.js";
import { startDoubleClicks } from "./shell/double_clicks.js";
import { startFocus } from "./shell/focus.js";
import { isSigningIn } from "./shell/sign_in.js";
import { startTelling } from "./shell/telling.js";

// Whoever opens a link that signs in may have no session yet: asking for one would fail, and the browser says so.
const session = isSigningIn() ? waitForSignIn() : startSession().catch(() => {});
await startTexts();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
startCounts();
startLive();
startTelling();
startFocus();
startDoubleClicks();
startOutbox();
await session;
