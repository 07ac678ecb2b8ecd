/** Starts the console. */

import { startOutbox } from "./inbox/outbox.js";
import { startLive } from "./shared/live.js";
import { startSession } from "./shared/session.js";
import { startTexts } from "./shared/texts.js";
import { html, render } from "./shared/ui.js";
import { App } from "./shell/app.js";

const session = startSession().catch(() => {});
await startTexts();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
startLive();
startOutbox();
await session;
