/** The last steps of a new gateway: what its provider has to know, the first call, and a test message to oneself. */

import { Copied } from "../parts/secret_dialog.js";
import { Icon } from "../parts/icons.js";
import { Empty, Problem, Waiting } from "../parts/small.js";
import { get, newKey } from "../shared/api.js";
import { onChange } from "../shared/live.js";
import { useChanges, useInTurn } from "../shared/changes.js";
import { explain } from "../shared/explain.js";
import { addressOf, displayName } from "../shared/names.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { listTime, t, word } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";
import { Mark } from "./catalogue.js";
import { Connection } from "./health.js";
import { sendTest, TestFields } from "./test_message.js";
import { useTypes } from "./types.js";

/**
 * @typedef {import("../shared/contract.js").Listed<"channel_settings">} Settings
 * @typedef {import("../shared/contract.js").Listed<"messages">} Message
 * @typedef {import("../shared/contract.js").Listed<"channel_calls">} Call
 * @typedef {import("./types.js").Type} Type
 */

const ASK_MS = 3000;

/** @param {{uuid: string}} props */
export function ConnectPage({ uuid }) {
  const [settings, setSettings] = useState(/** @type {Settings | null | undefined} */ (undefined));
  const [problem, setProblem] = useState("");
  const { types, problem: typesProblem, load: loadTypes } = useTypes();
  const isAllowed = may("list_channel_settings");
  const load = () => get("channel_settings", { uuid }).then(({ results }) => (setSettings(results[0] ?? null), setProblem("")), (error) => setProblem(explain(error)));
  useEffect(() => void (isAllowed ? load() : go(["channels", uuid], {}, { replace: true })), [uuid]);
  const isTelling = settings?.connection?.state === "waiting";
  useEffect(() => {
    const again = isTelling ? setInterval(load, ASK_MS) : 0;
    return () => clearInterval(again);
  }, [uuid, isTelling]);
  const type = types?.types.find((each) => each.type === settings?.type);
  const preset = types?.presets.find((each) => each.preset === settings?.preset);
  if (problem || typesProblem) return html`<main id="main" class="page" tabindex="-1"><h1>${t("channels.title")}</h1><${Problem} text=${problem || typesProblem} onRetry=${() => (void load(), void loadTypes())} /></main>`;
  if (settings === null) return html`<main id="main" class="page" tabindex="-1"><${Empty} icon="channel" title=${t("error.gone")} /></main>`;
  if (!settings || !type) return html`<main id="main" class="page" tabindex="-1"><${Waiting} /></main>`;
  return html`
    <main id="main" class="page connect" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["channels", uuid])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <${Mark} entry=${{ title: (preset ?? type).title, type }} />
        <h1>${t("connect.title", { name: settings.name ?? "" })}</h1>
      </header>
      <ol class="connect-steps">
        <${Kept} uuid=${uuid} />
        <${Told} settings=${settings} type=${type} actions=${(preset ?? type).actions} />
        <${Tried} settings=${settings} type=${type} />
      </ol>
      <p><a class="button" href=${link(["channels", uuid])}>${t("connect.done")}</a></p>
    </main>
  `;
}

/** The connection of a channel that keeps one; nobody tells of its changes, so that is asked for. @param {{uuid: string}} props */
function Kept({ uuid }) {
  const [kept, setKept] = useState(/** @type {import("./health.js").Health["connection"]} */ (null));
  const load = useInTurn(() => get("channel_health", { uuid }).then(({ connection }) => setKept(connection), () => {}));
  const isBound = kept?.state === "bound";
  useEffect(() => {
    void load();
    const again = kept && !isBound ? setInterval(load, ASK_MS) : 0;
    return () => clearInterval(again);
  }, [uuid, !kept, isBound]);
  return kept && html`<${Step} title=${t("channels.connection")} isDone=${isBound}>
    <p class="light-line" role="status"><span class=${isBound ? "light on" : kept.state === "failed" ? "light bad" : "light"} aria-hidden="true"></span><span><${Connection} of=${kept} /></span></p>
  <//>`;
}

/** What the provider, or a site, has to know. @param {{settings: Settings, type: Type, actions: string[]}} props */
function Told({ settings, type, actions }) {
  if (settings.embed) {
    return html`<${Step} title=${t("connect.embed")} help=${t("connect.embed_help")}><${Copied} label=${t("connect.embed")} text=${settings.embed} /><//>`;
  }
  if (type.callback === "none" || !settings.callback_url) return null;
  return html`<${Step} title=${t("connect.tell")} help=${t(type.callback === "told" ? "connect.told_help" : "connect.tell_help")}>
    <${CallbackUrls} settings=${settings} actions=${actions} />
  <//>`;
}

/** Whether the provider took the address that it was told. @param {{connection: NonNullable<Settings["connection"]>}} props */
const TellingState = ({ connection: { state, error } }) => html`
  <p class="light-line" role="status"><span class=${state === "accepted" ? "light on" : state === "failed" ? "light bad" : "light"} aria-hidden="true"></span> <span>${word("provider_connection", state)}</span></p>
  ${error && html`<p class="problem" dir="auto">${error}</p>`}
`;

/** The URLs that the provider calls, and the secret that some ask for beside them. @param {{settings: Settings, actions: string[]}} props */
export const CallbackUrls = ({ settings, actions }) => html`
  ${settings.connection && html`<${TellingState} connection=${settings.connection} />`}
  ${(actions.length ? actions : [""]).map((action) => html`<${Copied} key=${action} label=${word("callback_action", action || "all")} text=${settings.callback_url + action} />`)}
  ${settings.secret && html`<details class="folded"><summary>${t("connect.secret")}</summary><${Copied} label=${t("connect.secret")} text=${settings.secret} /></details>`}
`;

