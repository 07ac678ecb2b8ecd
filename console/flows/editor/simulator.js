/** Trying a flow while it is drawn: a conversation on a phone that nobody else notices, and the tests of the flow. */

import { ContactPicker } from "../../parts/contact_picker.js";
import { FormDialog } from "../../parts/dialog.js";
import { Icon } from "../../parts/icons.js";
import { Badge, Field } from "../../parts/small.js";
import { post } from "../../shared/api.js";
import { explain } from "../../shared/explain.js";
import { may } from "../../shared/session.js";
import { languageName, number, t, word } from "../../shared/texts.js";
import { classes, html, useEffect, useRef, useState } from "../../shared/ui.js";
import { contactOf, eventsOf, makeTest, messagesOf, playable, visited, waitingAt } from "./conversation.js";

/**
 * @typedef {import("./model.js").Definition} Definition
 * @typedef {import("./conversation.js").Turn} Turn
 * @typedef {import("./conversation.js").Said} Said
 * @typedef {import("../../parts/contact_picker.js").Contact} Contact
 * @typedef {import("../../shared/contract.js").Written<"flow_tests">["results"][number]} TestResult
 * @typedef {{name: string, language: string, contact: Contact | null, fails: boolean, start: string, branches: Record<string, string>}} Setting
 *   who talks, whether other systems fail, where it begins, and the categories that nodes take
 * @typedef {{definition: Definition, chosen?: string, onPath: (nodes: string[]) => void, onTest: (test: import("./conversation.js").FlowTest) => void, onClose: () => void}} SimulatorProps
 *   `chosen` is the node that is selected beside it
 */

/** @type {Setting} */
const USUAL = { name: "", language: "", contact: null, fails: false, start: "", branches: {} };
const FAILING = { webhooks: [{ status: 500, body: "{}" }], airtime: /** @type {const} */ ("fails"), email: /** @type {const} */ ("fails") };
const ENDS_OF_CALLS = /** @type {const} */ (["answered", "no_answer", "busy", "failed"]);

