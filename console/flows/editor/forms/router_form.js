/** How a step goes on: not at all, with an answer, after a time, with a callback, by tests of something, at random, or by how a call ends. */

import { Icon } from "../../../parts/icons.js";
import { Menu } from "../../../parts/menu.js";
import { Field } from "../../../parts/small.js";
import { languageName, number, t, word } from "../../../shared/texts.js";
import { html } from "../../../shared/ui.js";
import { resultKey, resultNames } from "../model.js";
import { addBucket, addCase, ANSWER, BROUGHT, GROUPS, hasOutcome, moveCase, nameCategory, nameCategoryOfCase, removeBucket, removeCase, setCase, setOperand, setPauseEnd, setRouterParts, setSplit, setTest, setTimeLimit, setWait, splitByOutcome, splitOf } from "./changing.js";
import { ExpressionInput } from "./expression_input.js";
import { RemoveButton, Unknown, useAssets } from "./inputs.js";
import { label, say } from "./parts.js";

/**
 * @typedef {import("./inputs.js").Form} Form
 * @typedef {import("../model.js").Case} Case
 * @typedef {import("../model.js").Category} Category
 */

const KNOWN = ["type", "operand", "cases", "categories", "default_category_uuid", "wait", "result_name"];
const FIRST_TEST = "has_any_word";
const FIRST_GROUP_TEST = "has_group";
const LONGEST_NAME = 64;
/** Characters of what ends a row of digits. */
const LONGEST_END = 8;
const PROPERTIES = ["name", "language", "status", "channel"];
/** Kinds of tests in the order in which they are offered, with how the names of their functions begin. */
const FAMILIES = /** @type {[string, RegExp][]} */ ([["number", /^has_number/], ["date", /^has_(date|time)/], ["place", /^has_(state|district|ward)/], ["other", /^has_(group|category|intent|top_intent|error)/]]);
/** Units of how long a wait lasts, in seconds, the longest first. */
const UNITS = /** @type {[string, number][]} */ ([["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]]);
const FIRST_LIMIT_S = 300;
const FIRST_HOUR = "08:00";

const changed = () => label("flow_change.split");

/** @param {{form: Form, issues: import("./inputs.js").Issue[]}} props */
export function RouterForm({ form, issues }) {
  const { definition, node, parts, change } = form;
  const split = splitOf(node);
  const isVoice = definition.type === "voice";
  const isQuiet = definition.type === "messaging_background";
  const pauses = definition.type === "messaging" ? Object.keys(parts.pauses).sort().reverse() : [];
  const splits = ["none", ...(isQuiet ? [] : ["msg"]), ...pauses, ...Object.keys(parts.routers).sort().reverse(), ...(isVoice ? ["dial"] : [])];
  const isKnown = splits.includes(split);
  const outcomes = split === "none" ? (node.actions ?? []).filter((action) => hasOutcome(action, parts)) : [];
  return html`<section class="router-form" aria-label=${say("flow_form.then")}>
    <${Field} id="form-split" label=${say("flow_form.then")}>
      <select id="form-split" value=${split} onChange=${(/** @type {any} */ { target }) => change(setSplit(definition, node, target.value, parts), changed())}>
        ${!isKnown && html`<option value=${split}>${word("flow_split", split)}</option>`}
        ${splits.map((each) => html`<option key=${each} value=${each}>${word("flow_split", each)}</option>`)}
      </select><//>
    ${outcomes.map((action) => html`<p key=${action.uuid}><button type="button" onClick=${() => change(splitByOutcome(definition, node, action, parts), changed())}>${say("flow_form.by_outcome", { name: word("action", action.type) })}</button></p>`)}
    ${isKnown && split === "random" && html`<${Buckets} form=${form} />`}
    ${isKnown && split === "time" && html`<${Pause} form=${form} />`}
    ${isKnown && ["msg", "callback", "switch", "dial"].includes(split) && html`<${Tests} form=${form} split=${split} />`}
    ${issues.map(({ field, language, message }) => html`<p key=${field + language + message} class="problem" dir="auto">${language && `${languageName(language)}: `}${message}</p>`)}
    ${node.router && html`<${Unknown} value=${isKnown ? Object.fromEntries(Object.entries(node.router).filter(([name]) => !KNOWN.includes(name))) : node.router} />`}
  </section>`;
}

/** @param {{form: Form, split: string}} props */
function Tests({ form, split }) {
  const { definition, node, parts, change } = form;
  const { router } = node;
  const cases = /** @type {Case[]} */ (router.cases ?? []);
  const last = router.categories.find((/** @type {Category} */ { uuid }) => uuid === router.default_category_uuid);
  const type = (/** @type {string} */ typed, /** @type {string} */ field, /** @type {Record<string, unknown>} */ said) => change(setRouterParts(definition, node, said), changed(), `${node.uuid}-${field}`);
  return html`
    ${split === "dial" && html`<${Dial} form=${form} />`}
    ${split === "callback" && html`<p class="help">${say("flow_form.callback_help")} <code dir="ltr">@resume.url</code></p>`}
    ${["switch", "callback"].includes(split) && html`<${Operand} form=${form} split=${split} />`}
    <ol class="rows cases-form" aria-label=${say("flow_form.tests")}>${cases.map((each, at) => html`<${CaseForm} key=${each.uuid ?? at} form=${form} test=${each} at=${at} />`)}</ol>
    <p class="row-buttons"><button type="button" onClick=${() => change(addCase(definition, node, router.operand === GROUPS ? FIRST_GROUP_TEST : FIRST_TEST, parts), changed())}><${Icon} name="plus" size=${16} /> ${say("flow_form.add_test")}</button></p>
    ${last && html`<${Field} id="form-default" label=${say(cases.length > 0 ? "flow_form.otherwise" : "flow_form.any_answer")}><${CategoryInput} id="form-default" value=${last.name} onName=${(/** @type {string} */ name) => change(nameCategory(definition, node, last.uuid, name), changed())} /><//>`}
    ${["msg", "callback"].includes(split) && html`<${TimeLimit} form=${form} />`}
    <${Field} id="form-result" label=${say("flow_form.result")} help=${router.result_name ? `@results.${resultKey(router.result_name)}` : ""}>
      <input id="form-result" type="text" dir="auto" maxlength=${LONGEST_NAME} value=${router.result_name ?? ""} onInput=${(/** @type {any} */ { target }) => type(target.value, "result", { result_name: target.value || undefined })} /><//>
    ${["msg", "dial"].includes(split) && html`<details open=${split === "msg" && router.operand !== ANSWER}><summary>${say("flow_form.more")}</summary><${Operand} form=${form} split=${split} />${split === "msg" && html`<${Hint} form=${form} />`}</details>`}
    <${Unknown} value=${Object.fromEntries(Object.entries(router.wait ?? {}).filter(([name]) => name !== "type" && !(parts.waits[router.wait.type] ?? []).includes(name)))} />`;

}

/** What is looked at: often the answer, a field or a result; or any expression. @param {{form: Form, split: string}} props */
function Operand({ form, split }) {
  const { definition, node, names, change } = form;
  const { router } = node;
  const fields = (form.workspace.fields ?? []).map(({ key, name }) => ({ value: `@fields.${key}`, text: `${t("resource.fields")}: ${name}` }));
  const results = resultNames(definition).map((name) => ({ value: `@results.${resultKey(name)}`, text: `${t("flows.result")}: ${name}` }));
  const own = PROPERTIES.map((name) => ({ value: `@contact.${name}`, text: `${t("resource.contacts")}: ${word("flow_property", name)}` }));
  const first = split === "callback" ? { value: BROUGHT, text: say("flow_form.brought") } : { value: ANSWER, text: say("flow_form.answer") };
  const known = [first, { value: GROUPS, text: say("flow_form.groups") }, ...own, ...fields, ...results];
  const isKnown = known.some(({ value }) => value === router.operand);
  const set = (/** @type {string} */ value, /** @type {string} */ field = "") => change(setOperand(definition, node, value), changed(), field);
  return html`<${Field} id="form-looks-at" label=${t("flows.looks_at")}>
    <select id="form-looks-at" value=${isKnown ? router.operand : ""} onChange=${(/** @type {any} */ { target }) => set(target.value || "@")}>
      ${known.map(({ value, text }) => html`<option key=${value} value=${value}>${text}</option>`)}
      <option value="">${say("flow_form.expression")}</option>
    </select>
    ${!isKnown && html`<${ExpressionInput} id="form-operand" label=${say("flow_form.expression")} value=${router.operand ?? ""} names=${names} onInput=${(/** @type {string} */ text) => set(text, `${node.uuid}-operand`)} />`}
  <//>`;
}

/** A test: what has to be so, and the category that it leads to. @param {{form: Form, test: Case, at: number}} props */
function CaseForm({ form, test, at }) {
  const { definition, node, parts, change } = form;
  const { router } = node;
  const category = router.categories.find((/** @type {Category} */ { uuid }) => uuid === test.category_uuid);
  const called = say("flow_form.test", { number: number(at + 1) });
  const families = FAMILIES.map(([name, begins]) => ({ name, tests: Object.keys(parts.tests).filter((each) => begins.test(each)) }));
  const texts = Object.keys(parts.tests).filter((each) => !families.some(({ tests }) => tests.includes(each)));
  const option = (/** @type {string} */ each) => html`<option key=${each} value=${each} title=${each}>${word("flow_test", each)}</option>`;
  return html`<li class="case" aria-label=${called}>
    <div class="case-test">
      <select aria-label=${called} title=${test.type} value=${test.type} onChange=${(/** @type {any} */ { target }) => change(setTest(definition, node, at, target.value, parts), changed())}>
        ${!(test.type in parts.tests) && option(test.type)}
        <optgroup label=${word("flow_tests", "text")}>${texts.map(option)}</optgroup>
        ${families.map(({ name, tests }) => html`<optgroup key=${name} label=${word("flow_tests", name)}>${tests.map(option)}</optgroup>`)}
      </select>
      <${Arguments} form=${form} test=${test} at=${at} />
    </div>
    <div class="case-category"><${Icon} name="forward" size=${14} />
      <${CategoryInput} id=${`case-${test.uuid ?? at}`} label=${say("flow_form.category_of", { number: number(at + 1) })} value=${category?.name ?? ""} onName=${(/** @type {string} */ name) => change(nameCategoryOfCase(definition, node, at, name), changed())} />
      <${Menu} label=${say("flow_form.more_of", { name: called })} items=${[
        at > 0 && { text: say("flow_form.up"), onPick: () => change(moveCase(definition, node, at, at - 1), changed()) },
        at < router.cases.length - 1 && { text: say("flow_form.down"), onPick: () => change(moveCase(definition, node, at, at + 1), changed()) },
        { text: t("act.remove"), icon: "trash", danger: true, onPick: () => change(removeCase(definition, node, at), changed()) },
      ]} /></div>
  </li>`;
}

/** @param {{form: Form, test: Case, at: number}} props */
function Arguments({ form, test, at }) {
  const { definition, node, parts, names, change } = form;
  const groups = useAssets("group", form, "") ?? [];
  const given = test.arguments ?? [];
  const told = parts.tests[test.type] ?? [];
  const set = (/** @type {string[]} */ args, /** @type {string} */ field = "") => change(setCase(definition, node, at, { arguments: args }), changed(), field);
  if (told[0]?.kind === "group") {
    const [uuid, name] = given;
    return html`<select aria-label=${word("flow_argument", "group")} value=${uuid ?? ""} onChange=${(/** @type {any} */ { target }) => {
      const found = groups.find((each) => each.uuid === target.value);
      if (found) set([String(found.uuid), String(found.name)]);
    }}>
      ${!groups.some((each) => each.uuid === uuid) && html`<option value=${uuid ?? ""}>${uuid ? say("flow_form.missing", { name: name ?? uuid }) : t("gateway.not_chosen")}</option>`}
      ${groups.map((each) => html`<option key=${each.uuid} value=${each.uuid}>${each.name}</option>`)}
    </select>`;
  }
  const repeated = told.find(({ is_repeated }) => is_repeated);
  const count = Math.max(told.length, given.length);
  return html`${Array.from({ length: count }, (_, place) => {
    const argument = told[place] ?? repeated ?? { name: "more", kind: "text" };
    const type = (/** @type {string} */ text) => {
      const made = Array.from({ length: Math.max(given.length, place + 1) }, (__, each) => (each === place ? text : (given[each] ?? "")));
      // What may be left out is left out when it is empty, if nothing follows.
      while (made.length > 0 && made[made.length - 1] === "" && (told[made.length - 1]?.is_optional || made.length > Math.max(told.length, given.length))) made.pop();
      set(made, `${test.uuid}-${place}`);
    };
    return html`<${ExpressionInput} key=${place} id=${`argument-${test.uuid ?? at}-${place}`} label=${word("flow_argument", argument.name)} value=${given[place] ?? ""} names=${names} onInput=${type} inputmode=${argument.kind === "number" ? "decimal" : undefined} />`;
  })}
  ${repeated && html`<button type="button" class="quiet icon-only" aria-label=${t("gateway.add")} onClick=${() => set([...given, ""])}><${Icon} name="plus" size=${16} /></button>`}`;
}

/** The name of a category, which is taken over when it is whole: half of a name can be that of another one. @param {{id: string, value: string, onName: (name: string) => void, label?: string}} props */
const CategoryInput = ({ id, value, onName, label: called }) => html`<input id=${id} type="text" dir="auto" maxlength=${LONGEST_NAME} aria-label=${called} value=${value} onChange=${(/** @type {any} */ { target }) => {
  if (target.value.trim()) onName(target.value);
  else target.value = value;
}} />`;

/** @param {{form: Form}} props */
function TimeLimit({ form }) {
  const { definition, node, change } = form;
  const { timeout } = node.router.wait;
  const category = node.router.categories.find((/** @type {Category} */ { uuid }) => uuid === timeout?.category_uuid);
  const set = (/** @type {number | null} */ seconds, /** @type {string} */ field = "") => change(setTimeLimit(definition, node, seconds), changed(), field);
  return html`<div class="field"><label><input type="checkbox" checked=${!!timeout} onChange=${(/** @type {any} */ { target }) => set(target.checked ? FIRST_LIMIT_S : null)} /> ${say("flow_form.time_limit")}</label>
    ${timeout && html`<div class="rows"><${Duration} id="form-limit" label=${say("flow_form.time_limit")} seconds=${timeout.seconds} onSeconds=${(/** @type {number} */ seconds) => set(seconds, `${node.uuid}-limit`)} />
      ${category && html`<${CategoryInput} id="form-limit-category" label=${say("flow_form.limit_category")} value=${category.name} onName=${(/** @type {string} */ name) => change(nameCategory(definition, node, category.uuid, name), changed())} />`}</div>`}
  </div>`;
}

/** For how long a step waits, or until when. @param {{form: Form}} props */
function Pause({ form }) {
  const { definition, node, names, change } = form;
  const { timeout, pause } = node.router.wait;
  const isUntil = pause.until !== undefined;
  const set = (/** @type {{seconds?: number, until?: string}} */ said, /** @type {string} */ field = "") => change(setPauseEnd(definition, node, said), changed(), field);
  return html`<fieldset class="field"><legend>${say("flow_form.pause")}</legend>
    <p class="choices">${[false, true].map((each) => html`<label key=${each}><input type="radio" name="form-pause" checked=${each === isUntil} onChange=${() => set(each ? { until: FIRST_HOUR } : {})} /> ${say(each ? "flow_form.pause_until" : "flow_form.pause_for")}</label>`)}</p>
    ${isUntil
      ? html`<${Field} id="form-until" label=${say("flow_form.pause_until")} help=${say("flow_form.pause_until_help")}><${ExpressionInput} id="form-until" value=${pause.until} names=${names} onInput=${(/** @type {string} */ until) => set({ until }, `${node.uuid}-until`)} /><//>`
      : html`<${Duration} id="form-pause" label=${say("flow_form.pause_for")} seconds=${timeout?.seconds ?? FIRST_LIMIT_S} onSeconds=${(/** @type {number} */ seconds) => set({ seconds }, `${node.uuid}-pause`)} />`}
    <p class="help">${say("flow_form.pause_help")}</p></fieldset>`;
}

/** @param {{id: string, label: string, seconds: number, onSeconds: (seconds: number) => void}} props */
function Duration({ id, label: called, seconds, onSeconds }) {
  const [unit, size] = UNITS.find(([, each]) => seconds % each === 0) ?? UNITS[UNITS.length - 1];
  const set = (/** @type {number} */ count, /** @type {number} */ each) => Number.isInteger(count) && count > 0 && onSeconds(count * each);
  return html`<span class="duration"><input id=${id} type="number" min="1" step="1" aria-label=${called} value=${seconds / size} onInput=${(/** @type {any} */ { target }) => set(Number(target.value), size)} />
    <select aria-label=${say("flow_form.unit")} value=${unit} onChange=${(/** @type {any} */ { target }) => set(seconds / size, UNITS.find(([name]) => name === target.value)?.[1] ?? 1)}>
      ${UNITS.map(([name]) => html`<option key=${name} value=${name}>${word("flow_unit", name)}</option>`)}</select></span>`;
}

/** What a channel is told to expect. @param {{form: Form}} props */
function Hint({ form }) {
  const { definition, node, parts, change } = form;
  const { hint } = node.router.wait;
  const set = (/** @type {Record<string, unknown> | undefined} */ said, /** @type {string} */ field = "") => change(setWait(definition, node, { hint: said }), changed(), field);
  return html`<${Field} id="form-hint" label=${say("flow_form.hint")} help=${say("flow_form.hint_help")}>
    <select id="form-hint" aria-describedby="form-hint-help" value=${hint?.type ?? ""} onChange=${(/** @type {any} */ { target }) => set(target.value ? { ...hint, type: target.value } : undefined)}>
      <option value="">${say("flow_form.any")}</option>
      ${parts.hints.map((each) => html`<option key=${each} value=${each}>${word("flow_hint", each)}</option>`)}
    </select>
    ${hint?.type === "digits" && html`<input type="number" min="0" aria-label=${say("flow_form.digits")} value=${hint.count ?? ""} onInput=${(/** @type {any} */ { target }) => set({ ...hint, count: Number(target.value) || undefined }, `${node.uuid}-digits`)} />
      <input type="text" dir="ltr" maxlength=${LONGEST_END} aria-label=${say("flow_form.terminated_by")} placeholder="#" value=${hint.terminated_by ?? ""} onInput=${(/** @type {any} */ { target }) => set({ ...hint, terminated_by: target.value || undefined }, `${node.uuid}-end`)} />`}
  <//>`;
}

/** @param {{form: Form}} props */
function Dial({ form }) {
  const { definition, node, names, change } = form;
  const { wait } = node.router;
  const limit = (/** @type {string} */ name) => wait[name] > 0 && html`<${Field} key=${name} id=${`form-${name}`} label=${word("flow_field", name)}><${Duration} id=${`form-${name}`} label=${word("flow_field", name)} seconds=${wait[name]}
    onSeconds=${(/** @type {number} */ seconds) => change(setWait(definition, node, { [name]: seconds }), changed(), `${node.uuid}-${name}`)} /><//>`;
  return html`<${Field} id="form-phone" label=${word("flow_field", "phone")}><${ExpressionInput} id="form-phone" value=${wait.phone ?? ""} names=${names} inputmode="tel"
    onInput=${(/** @type {string} */ phone) => change(setWait(definition, node, { phone }), changed(), `${node.uuid}-phone`)} /><//>
    ${limit("dial_limit_seconds")}${limit("call_limit_seconds")}`;
}

/** @param {{form: Form}} props */
function Buckets({ form }) {
  const { definition, node, change } = form;
  const categories = /** @type {Category[]} */ (node.router.categories);
  return html`<fieldset class="field"><legend>${say("flow_form.buckets")}</legend>
    <ol class="rows">${categories.map(({ uuid, name }, at) => html`<li key=${uuid}>
      <${CategoryInput} id=${`bucket-${uuid}`} label=${say("flow_form.category_of", { number: number(at + 1) })} value=${name} onName=${(/** @type {string} */ typed) => change(nameCategory(definition, node, uuid, typed), changed())} />
      ${categories.length > 1 && html`<${RemoveButton} name=${name} onClick=${() => change(removeBucket(definition, node, uuid), changed())} />`}</li>`)}</ol>
    <p class="row-buttons"><button type="button" onClick=${() => change(addBucket(definition, node), changed())}><${Icon} name="plus" size=${16} /> ${t("gateway.add")}</button></p></fieldset>`;
}
