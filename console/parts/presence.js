/** Who else looks at a conversation or types in it, or draws a flow, and tells them the same of this person. */

import { get, post } from "../shared/api.js";
import { onChange } from "../shared/live.js";
import { account, may } from "../shared/session.js";
import { t } from "../shared/texts.js";
import { html, useEffect, useRef, useState } from "../shared/ui.js";

/** The service believes for 90 seconds what somebody said. */
const HOLDS_MS = 90_000;
const AGAIN_MS = 60_000;
/** Between two words that this person types. */
const TYPING_AGAIN_MS = 5000;
const TYPES_MS = 8000;
/** How often is looked who is not there any more. */
const LOOK_MS = 2000;

/** @typedef {{email: string, name: string, until: number, typesUntil: number}} Other in milliseconds of this computer's clock */

/** @param {{kind: "contact" | "flow", uuid: string}} props */
export default function Presence({ kind, uuid }) {
  const others = useOthers(kind, uuid);
  useAttendance(kind, uuid, others.length > 0);
  const names = (/** @type {Other[]} */ some) => some.map(({ name, email }) => name || email).join(", ");
  const typing = others.filter(({ typesUntil }) => typesUntil > Date.now());
  const text = typing.length > 0 ? t("presence.types", { names: names(typing) }) : others.length > 0 ? t("presence.here", { names: names(others) }) : "";
  return html`<span class=${typing.length > 0 ? "presence types" : "presence"} role="status"><bdi title=${text}>${text}</bdi></span>`;
}

/** @param {"contact" | "flow"} kind @param {string} uuid @returns {Other[]} */
function useOthers(kind, uuid) {
  const [others, setOthers] = useState(/** @type {Other[]} */ ([]));
  useEffect(() => {
    const keep = (/** @type {import("../shared/contract.js").Listed<"participants">} */ { user, state }) => {
      if (user.email === account.value?.user.email) return;
      const [now, types] = [Date.now(), state === "typing"];
      setOthers((old) => {
        const rest = old.filter(({ email }) => email !== user.email);
        return state === "gone" ? rest : [...rest, { ...user, until: now + HOLDS_MS, typesUntil: types ? now + TYPES_MS : 0 }];
      });
    };
    // Without an answer the stream tells of those who stay.
    get("participants", { [kind]: uuid, here: true }).then(({ results }) => results.forEach(keep), () => {});
    const leave = onChange((change) => change.kind === "participant" && change.record[kind]?.uuid === uuid && keep(change.record));
    const looks = setInterval(() => setOthers((old) => (old.length > 0 ? old.filter(({ until }) => until > Date.now()) : old)), LOOK_MS);
    return () => {
      leave();
      clearInterval(looks);
    };
  }, [kind, uuid]);
  return others;
}

/**
 * Says that this person looks at a conversation or flow while the page is seen, and that they type if anybody is there who wants to know.
 * @param {"contact" | "flow"} kind @param {string} uuid @param {boolean} isWatched
 */
function useAttendance(kind, uuid, isWatched) {
  const watched = useRef(isWatched);
  watched.current = isWatched;
  useEffect(() => {
    if (!may("attend_conversation")) return;
    let typedOn = 0;
    // It only tells who is there: what could not be said is said again.
    const say = (/** @type {"here" | "typing" | "gone"} */ state) => void post("participants", { [kind]: uuid, state }).catch(() => {});
    const seen = () => say(document.hidden ? "gone" : "here");
    const typed = (/** @type {Event} */ { target }) => {
      if (!watched.current || Date.now() - typedOn < TYPING_AGAIN_MS || !(/** @type {Element} */ (target).closest(".reply"))) return;
      typedOn = Date.now();
      say("typing");
    };
    if (!document.hidden) say("here");
    const again = setInterval(() => !document.hidden && say("here"), AGAIN_MS);
    document.addEventListener("visibilitychange", seen);
    document.addEventListener("input", typed);
    return () => {
      clearInterval(again);
      document.removeEventListener("visibilitychange", seen);
      document.removeEventListener("input", typed);
      if (!document.hidden) say("gone");
    };
  }, [kind, uuid]);
}