/** @param {SimulatorProps} props */
export function Simulator({ definition, chosen = "", onPath, onTest, onClose }) {
  const [setting, setSetting] = useState(USUAL);
  const [turns, setTurns] = useState(/** @type {Turn[]} */ ([]));
  const [problem, setProblem] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [isNaming, setIsNaming] = useState(false);
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const last = turns.at(-1)?.played;
  const waiting = waitingAt(definition, last);
  useEffect(() => onPath(visited(definition, last)), [last]);
  useEffect(() => {
    panel.current?.focus();
    return () => onPath([]);
  }, []);
  /** @param {Turn[]} before @param {Said | null} said @param {Setting} [how] */
  const play = async (before, said, how = setting) => {
    setIsBusy(true);
    try {
      const person = { ...(how.name ? { name: how.name } : {}), ...(how.language ? { language: how.language } : {}) };
      const session = before.at(-1)?.played.session;
      const going = session && said ? { session, resume: said } : how.contact ? { contact: how.contact.uuid } : { person };
      const played = await post("simulations", /** @type {any} */ ({ definition: playable(definition, how.start, how.branches), ...going, ...(how.fails ? { services: FAILING } : {}) }));
      setTurns([...before, { said, played }]);
      setProblem("");
    } catch (error) {
      setProblem(explain(error));
    }
    setIsBusy(false);
  };
  const begin = (/** @type {Partial<Setting>} */ part = {}) => {
    const how = { ...setting, ...part };
    setSetting(how);
    // What is talked of needs the room now.
    panel.current?.querySelector("details")?.removeAttribute("open");
    return play([], null, how);
  };
  const save = async (/** @type {FormData} */ data) => {
    const who = setting.contact ? contactOf(turns[0].played) : { ...(setting.name ? { name: setting.name } : {}), ...(setting.language ? { language: setting.language } : {}) };
    onTest(makeTest(String(data.get("name")).trim(), turns, who, setting.fails ? FAILING : undefined));
  };
  const isAsDrawn = !setting.start && Object.keys(setting.branches).length === 0;
  return html`
    <aside class="card node-panel simulator" tabindex="-1" ref=${panel} aria-labelledby="simulator-title" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !event.defaultPrevented && onClose()}>
      <header><h2 id="simulator-title">${t("simulator.title")}</h2>
        <button type="button" class="quiet icon-only" aria-label=${t("act.close")} onClick=${onClose}><${Icon} name="close" /></button></header>
      <p class="help">${t("simulator.nothing")}</p>
      <${Settings} definition=${definition} setting=${setting} nodes=${[waiting?.uuid ?? "", chosen]} onChange=${(/** @type {Partial<Setting>} */ part) => setSetting((old) => ({ ...old, ...part }))} />
      <p class="buttons">
        <button type="button" class=${turns.length ? "" : "primary"} disabled=${isBusy} onClick=${() => begin({ start: "" })}><${Icon} name="play" size=${16} /> ${t(turns.length ? "simulator.again" : "simulator.begin")}</button>
        ${chosen && chosen !== definition.nodes[0]?.uuid && html`<button type="button" disabled=${isBusy} onClick=${() => begin({ start: chosen })}>${t("simulator.from_step", { step: stepName(definition, chosen) })}</button>`}
        ${turns.length > 1 && html`<button type="button" disabled=${isBusy} onClick=${() => setTurns(turns.slice(0, -1))}>${t("simulator.back")}</button>`}
      </p>
      <${Phone} turns=${turns} />
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      ${last?.status === "waiting" && html`<${Answer} key=${turns.length} played=${last} waiting=${waiting} isBusy=${isBusy} onSay=${(/** @type {Said} */ said) => play(turns, said)} />`}
      ${last && last.status !== "waiting" && html`<p class="help" role="status">${word("simulation_status", last.status)}</p>`}
      ${last && (isAsDrawn ? html`<button type="button" onClick=${() => setIsNaming(true)}>${t("simulator.save_test")}</button>` : html`<p class="help">${t("simulator.not_testable")}</p>`)}
      <${Tests} definition=${definition} />
      ${isNaming && html`<${FormDialog} title=${t("simulator.save_test")} submit=${t("act.save")} onSubmit=${save} onClose=${() => setIsNaming(false)}>
        <${Field} label=${t("simulator.test_name")} id="test-name" help=${t("simulator.test_help")}><input id="test-name" name="name" required maxlength="64" pattern=".*\\S.*" aria-describedby="test-name-help" /><//>
      <//>`}
    </aside>
  `;
}

/** @param {Definition} definition @param {string} node */
const stepName = (definition, node) => t("flows.node", { number: number(definition.nodes.findIndex(({ uuid }) => uuid === node) + 1) });

/** @param {{definition: Definition, setting: Setting, nodes: string[], onChange: (part: Partial<Setting>) => void}} props `nodes` are those whose branch can be chosen */
function Settings({ definition, setting, nodes, onChange }) {
  const languages = [...new Set([definition.language ?? "", ...Object.keys(definition.localization ?? {})])].filter((code) => code && code !== "und" && code !== "base");
  const deciding = [...new Set([...nodes, ...Object.keys(setting.branches)])].flatMap((each) => definition.nodes.find(({ uuid, router }) => uuid === each && (router?.categories ?? []).length > 1) ?? []);
  const choose = (/** @type {string} */ node, /** @type {string} */ category) => onChange({ branches: Object.fromEntries(Object.entries({ ...setting.branches, [node]: category }).filter(([, each]) => each)) });
  return html`
    <details class="simulator-setting"><summary>${t("simulator.who")}</summary>
      <${Field} label=${t("simulator.name")} id="simulator-name"><input id="simulator-name" autocomplete="off" maxlength="128" value=${setting.name} disabled=${setting.contact !== null} onInput=${(/** @type {any} */ { target }) => onChange({ name: target.value.trim() })} /><//>
      ${languages.length > 1 && html`<${Field} label=${t("simulator.language")} id="simulator-language"><select id="simulator-language" disabled=${setting.contact !== null} onChange=${(/** @type {any} */ { target }) => onChange({ language: target.value })}>
        ${languages.map((code, at) => html`<option key=${code} value=${at ? code : ""} selected=${code === setting.language}>${languageName(code)}</option>`)}</select><//>`}
      ${may("list_contacts") && html`<${ContactPicker} id="simulator-contact" label=${t("simulator.copy_of")} chosen=${setting.contact} onPick=${(/** @type {Contact | null} */ contact) => onChange({ contact })} />`}
      <label><input type="checkbox" checked=${setting.fails} onChange=${(/** @type {any} */ { target }) => onChange({ fails: target.checked })} /> ${t("simulator.fails")}</label>
      ${deciding.map((node) => html`<${Field} key=${node.uuid} label=${t("simulator.branch", { step: stepName(definition, node.uuid) })} id=${`branch-${node.uuid}`}><select id=${`branch-${node.uuid}`} onChange=${(/** @type {any} */ { target }) => choose(node.uuid, target.value)}>
        <option value="">${t("simulator.as_drawn")}</option>
        ${node.router.categories.map((/** @type {any} */ { uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${setting.branches[node.uuid] === uuid}>${name}</option>`)}</select><//>`)}
    </details>
  `;
}

/** What was said and what happened, newest last. @param {{turns: Turn[]}} props */
function Phone({ turns }) {
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => void (end.current && (end.current.scrollTop = end.current.scrollHeight)), [turns]);
  if (turns.length === 0) return null;
  return html`<div class="phone" ref=${end} tabindex="0" role="log" aria-label=${t("simulator.conversation")}><ol>${turns.map(({ said, played }, at) => html`<li key=${at}>
    ${said && html`<div class="message out"><div class="bubble"><p class="text" dir="auto">${toldOf(said)}</p></div></div>`}
    ${messagesOf(played).map(({ text, attachments }, place) => html`<div key=${place} class="message"><div class="bubble"><p class="text" dir="auto">${text}</p>${attachments.map((each) => html`<p key=${each} class="file faint"><${Icon} name="attach" size=${14} /> <bdi>${each.split(":").slice(1).join(":")}</bdi></p>`)}</div></div>`)}
    <ul class="happened">${eventsOf(played).map(({ type, text, isProblem }, place) => html`<li key=${place} class=${classes(isProblem && "bad")}><strong>${word("flow_event", type)}</strong> <span dir="auto">${text}</span></li>`)}</ul>
    <${State} played=${played} />
  </li>`)}</ol></div>`;
}

/** @param {Said} said */
const toldOf = ({ type, text, status }) => (type === "msg" ? text : type === "dial" ? word("call_end", status ?? "") : type === "callback" ? [t("simulator.callback"), text].filter(Boolean).join(": ") : t(type === "wait_timeout" ? "simulator.time_out" : "simulator.expire"));

/** The contact and the results after a step. @param {{played: import("./conversation.js").Played}} props */
function State({ played }) {
  const { name, language, fields, groups } = /** @type {Record<string, any>} */ (played.contact);
  const facts = [
    [t("simulator.name"), name],
    [t("simulator.language"), language && languageName(language)],
    [word("flow_event", "contact_groups_changed"), (groups ?? []).map((/** @type {any} */ group) => group.name).join(", ")],
    ...Object.entries(fields ?? {}).map(([key, value]) => [key, value?.text]),
    ...Object.values(/** @type {Record<string, any>} */ (played.results)).map((result) => [result.name, `${result.value ?? ""}${result.category ? ` (${result.category})` : ""}`]),
  ].filter(([, value]) => value);
  return html`<details class="known"><summary>${t("simulator.state")}</summary><dl>${facts.map(([fact, value], at) => html`<div key=${at}><dt dir="auto">${fact}</dt><dd dir="auto">${value}</dd></div>`)}</dl></details>`;
}

/** What somebody does in the contact's place. @param {{played: import("./conversation.js").Played, waiting: import("./model.js").FlowNode | undefined, isBusy: boolean, onSay: (said: Said) => void}} props */
function Answer({ played, waiting, isBusy, onSay }) {
  const [text, setText] = useState("");
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  const replies = messagesOf(played).at(-1)?.replies ?? [];
  const isCall = played.events.some(({ type }) => type === "dial_wait");
  const isPause = played.events.some(({ type }) => type === "time_wait");
  const type = played.events.some((event) => event.type === "callback_wait") ? "callback" : "msg";
  const asked = t(type === "callback" ? "simulator.brings" : "simulator.answer");
  const hasTimeout = isPause || played.events.some(({ timeout_seconds: seconds }) => seconds) || waiting?.router?.wait?.timeout;
  return html`
    <form class="simulator-answer" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), onSay({ type, text }))}>
      ${replies.length > 0 && html`<p class="buttons">${replies.map((reply) => html`<button key=${reply} type="button" disabled=${isBusy} onClick=${() => onSay({ type: "msg", text: reply })}><bdi>${reply}</bdi></button>`)}</p>`}
      ${isCall
        ? html`<p class="buttons">${ENDS_OF_CALLS.map((status) => html`<button key=${status} type="button" disabled=${isBusy} onClick=${() => onSay({ type: "dial", status })}>${word("call_end", status)}</button>`)}</p>`
        : isPause
        ? html`<p class="help" role="status">${t("simulator.pauses")}</p>`
        : html`<div class="with-button"><input ref=${field} aria-label=${asked} placeholder=${asked} autocomplete="off" maxlength="4096" dir="auto" value=${text} onInput=${(/** @type {any} */ { target }) => setText(target.value)} />
            <button type="submit" class="primary" disabled=${isBusy}>${t(type === "callback" ? "simulator.callback" : "act.send")}</button></div>`}
      <p class="buttons">
        ${hasTimeout && html`<button type="button" class="quiet" disabled=${isBusy} onClick=${() => onSay({ type: "wait_timeout" })}><${Icon} name="clock" size=${16} /> ${t(isPause ? "simulator.pass" : "simulator.time_out")}</button>`}
        <button type="button" class="quiet" disabled=${isBusy} onClick=${() => onSay({ type: "wait_expiration" })}><${Icon} name="stop" size=${16} /> ${t("simulator.expire")}</button>
      </p>
    </form>
  `;
}

/** The tests that the flow has, and what playing them found. @param {{definition: Definition}} props */
function Tests({ definition }) {
  const tests = /** @type {{name: string}[]} */ (definition._ui?.tests ?? []);
  const [found, setFound] = useState(/** @type {{definition: Definition, results: TestResult[]} | null} */ (null));
  const [problem, setProblem] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const play = async () => {
    setIsBusy(true);
    setProblem("");
    try {
      /** @type {TestResult[]} */
      const results = [];
      for (let first = /** @type {number | null} */ (0); first !== null; ) {
        const part = await post("flow_tests", /** @type {any} */ ({ definition, first }));
        results.push(...part.results);
        setFound({ definition, results: [...results] });
        first = part.next;
      }
    } catch (error) {
      setProblem(explain(error));
    }
    setIsBusy(false);
  };
  // What was found of another definition says nothing of this one.
  const results = found?.definition === definition ? found.results : [];
  const passed = results.filter((each) => each.passed).length;
  return html`
    <section class="flow-tests" aria-labelledby="flow-tests-title">
      <h3 id="flow-tests-title">${t("simulator.tests")}</h3>
      ${tests.length === 0
        ? html`<p class="help">${t("simulator.no_tests")}</p>`
        : html`<button type="button" disabled=${isBusy} onClick=${play}><${Icon} name="play" size=${16} /> ${t("simulator.play", { count: number(tests.length) })}</button>
          <p role="status">${results.length > 0 && !isBusy && t("simulator.passed", { count: number(passed), total: number(results.length) })}</p>
          <ul>${tests.map(({ name }, at) => html`<li key=${at}><span dir="auto">${name}</span> ${results[at] && html`<${Badge} tone=${results[at].passed ? "good" : "bad"}>${word("flow_test", results[at].passed ? "passed" : "failed")}<//>`}
            ${results[at]?.differences.map((each, place) => html`<p key=${place} class="problem" dir="auto">${each}</p>`)}</li>`)}</ul>`}
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    </section>
  `;
}
