/** One campaign as a line of time: what each contact gets before and after their date. */

import { ContactPicker } from "../parts/contact_picker.js";
import { confirmFirst } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { attempt } from "../parts/notices.js";
import { Badge, Empty, Problem, Waiting } from "../parts/small.js";
import { get, post, remove } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { loadAll } from "../shared/lists.js";
import { link } from "../shared/router.js";
import { may, workspace } from "../shared/session.js";
import { dayKey, languageName, number, shortTime, t, word } from "../shared/texts.js";
import { html, useEffect, useState } from "../shared/ui.js";
import { EventDialog } from "./event_form.js";
import { CampaignDialog } from "./page.js";

/**
 * @typedef {import("./page.js").Campaign} Campaign
 * @typedef {import("../shared/contract.js").Listed<"campaign_events">} CampaignEvent
 * @typedef {import("../shared/contract.js").Found<"campaign_figures">["results"]} Figures
 * @typedef {import("../shared/contract.js").Found<"contact_schedule">["results"][number]} Scheduled
 */

/** @type {Record<string, "good" | "bad" | "warn" | "calm">} */
const TONES = { fired: "good", skipped: "warn", scheduled: "calm" };
const DAYS = 7;

/** How many minutes a unit has. */
const MINUTES = { minutes: 1, hours: 60, days: 1440, weeks: 10_080 };

/** Where an event stands on the line: minutes from the date, those of the hour included. @param {CampaignEvent} event */
export const placeOf = ({ offset, unit, delivery_hour }) => offset * MINUTES[unit] + Math.max(delivery_hour, 0) / 24;

/** When it happens, in words. @param {Pick<CampaignEvent, "offset" | "unit" | "delivery_hour">} event */
export function whenOf({ offset, unit, delivery_hour }) {
  const amount = number(Math.abs(offset), { style: "unit", unit: unit.slice(0, -1), unitDisplay: "long" });
  const day = offset === 0 ? t("campaigns.on_date") : t(offset < 0 ? "campaigns.before" : "campaigns.after", { amount });
  return delivery_hour < 0 ? day : t("campaigns.at_hour", { day, hour: `${String(delivery_hour).padStart(2, "0")}:00` });
}

