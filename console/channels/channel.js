/** One channel: whether it is alive, what it carries, and a test message. */

import { Chart } from "../parts/chart.js";
import { FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Empty, Field, Problem, Waiting } from "../parts/small.js";
import { useFigures } from "../overview/figures.js";
import { get, newKey, post } from "../shared/api.js";
import { useChanges } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useMemo, useRef, useState } from "../shared/ui.js";
import { Card } from "./page.js";

const DAYS = 30;

/** @param {{uuid: string}} props */
export function ChannelPage({ uuid }) {
  const [channel, setChannel] = useState(/** @type {import("./page.js").Channel | null | undefined} */ (undefined));
  const [problem, setProblem] = useState("");
  const [testing, setTesting] = useState(false);
  const { figures } = useFigures(DAYS);
  const load = () => get("channels", { uuid }).then((page) => (setChannel(page.results[0] ?? null), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void load(), [uuid]);
  useChanges(["channel", "channel_gone"], load);
  const plotted = useMemo(() => figures && bySeries(figures, uuid), [figures, uuid]);
  if (problem) return html`<main id="main" class="page" tabindex="-1"><h1>${t("channels.title")}</h1><${Problem} text=${problem} onRetry=${load} /></main>`;
  if (channel === undefined) return html`<main id="main" class="page" tabindex="-1"><${Waiting} /></main>`;
  if (!channel) return html`<main id="main" class="page" tabindex="-1"><${Empty} icon="channel" title=${t("error.gone")} /></main>`;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["channels"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${channel.name}</h1><span class="grows"></span>
        ${may("create_message") && may("write_contact") && html`<button type="button" onClick=${() => setTesting(true)}><${Icon} name="send" size=${16} /> ${t("channels.test")}</button>`}
      </header>
      <div class="two">
        <ul><${Card} channel=${channel} /></ul>
        ${plotted && html`<${Chart} title=${t("broadcasts.messages")} days=${plotted.days} series=${plotted.series} />`}
      </div>
      ${testing && html`<${TestDialog} onClose=${() => setTesting(false)} />`}
    </main>
  `;
}

/** @param {import("../overview/figures.js").Figures} figures @param {string} uuid */
function bySeries(figures, uuid) {
  const days = figures.days.map(({ day }) => day).reverse();
  const counts = new Map(figures.channels.find(({ channel }) => channel.uuid === uuid)?.days.map((each) => [each.day, each]));
  const values = (/** @type {"messages_in" | "messages_out"} */ what) => days.map((day) => counts.get(day)?.[what] ?? 0);
  return { days, series: [{ name: t("channels.in"), values: values("messages_in") }, { name: t("channels.out"), values: values("messages_out") }] };
}

/** @param {{onClose: () => void}} props */
function TestDialog({ onClose }) {
  const key = useRef(newKey());
  const send = async (/** @type {FormData} */ data) => {
    const urn = `tel:${String(data.get("test-number")).replace(/[\s()-]/g, "")}`;
    const contact = /** @type {{uuid: string}} */ (await post("contacts", {}, { urn }));
    await post("messages", { contact: contact.uuid, text: String(data.get("test-text")) }, undefined, key.current);
    go(["inbox", contact.uuid]);
  };
  return html`
    <${FormDialog} title=${t("channels.test")} submit=${t("act.send")} onSubmit=${send} onClose=${onClose}>
      <p class="help">${t("channels.test_help")}</p>
      <${Field} label=${t("channels.test_number")} id="test-number"><input id="test-number" name="test-number" type="tel" required placeholder="+250788123123" /><//>
      <${Field} label=${t("settings.text")} id="test-text"><textarea id="test-text" name="test-text" rows="3" required maxlength="640" dir="auto" defaultValue=${t("channels.test_text")}></textarea><//>
    <//>
  `;
}
