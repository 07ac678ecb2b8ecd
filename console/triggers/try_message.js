/** A message to try: which flow it would start, and why no other. Nothing is stored and nobody gets anything. */

import { ContactPicker } from "../parts/contact_picker.js";
import { Icon } from "../parts/icons.js";
import { Field } from "../parts/small.js";
import { get } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { useAll } from "../shared/lists.js";
import { channelName, displayName } from "../shared/names.js";
import { link } from "../shared/router.js";
import { number, t, word } from "../shared/texts.js";
import { html, useState } from "../shared/ui.js";

/** @typedef {import("../shared/contract.js").Found<"trigger_matches">} Match */

export function TryMessage() {
  const [text, setText] = useState("");
  const [contact, setContact] = useState(/** @type {import("../parts/contact_picker.js").Contact | null} */ (null));
  const [channel, setChannel] = useState("");
  const [match, setMatch] = useState(/** @type {Match | null} */ (null));
  const [problem, setProblem] = useState("");
  const channels = useAll("channels");
  const ask = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      setMatch(await get("trigger_matches", { text: text.trim(), ...(contact && { contact: contact.uuid }), ...(channel && { channel }) }));
      setProblem("");
    } catch (error) {
      setMatch(null);
      setProblem(explain(error));
    }
  };
  return html`
    <section class="card try" aria-labelledby="try-title">
      <h2 id="try-title">${t("triggers.try")}</h2>
      <form class="try-message" onSubmit=${ask}>
        <${Field} id="try-text" label=${t("triggers.try_text")}><input id="try-text" required maxlength="1600" dir="auto" autocomplete="off" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /><//>
        <button type="submit"><${Icon} name="play" size=${16} /> ${t("triggers.try_act")}</button>
        <details>
          <summary>${contact ? t("triggers.try_from", { name: displayName(contact.name, contact.urns[0]) }) : t("triggers.try_stranger")}</summary>
          <${ContactPicker} id="try-contact" label=${t("triggers.try_contact")} chosen=${contact} onPick=${setContact} />
          <${Field} id="try-channel" label=${t("triggers.channel")}>
            <select id="try-channel" onChange=${(/** @type {any} */ event) => setChannel(event.target.value)}>
              <option value="">${t("triggers.any_channel")}</option>
              ${channels.map((each) => html`<option key=${each.uuid} value=${each.uuid} selected=${each.uuid === channel}>${channelName(each)}</option>`)}
            </select><//>
        </details>
      </form>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <div role="status">${match && html`<${Outcome} match=${match} />`}</div>
    </section>
  `;
}

/** @param {{match: Match}} props */
const Outcome = ({ match: { outcome, trigger, keyword, others } }) => html`
  <p class="outcome"><strong>${keyword ? t("triggers.by_keyword", { keyword }) : trigger ? word("trigger_type", trigger.type) : word("trigger_outcome", outcome)}</strong>
    ${trigger && html` <span>${t("triggers.starts")} <a href=${link(["flows", trigger.flow.uuid])}><bdi>${trigger.flow.name}</bdi></a></span>`}</p>
  ${others.length > 0 && html`<details>
    <summary>${t("triggers.others", { count: number(others.length) })}</summary>
    <ul class="records">${others.map((other) => html`<li key=${other.uuid}>
      <strong dir="auto">${other.keywords.length > 0 ? other.keywords.join(", ") : word("trigger_type", other.type)} · ${other.flow.name}</strong>
      <span class="note">${word("trigger_reason", other.reason)}</span></li>`)}</ul>
  </details>`}
`;