/** The first call, and the test. @param {{settings: Settings, type: Type}} props */
function Tried({ settings, type }) {
  const first = useFirstMessage(settings.uuid);
  const call = useLastCall(settings.uuid, type.callback !== "none" && may("list_channel_calls"));
  const help = settings.embed ? t("connect.hear_embed") : t("connect.hear_help", { address: settings.address ?? "" });
  return html`
    <${Step} title=${t("connect.hear")} help=${help} isDone=${!!first}>
      <p class="light-line" role="status"><span class=${first ? "light on" : "light"} aria-hidden="true"></span>
        ${first ? html`<span>${t("connect.heard", { name: displayName(first.contact.name, first.urn), time: listTime(first.created_on) })}
          ${" "}<a href=${link(["inbox", first.contact.uuid])}>${t("connect.open")}</a></span>` : html`<span>${t("connect.waiting")}</span>`}</p>
      ${call && (call.outcome === "refused" || !first) && html`<${LastCall} call=${call} />`}
    <//>
    ${may("send_channel_test") && html`<${Tested} settings=${settings} first=${first} />`}
  `;
}

/** What the provider said last, and whether it was taken. @param {{call: Call}} props */
function LastCall({ call: { outcome, error, result, created_on } }) {
  const isTaken = outcome === "accepted";
  const said = isTaken ? result : error;
  return html`
    <p class="light-line" role="status"><span class=${isTaken ? "light on" : "light bad"} aria-hidden="true"></span>
      <span>${t(isTaken ? "connect.called" : "connect.refused", { time: listTime(created_on) })}${said && html` <bdi>${said}</bdi>`}</span></p>
  `;
}

/** The last call of the provider, also one that was refused; the stream has none, so that is asked for. @param {string} uuid @param {boolean} isCalled @returns {Call | null} */
function useLastCall(uuid, isCalled) {
  const [last, setLast] = useState(/** @type {Call | null} */ (null));
  const load = useInTurn(() => get("channel_calls", { channel: uuid, direction: "in" }).then(({ results }) => setLast(results[0] ?? null), () => {}));
  useEffect(() => {
    if (!isCalled) return;
    void load();
    const again = setInterval(load, ASK_MS);
    return () => clearInterval(again);
  }, [uuid, isCalled]);
  return last;
}

/** The last message that came in by a channel, as soon as there is one. @param {string} uuid @returns {Message | null} */
function useFirstMessage(uuid) {
  const [first, setFirst] = useState(/** @type {Message | null} */ (null));
  const load = useInTurn(async () => {
    const page = await get("messages", { folder: "incoming" }).catch(() => null);
    setFirst((known) => page?.results.find((each) => each.channel?.uuid === uuid) ?? known);
  });
  useEffect(() => void load(), [uuid]);
  useChanges([], load);
  useEffect(() => onChange((change) => {
    if (change.kind === "message" && change.record.direction === "in" && change.record.channel?.uuid === uuid) setFirst(change.record);
  }), [uuid]);
  return first;
}

/** @param {{settings: Settings, first: Message | null}} props */
function Tested({ settings, first }) {
  const key = useRef(newKey());
  const [sent, setSent] = useState(/** @type {Message | null} */ (null));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  // The stream may tell of a message before the answer that names it.
  const told = useRef(/** @type {Map<string, Message>} */ (new Map()));
  useEffect(() => onChange((change) => {
    if (change.kind !== "message") return;
    told.current.set(change.record.uuid, change.record);
    setSent((known) => (known?.uuid === change.record.uuid ? change.record : known));
  }), []);
  const send = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      const made = await sendTest(settings.uuid, settings.scheme, new FormData(/** @type {HTMLFormElement} */ (event.target)), key.current);
      setSent(told.current.get(made.uuid) ?? made);
      key.current = newKey();
    } catch (error) {
      setProblem(explain(error));
    }
    setBusy(false);
  };
  const isFine = !!sent && !["queued", "errored", "failed"].includes(sent.status);
  const to = first?.urn ? addressOf(first.urn) : "";
  return html`
    <${Step} title=${t("connect.test")} help=${t("connect.test_help")} isDone=${isFine}>
      <form class="narrow-form" onSubmit=${send}>
        <${TestFields} key=${to} scheme=${settings.scheme} to=${to} />
        ${problem && html`<p class="problem" role="alert">${problem}</p>`}
        <p class="actions"><button type="submit" class="primary" disabled=${busy}>${t("channels.test")}</button></p>
      </form>
      <p class="light-line" role="status">${sent && html`<span class=${isFine ? "light on" : sent.status === "failed" ? "light bad" : "light"} aria-hidden="true"></span>
        <span>${t("connect.state", { state: word("state", sent.status) })}${sent.failed_reason && `: ${word("failed", sent.failed_reason)}`}
          ${sent.failed_detail && html`<bdi>${sent.failed_detail}</bdi>`}
          ${" "}<a href=${link(["inbox", sent.contact.uuid])}>${t("connect.open")}</a></span>`}</p>
    <//>
  `;
}

/** @param {{title: string, help?: string, isDone?: boolean, children?: any}} props */
const Step = ({ title, help, isDone = false, children }) => html`
  <li class=${isDone ? "card step done" : "card step"}>
    <h2>${title}${isDone && html` <${Icon} name="check" size=${18} />`}</h2>
    ${help && html`<p class="help">${help}</p>`}
    ${children}
  </li>
`;
