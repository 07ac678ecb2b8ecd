/** One channel: whether it is alive, what it carries, what was said, and what can be done with it. */

import { confirmFirst, FormDialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Empty, Field, Problem, Waiting } from "../parts/small.js";
import { notify } from "../parts/notices.js";
import { get, newKey, post, remove } from "../shared/api.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { channelName } from "../shared/names.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { number, t } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { Alarms } from "./alarms.js";
import { Calls } from "./calls.js";
import { HealthCard } from "./health.js";
import { Card } from "./page.js";
import { SettingsCard } from "./settings_card.js";
import { likelyScheme, sendTest, TestFields } from "./test_message.js";
import { useTypes } from "./types.js";

/** @param {{uuid: string}} props */
export function ChannelPage({ uuid }) {
  const [channel, setChannel] = useState(/** @type {import("./page.js").Channel | null | undefined} */ (undefined));
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState(/** @type {"" | "name" | "test"} */ (""));
  const load = useInTurn(() => get("channels", { uuid }).then((page) => (setChannel(page.results[0] ?? null), setProblem("")), (error) => setProblem(explain(error))));
  useEffect(() => void load(), [uuid]);
  useChanges(["channel", "channel_gone"], load);
  if (problem) return html`<main id="main" class="page" tabindex="-1"><h1>${t("channels.title")}</h1><${Problem} text=${problem} onRetry=${load} /></main>`;
  if (channel === undefined) return html`<main id="main" class="page" tabindex="-1"><${Waiting} /></main>`;
  if (!channel) return html`<main id="main" class="page" tabindex="-1"><${Empty} icon="channel" title=${t("error.gone")} /></main>`;
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["channels"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1><bdi>${channelName(channel)}</bdi></h1><span class="grows"></span>
        ${may("send_channel_test") && html`<button type="button" onClick=${() => setAsked("test")}><${Icon} name="send" size=${16} /> ${t("channels.test")}</button>`}
        ${may("change_channel_settings") && html`<button type="button" onClick=${() => setAsked("name")}>${t("channels.rename")}</button>`}
        ${may("release_channel") && html`<button type="button" class="quiet" onClick=${() => askToRelease(channel)}><${Icon} name="trash" size=${16} /> ${t("channels.release")}</button>`}
      </header>
      <div class="two">
        <div class="channel-facts"><ul><${Card} channel=${channel} isOwn /></ul>
          ${may("list_channel_settings") && html`<${SettingsCard} uuid=${uuid} onChange=${load} />`}</div>
        <${HealthCard} uuid=${uuid} />
      </div>
      ${channel.device || !may("list_channel_calls") ? null : html`<${Calls} channel=${uuid} />`}
      ${channel.device && html`<${Alarms} channel=${uuid} />`}
      ${asked === "test" && html`<${TestDialog} channel=${channel} onClose=${() => setAsked("")} />`}
      ${asked === "name" && html`<${NameDialog} channel=${channel} onDone=${load} onClose=${() => setAsked("")} />`}
    </main>
  `;
}

/** Says first what becomes of the messages that wait. @param {import("./page.js").Channel} channel */
const askToRelease = async (channel) => {
  const unsent = await get("channel_releases", { uuid: channel.uuid }).catch((error) => void notify(explain(error), true));
  if (!unsent) return;
  const counts = { handed_over: number(unsent.handed_over), failed: number(unsent.failed) };
  const fate = unsent.handed_over + unsent.failed ? [t("channels.release_counts", counts)] : [];
  confirmFirst({
    title: t("channels.release_ask", { name: channelName(channel) }),
    text: [t("channels.release_text"), ...fate].join(" "),
    submit: t("channels.release"),
    onYes: async () => {
      await remove("channel_settings", { uuid: channel.uuid });
      notify(t("channels.released"));
      go(["channels"]);
    },
  });
};

/** @param {{channel: import("./page.js").Channel, onDone: () => unknown, onClose: () => void}} props */
function NameDialog({ channel: { uuid, name }, onDone, onClose }) {
  const save = async (/** @type {FormData} */ data) => {
    await post("channel_settings", { name: String(data.get("name")) }, { uuid });
    await onDone();
  };
  return html`
    <${FormDialog} title=${t("channels.rename")} submit=${t("act.save")} draft=${`channel.name.${uuid}`} onSubmit=${save} onClose=${onClose}>
      <${Field} label=${t("channels.name")} id="name"><input id="name" name="name" required maxlength="64" dir="auto" defaultValue=${name ?? ""} /><//>
    <//>
  `;
}

/** @param {{channel: import("./page.js").Channel, onClose: () => void}} props */
function TestDialog({ channel: { uuid, type }, onClose }) {
  const key = useRef(newKey());
  const { types } = useTypes();
  const scheme = likelyScheme(types?.types.find((each) => each.type === type)?.schemes);
  const send = async (/** @type {FormData} */ data) => {
    const sent = await sendTest(uuid, scheme, data, key.current);
    go(["inbox", sent.contact.uuid]);
  };
  return html`
    <${FormDialog} title=${t("channels.test")} submit=${t("act.send")} draft=${`channel.test.${uuid}`} onSubmit=${send} onClose=${onClose}>
      <p class="help">${t("channels.test_help")}</p>
      <${TestFields} scheme=${scheme} />
    <//>
  `;
}