/** @param {{uuid: string}} props */
export function CampaignPage({ uuid }) {
  const [campaign, setCampaign] = useState(/** @type {Campaign | null | undefined} */ (undefined));
  const [events, setEvents] = useState(/** @type {CampaignEvent[]} */ ([]));
  const [figures, setFigures] = useState(/** @type {Figures} */ ([]));
  const [contact, setContact] = useState(/** @type {import("../parts/contact_picker.js").Contact | null} */ (null));
  const [schedule, setSchedule] = useState(/** @type {Scheduled[]} */ ([]));
  const [problem, setProblem] = useState("");
  const [edited, setEdited] = useState(/** @type {CampaignEvent | "new" | null} */ (null));
  const [renaming, setRenaming] = useState(false);
  const load = async () => {
    try {
      const [page, found, counted] = await Promise.all([get("campaigns", { uuid }), loadAll("campaign_events", { campaign: uuid }), get("campaign_figures", { uuid, days: DAYS })]);
      setFigures(counted.results);
      setEvents(found.sort((one, other) => placeOf(one) - placeOf(other)));
      setCampaign(page.results[0] ?? null);
      setProblem("");
    } catch (error) {
      setProblem(explain(error));
    }
  };
  useEffect(() => void load(), [uuid]);
  const look = (/** @type {typeof contact} */ chosen) => {
    setContact(chosen);
    setSchedule([]);
    if (chosen) attempt(async () => setSchedule((await get("contact_schedule", { contact: chosen.uuid })).results));
  };
  if (problem) return html`<main id="main" class="page" tabindex="-1"><h1>${t("campaigns.title")}</h1><${Problem} text=${problem} onRetry=${load} /></main>`;
  if (campaign === undefined) return html`<main id="main" class="page" tabindex="-1"><${Waiting} /></main>`;
  if (!campaign) return html`<main id="main" class="page" tabindex="-1"><${Empty} icon="campaign" title=${t("error.gone")} /></main>`;
  const put = async (/** @type {"archive" | "restore"} */ action) => {
    const done = t(action === "archive" ? "campaigns.is_archived" : "campaigns.is_restored");
    const turn = (/** @type {"archive" | "restore"} */ deed) => post("campaign_actions", { campaigns: [uuid], action: deed }).then(load);
    await attempt(() => turn(action), done, () => turn(action === "archive" ? "restore" : "archive"));
  };
  const mayWrite = may("write_campaign") && !campaign.archived;
  const add = mayWrite && html`<button type="button" class="primary" onClick=${() => setEdited("new")}><${Icon} name="plus" size=${18} /> ${t("campaigns.add_event")}</button>`;
  const fields = [...new Map(events.map(({ relative_to }) => [relative_to.key, relative_to])).values()];
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["campaigns"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1><bdi>${campaign.name}</bdi></h1><p class="faint">${t("campaigns.for_group", { group: campaign.group.name })}</p>
        ${campaign.archived && html`<${Badge}>${t("campaigns.archived")}<//>`}
        <span class="grows"></span>
        ${events.length > 0 && add}
        ${may("act_on_campaigns") && html`<${Menu} label=${t("act.more_actions")} items=${[
          mayWrite && { text: t("act.edit"), onPick: () => setRenaming(true) },
          campaign.archived ? { text: t("act.restore"), onPick: () => put("restore") } : { text: t("act.archive"), icon: "archive", onPick: () => put("archive") },
        ]} />`}
      </header>
      ${events.length === 0 && html`<${Empty} icon="campaign" title=${t("campaigns.no_events")} text=${t("campaigns.no_events_text")}>${add}<//>`}
      ${events.length > 0 && html`<section class="card try">
        <${ContactPicker} id="campaign-contact" label=${t("campaigns.for_contact")} chosen=${contact} onPick=${look} /></section>`}
      ${fields.map((field) => html`<${Line} key=${field.key} field=${field} events=${events.filter(({ relative_to }) => relative_to.key === field.key)} mayWrite=${mayWrite}
        group=${campaign.group.uuid} figures=${figures} schedule=${contact ? schedule : []} onEdit=${setEdited} onChange=${load} />`)}
      ${edited && html`<${EventDialog} campaign=${campaign} event=${edited === "new" ? null : edited} onDone=${load} onClose=${() => setEdited(null)} />`}
      ${renaming && html`<${CampaignDialog} campaign=${campaign} onDone=${load} onClose=${() => setRenaming(false)} />`}
    </main>
  `;
}

/**
 * The events around one date, with how many get them soon, and when a contact does.
 * @param {{field: CampaignEvent["relative_to"], events: CampaignEvent[], mayWrite: boolean, group: string, figures: Figures, schedule: Scheduled[], onEdit: (event: CampaignEvent) => void, onChange: () => void}} props
 */
function Line({ field, events, mayWrite, group, figures, schedule, onEdit, onChange }) {
  const before = events.filter(({ offset }) => offset < 0);
  const draw = (/** @type {CampaignEvent} */ event) => html`<${Event} key=${event.uuid} event=${event} mayWrite=${mayWrite} group=${group} figures=${figures.filter((each) => each.event === event.uuid)}
    scheduled=${schedule.find((each) => each.event === event.uuid)} onEdit=${() => onEdit(event)} onChange=${onChange} />`;
  return html`
    <section aria-label=${t("campaigns.around", { field: field.name })}>
      <ol class="timeline">
        ${before.map(draw)}
        <li class="the-date"><strong><${Icon} name="clock" size=${16} /> <bdi>${field.name}</bdi></strong></li>
        ${events.slice(before.length).map(draw)}
      </ol>
    </section>
  `;
}

/** @param {{event: CampaignEvent, mayWrite: boolean, group: string, figures: Figures, scheduled: Scheduled | undefined, onEdit: () => void, onChange: () => void}} props */
function Event({ event, mayWrite, group, figures, scheduled, onEdit, onChange }) {
  const { uuid, flow, message, error } = event;
  const when = whenOf(event);
  const drop = () =>
    confirmFirst({
      title: t("campaigns.delete_ask", { when }),
      text: t("campaigns.delete_text"),
      submit: t("act.delete"),
      onYes: async () => (await remove("campaign_events", { uuid }), onChange()),
    });
  const first = workspace.value?.languages?.[0] ?? "";
  const texts = Object.entries(message ?? {}).sort(([one], [other]) => Number(other === first) - Number(one === first));
  return html`
    <li class="card campaign-event">
      <header>
        <div><h2>${when}</h2>
          ${flow && html`<p>${t("triggers.starts")} <a href=${link(["flows", flow.uuid])}><bdi>${flow.name}</bdi></a></p>`}</div>
        ${mayWrite && html`
          <button type="button" aria-label=${t("settings.edit_name", { name: when })} onClick=${onEdit}>${t("act.edit")}</button>
          <button type="button" class="quiet icon-only" aria-label=${t("settings.delete", { name: when })} onClick=${drop}><${Icon} name="trash" size=${18} /></button>`}
      </header>
      ${texts.map(([language, text]) => html`<p key=${language} class="text" dir="auto">${texts.length > 1 && html`<span class="tag">${languageName(language)}</span> `}${text}</p>`)}
      ${figures.length > 0 && html`<p class="help"><${Counts} event=${event} group=${group} figures=${figures} /></p>`}
      ${scheduled && html`<p class="scheduled"><${Badge} tone=${TONES[scheduled.status] ?? "calm"}>${word("schedule_status", scheduled.status)}<//>
        ${scheduled.time && html` <time datetime=${scheduled.time}>${shortTime(scheduled.time)}</time>`}</p>`}
      ${error && html`<p class="problem" dir="auto">${error}</p>`}
    </li>
  `;
}

/**
 * How many contacts get it today, tomorrow and in the coming days, as far as there are any, with a way to those of tomorrow.
 * @param {{event: CampaignEvent, group: string, figures: Figures}} props
 */
function Counts({ event, group, figures }) {
  const [today, tomorrow] = [0, 1].map((days) => dayKey(new Date(Date.now() + days * 86_400_000).toISOString()));
  const sum = (/** @type {Figures} */ some) => some.reduce((total, { contacts }) => total + contacts, 0);
  const next = sum(figures.filter(({ day }) => day === tomorrow));
  const text = t("campaigns.tomorrow", { count: number(next) });
  const search = next > 0 && whoGets(event, tomorrow);
  return html`${t("campaigns.today", { count: number(sum(figures.filter(({ day }) => day === today))) })} · ${
    search ? html`<a href=${link(["contacts"], { group, search })}>${text}</a>` : text} · ${t("campaigns.days", { days: number(DAYS), count: number(sum(figures)) })}`;
}

/** A query for whoever gets an event on a day, unless it is some hours from their date. @param {CampaignEvent} event @param {string} day as YYYY-MM-DD */
function whoGets({ relative_to: { key }, offset, unit }, day) {
  if (offset !== 0 && (unit === "minutes" || unit === "hours")) return "";
  const date = new Date(Date.parse(day) - offset * MINUTES[unit] * 60_000).toISOString().slice(0, 10);
  return `${key === "created_on" || key === "last_seen_on" ? key : `fields.${key}`} = ${date}`;
}
