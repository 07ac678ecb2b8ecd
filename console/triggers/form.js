/** The form of a trigger: what starts which flow for whom. */

import { ChosenContacts } from "../parts/contact_picker.js";
import { FormDialog } from "../parts/dialog.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { useAll, withChosen } from "../shared/lists.js";
import { channelName, displayName } from "../shared/names.js";
import { t, word, zone } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";
import { toLocal, toMoment } from "../shared/zone_time.js";
import { DAYS, dayNames } from "../shared/weekdays.js";

/**
 * @typedef {import("./page.js").Trigger} Trigger
 * @typedef {Trigger["type"]} Type
 * @typedef {import("../shared/contract.js").Sent<"triggers">} Sent
 */

const TYPES = /** @type {const} */ (["keyword", "catch_all", "new_conversation", "missed_call", "incoming_call", "schedule", "ticket"]);
const REPEATS = /** @type {const} */ (["never", "daily", "weekly", "monthly"]);

/** Without a trigger one is created. @param {{trigger: Trigger | null, onDone: () => void, onClose: () => void}} props */
export function TriggerDialog({ trigger, onDone, onClose }) {
  const [type, setType] = useState(/** @type {Type} */ (trigger?.type ?? "keyword"));
  const [repeat, setRepeat] = useState(trigger?.repeat ?? "never");
  const [contacts, setContacts] = useState((trigger?.contacts ?? []).map(({ uuid, name }) => ({ uuid, name: displayName(name, null) })));
  const flows = withChosen(useAll("flows").filter((flow) => !flow.archived && flow.type !== "survey"), [trigger?.flow]);
  const ready = useAll("groups").filter(({ status }) => status === "ready");
  const [groups, excluded] = [withChosen(ready, trigger?.groups ?? []), withChosen(ready, trigger?.exclude_groups ?? [])];
  const key = useRef(newKey());
  const first = trigger?.next_fire_on ? toLocal(Date.parse(trigger.next_fire_on)) : "";
  const isTimed = type === "schedule";
  const save = async (/** @type {FormData} */ data) => {
    /** @type {Sent} */
    const written = {
      ...(!trigger && { type }),
      flow: String(data.get("flow")),
      groups: data.getAll("groups").map(String),
      ...(type === "keyword" && { keywords: String(data.get("keywords")).split(/[\s,;]+/).filter(Boolean), match: data.get("match") === "only" ? "only" : "first" }),
      ...(!isTimed && { exclude_groups: data.getAll("exclude_groups").map(String), channel: String(data.get("channel") ?? "") || null }),
      ...(isTimed && { contacts: contacts.map(({ uuid }) => uuid), ...timesOf(data, first) }),
    };
    await post("triggers", written, trigger ? { uuid: trigger.uuid } : undefined, key.current);
    onDone();
  };
  return html`
    <${FormDialog} title=${t(trigger ? "triggers.change" : "triggers.new")} submit=${t("act.save")} draft=${`trigger.${trigger?.uuid ?? ""}`} onSubmit=${save} onClose=${onClose} wide>
      ${!trigger && html`<${Field} label=${t("triggers.type")} id="trigger-type">
        <select id="trigger-type" name="type" onChange=${(/** @type {any} */ event) => setType(event.target.value)}>
          ${TYPES.map((each) => html`<option key=${each} value=${each} selected=${each === type}>${word("trigger_type", each)}</option>`)}
        </select><//>`}
      <${Field} label=${t("triggers.flow")} id="trigger-flow">
        <select id="trigger-flow" name="flow" required>
          <option value="">${t("gateway.not_chosen")}</option>
          ${flows.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === trigger?.flow.uuid}>${name}</option>`)}
        </select><//>
      ${type === "keyword" && html`
        <${Field} label=${t("triggers.keywords")} id="trigger-keywords" help=${t("triggers.keywords_help")}>
          <input id="trigger-keywords" name="keywords" required dir="auto" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="trigger-keywords-help" defaultValue=${trigger?.keywords.join(" ") ?? ""} /><//>
        <${Field} label=${t("triggers.match")} id="trigger-match">
          <select id="trigger-match" name="match">${["first", "only"].map((each) => html`<option key=${each} value=${each} selected=${each === trigger?.match}>${word("keyword_match", each)}</option>`)}</select><//>`}
      ${isTimed && html`<${Times} trigger=${trigger} first=${first} repeat=${repeat} onRepeat=${setRepeat} />`}
      ${groups.length > 0 && html`<${Groups} name="groups" legend=${t(isTimed ? "triggers.starts_groups" : "triggers.groups")} groups=${groups} chosen=${trigger?.groups} />`}
      ${isTimed && html`<${ChosenContacts} id="trigger-contact" label=${t("broadcasts.to_contact")} contacts=${contacts} onChange=${setContacts} />`}
      ${!isTimed && excluded.length > 0 && html`<${Groups} name="exclude_groups" legend=${t("triggers.exclude_groups")} groups=${excluded} chosen=${trigger?.exclude_groups} />`}
      ${!isTimed && type !== "ticket" && html`<${Channels} chosen=${trigger?.channel} />`}
    <//>
  `;
}

/** @param {FormData} data @param {string} first what the field of the time showed */
function timesOf(data, first) {
  const when = String(data.get("scheduled_on"));
  const repeat = REPEATS.find((each) => each === data.get("repeat")) ?? "never";
  return { repeat, ...(when !== first && { scheduled_on: toMoment(when) }), ...(repeat === "weekly" && { days: data.getAll("days").join("") }) };
}

/** @param {{trigger: Trigger | null, first: string, repeat: string, onRepeat: (repeat: any) => void}} props */
const Times = ({ trigger, first, repeat, onRepeat }) => html`
  <div class="form-grid">
    <${Field} label=${t("triggers.first_time")} id="trigger-time" help=${t("triggers.time_help", { zone: zone.value })}>
      <input id="trigger-time" name="scheduled_on" type="datetime-local" required min=${toLocal(Date.now())} defaultValue=${first} aria-describedby="trigger-time-help" /><//>
    <${Field} label=${t("triggers.repeat")} id="trigger-repeat">
      <select id="trigger-repeat" name="repeat" onChange=${(/** @type {any} */ event) => onRepeat(event.target.value)}>
        ${REPEATS.map((each) => html`<option key=${each} value=${each} selected=${each === repeat}>${word("repeat", each)}</option>`)}
      </select><//>
  </div>
  ${repeat === "weekly" && html`<fieldset class="boxed event-checks"><legend>${t("triggers.days")}</legend>
    ${dayNames(DAYS).map((name, at) => html`<label key=${name} class="event-check"><input type="checkbox" name="days" value=${DAYS[at]} defaultChecked=${trigger?.days?.includes(DAYS[at]) ?? false} /> ${name}</label>`)}
  </fieldset>`}
`;

/** @param {{name: string, legend: string, groups: import("../shared/contract.js").Listed<"groups">[], chosen: {uuid: string}[] | undefined}} props */
const Groups = ({ name, legend, groups, chosen }) => html`
  <fieldset class="field"><legend>${legend}</legend>
    <ul class="choices-list two-columns">${groups.map((group) => html`<li key=${group.uuid}><label>
      <input type="checkbox" name=${name} value=${group.uuid} defaultChecked=${chosen?.some(({ uuid }) => uuid === group.uuid) ?? false} /> <bdi>${group.name}</bdi></label></li>`)}</ul>
  </fieldset>
`;

/** @param {{chosen: Trigger["channel"] | undefined}} props */
function Channels({ chosen }) {
  const channels = withChosen(useAll("channels"), [chosen]);
  return html`
    <${Field} label=${t("triggers.channel")} id="trigger-channel">
      <select id="trigger-channel" name="channel">
        <option value="">${t("triggers.any_channel")}</option>
        ${channels.map((each) => html`<option key=${each.uuid} value=${each.uuid} selected=${each.uuid === chosen?.uuid}>${channelName(each)}</option>`)}
      </select><//>
  `;
}
