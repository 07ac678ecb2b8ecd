/** How many tickets there are, and how long people wait for a reply and for the end. */

import { Chart } from "../parts/chart.js";
import { Icon } from "../parts/icons.js";
import { Problem, Waiting } from "../parts/small.js";
import { useFigures } from "../overview/figures.js";
import { go, link } from "../shared/router.js";
import { may } from "../shared/session.js";
import { duration, number, t } from "../shared/texts.js";
import { html, useMemo } from "../shared/ui.js";

const PERIODS = ["7", "30", "90"];

/** @param {{query: Record<string, string>}} props */
export default function TicketFigures({ query }) {
  const period = PERIODS.includes(query.days) ? query.days : "30";
  const { figures, problem, load } = useFigures(Number(period));
  return html`
    <main id="main" class="page" tabindex="-1">
      <header class="page-header">
        <a class="button quiet icon-only" href=${link(["tickets"])} aria-label=${t("act.back")}><${Icon} name="back" /></a>
        <h1>${t("tickets.figures_title")}</h1><span class="grows"></span>
        ${may("list_exports") && html`<a class="button" href=${link(["exports"], { type: "tickets" })}><${Icon} name="download" size=${16} /> ${t("exports.tickets")}</a>`}
        <select aria-label=${t("overview.period")} onChange=${(/** @type {any} */ event) => go(["tickets", "figures"], { days: event.target.value })}>
          ${PERIODS.map((days) => html`<option key=${days} value=${days} selected=${days === period}>${t("overview.days", { days: number(Number(days)) })}</option>`)}
        </select>
      </header>
      ${problem && html`<${Problem} text=${problem} onRetry=${load} />`}
      ${!figures && !problem && html`<${Waiting} />`}
      ${figures && html`<${Plots} figures=${figures} />`}
    </main>
  `;
}

/** @param {{figures: import("../overview/figures.js").Figures}} props */
function Plots({ figures }) {
  const { days, times, counts } = useMemo(() => {
    const listed = [...figures.days].reverse();
    return {
      days: listed.map(({ day }) => day),
      times: [
        { name: t("tickets.first_reply"), values: listed.map(({ first_reply_seconds }) => first_reply_seconds) },
        { name: t("tickets.closing"), values: listed.map(({ closing_seconds }) => closing_seconds) },
      ],
      counts: [
        { name: t("tickets.opened"), values: listed.map(({ tickets_opened }) => tickets_opened) },
        { name: t("tickets.closed"), values: listed.map(({ tickets_closed }) => tickets_closed) },
      ],
    };
  }, [figures]);
  return html`
    <div class="charts">
      <${Chart} title=${t("tickets.times")} days=${days} series=${times} format=${duration} isMean />
      <${Chart} title=${t("tickets.counts")} days=${days} series=${counts} />
    </div>
  `;
}
