/** The tickets of the contact of a conversation, beside it. */

import TicketDialog from "../inbox/ticket_dialog.js";
import { Icon } from "../parts/icons.js";
import { useCached } from "../shared/lists.js";
import { may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";
import { TicketCard } from "./ticket_card.js";

/** @param {{contact: string, tickets: import("../inbox/tickets.js").Tickets}} props */
export default function TicketSection({ contact, tickets }) {
  const [opening, setOpening] = useState(false);
  const { shown, isOpen, refresh } = tickets;
  const topics = useCached(shown.length > 0 ? "topics" : null);
  return html`
    <section>
      <h3>${t("tickets.title")}</h3>
      ${shown.map((ticket) => html`<${TicketCard} key=${ticket.uuid} ticket=${ticket} topics=${topics} canReopen=${!isOpen} onDone=${refresh} />`)}
      ${!isOpen && may("create_ticket") && html`<button type="button" onClick=${() => setOpening(true)}><${Icon} name="ticket" size=${16} /> ${t("ticket.open_new")}</button>`}
      ${opening && html`<${TicketDialog} contact=${contact} onClose=${() => (setOpening(false), refresh())} />`}
    </section>
  `;
}
