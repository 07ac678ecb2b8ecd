/** The form of an event: when it is, and what the contact gets. */

import { FormDialog } from "../parts/dialog.js";
import { Field } from "../parts/small.js";
import { newKey, post } from "../shared/api.js";
import { useAll, withChosen } from "../shared/lists.js";
import { workspace } from "../shared/session.js";
import { languageName, t, word } from "../shared/texts.js";
import { html, useRef, useState } from "../shared/ui.js";

/**
 * @typedef {import("./campaign.js").CampaignEvent} CampaignEvent
 * @typedef {import("../shared/contract.js").Sent<"campaign_events">} Sent
 */

const UNITS = /** @type {const} */ (["minutes", "hours", "days", "weeks"]);
const SIDES = /** @type {const} */ (["before", "after"]);
/** Dates that every contact has. */
const DATES = /** @type {const} */ (["created_on", "last_seen_on"]);
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** Without an event one is added. @param {{campaign: import("./page.js").Campaign, event: CampaignEvent | null, onDone: () => void, onClose: () => void}} props */
export function EventDialog({ campaign, event, onDone, onClose }) {
  const languages = workspace.value?.languages?.length ? workspace.value.languages : ["eng"];
  const [does, setDoes] = useState(event?.flow ? "flow" : "message");
  const fields = useAll("fields").filter(({ type }) => type === "datetime");
  const flows = withChosen(useAll("flows").filter((flow) => !flow.archived && flow.type !== "survey"), [event?.flow]);
  const key = useRef(newKey());
  const dates = withChosen([...fields.map(({ key, name }) => ({ key, name })), ...DATES.map((date) => ({ key: date, name: word("event_date", date) }))], [event?.relative_to], "key");
  const kept = Object.entries(event?.message ?? {}).filter(([language]) => !languages.includes(language));
  const save = async (/** @type {FormData} */ data) => {
    const texts = languages.map((language) => [language, String(data.get(`text-${language}`) ?? "").trim()]);
    const distance = Math.abs(Number(data.get("distance")));
    /** @type {Sent} */
    const written = /** @type {any} */ ({
      campaign: campaign.uuid,
      relative_to: String(data.get("relative_to")),
      offset: data.get("side") === "before" ? -distance : distance,
      unit: data.get("unit"),
      delivery_hour: Number(data.get("delivery_hour")),
      ...(does === "flow" ? { flow: String(data.get("flow")) } : { message: Object.fromEntries([...kept, ...texts.filter(([, text]) => text)]) }),
    });
    await post("campaign_events", written, event ? { uuid: event.uuid } : undefined, key.current);
    onDone();
  };
  return html`
    <${FormDialog} title=${t(event ? "campaigns.change_event" : "campaigns.add_event")} submit=${t("act.save")} draft=${`campaign_event.${event?.uuid ?? campaign.uuid}`} onSubmit=${save} onClose=${onClose} wide>
      <fieldset class="field boxed"><legend>${t("campaigns.when")}</legend>
        <div class="form-grid">
          <${Field} label=${t("campaigns.distance")} id="event-distance"><input id="event-distance" name="distance" type="number" required min="0" max="100000" step="1" defaultValue=${Math.abs(event?.offset ?? 1)} /><//>
          <${Choice} label=${t("campaigns.unit")} name="unit" family="event_unit" words=${UNITS} chosen=${event?.unit ?? "days"} />
          <${Choice} label=${t("campaigns.side")} name="side" family="event_side" words=${SIDES} chosen=${(event?.offset ?? -1) < 0 ? "before" : "after"} />
          <${Field} label=${t("campaigns.date")} id="event-date"><select id="event-date" name="relative_to" required>
            <option value="">${t("gateway.not_chosen")}</option>
            ${dates.map(({ key, name }) => html`<option key=${key} value=${key} selected=${key === event?.relative_to.key}>${name}</option>`)}</select><//>
          <${Field} label=${t("campaigns.hour")} id="event-hour"><select id="event-hour" name="delivery_hour">
            <option value="-1" selected=${event?.delivery_hour === -1}>${t("campaigns.hour_of_date")}</option>
            ${HOURS.map((hour) => html`<option key=${hour} value=${hour} selected=${hour === (event?.delivery_hour ?? 9)}>${`${String(hour).padStart(2, "0")}:00`}</option>`)}</select><//>
        </div>
      </fieldset>
      <${Field} label=${t("campaigns.does")} id="event-does"><select id="event-does" name="does" onChange=${(/** @type {any} */ { target }) => setDoes(target.value)}>
        ${["message", "flow"].map((each) => html`<option key=${each} value=${each} selected=${each === does}>${word("event_does", each)}</option>`)}</select><//>
      ${does === "flow"
        ? html`<${Field} label=${t("triggers.flow")} id="event-flow"><select id="event-flow" name="flow" required>
            <option value="">${t("gateway.not_chosen")}</option>
            ${flows.map(({ uuid, name }) => html`<option key=${uuid} value=${uuid} selected=${uuid === event?.flow?.uuid}>${name}</option>`)}</select><//>`
        : languages.map((language, at) => html`
          <${Field} key=${language} id=${`event-text-${language}`} label=${t("broadcasts.text", { language: languageName(language) })} help=${t(at === 0 ? "broadcasts.expressions" : "broadcasts.translation")}>
            <textarea id=${`event-text-${language}`} name=${`text-${language}`} rows="3" dir="auto" maxlength="4096" required=${at === 0} aria-describedby=${`event-text-${language}-help`} defaultValue=${event?.message?.[language] ?? ""}></textarea>
          <//>`)}
    <//>
  `;
}

/** @param {{label: string, name: string, family: "event_unit" | "event_side", words: readonly string[], chosen: string}} props */
const Choice = ({ label, name, family, words, chosen }) => html`
  <${Field} label=${label} id=${`event-${name}`}><select id=${`event-${name}`} name=${name}>
    ${words.map((each) => html`<option key=${each} value=${each} selected=${each === chosen}>${family === "event_unit" ? word("event_unit", each) : word("event_side", each)}</option>`)}
  </select><//>
`;
