"""The steps of a move that people take, and how far each is. What can be seen is seen; nobody has to tick it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from persistence.move.moves import CAMPAIGN, CAMPAIGN_EVENT, Move

DONE, OPEN = "done", "open"


def make_checklist(
    move: Move,
    *,
    active: Sequence[Mapping[str, Any]],
    old: Sequence[Mapping[str, Any]],
    missing_users: Sequence[str],
) -> list[dict[str, str]]:
    """The steps in their order: `step`, `state` (`done` or `open`), `text`. `active` are the channels here, `old` those
    of the other side, which are kept switched off."""
    state = move.state
    addresses = {_digits(each["address"]) for each in active}
    waiting = [each for each in old if not each["address"] or _digits(each["address"]) not in addresses]
    phones = [_name(each) for each in waiting if each["is_phone"]]
    gateways = [_name(each) for each in waiting if not each["is_phone"]]
    is_copied, switched = bool(state.get("finished_pass")), bool(state.get("switched_on"))
    subscribers = state.get("kinds", {}).get("subscriber", {}).get("read", 0)
    steps = (
        ("copy", is_copied and state.get("pass") == state["finished_pass"], _tell_copy(state)),
        ("verify", bool(state.get("verified", {}).get("is_equal")), _tell_verification(state.get("verified", {}))),
        ("people", is_copied and not missing_users, _tell("Invite", missing_users, "Everybody is here")),
        ("finish", switched, _tell_finish(state)),
        ("phones", is_copied and not phones, _tell("Reset the phone and claim it here:", phones, "No phone waits")),
        ("gateways", is_copied and not gateways, _tell("Create as gateway here:", gateways, "No gateway waits")),
        ("receivers", is_copied and not subscribers, _tell_receivers(subscribers)),
        ("catch up", switched and not phones and _is_caught_up(state, active), CATCH_UP),
    )
    return [{"step": step, "state": DONE if is_done else OPEN, "text": text} for step, is_done, text in steps]


CATCH_UP = "Run the command once more after the last phone was claimed: it brings the last messages of the other side"


def _digits(address: str | None) -> str:
    return "".join(each for each in address or "" if each.isalnum()).lower()


def _name(each: Mapping[str, Any]) -> str:
    return " ".join(str(part) for part in (each["name"], each["address"]) if part) or "a channel without a name"


def _tell(what: str, names: Sequence[str], otherwise: str) -> str:
    return f"{what} {', '.join(names)}" if names else otherwise


def _tell_copy(state: Mapping[str, Any]) -> str:
    number = state.get("finished_pass", 0)
    if state.get("pass", 0) != number:
        return f"Copy while the other side lives: pass {number + 1} is unfinished; run the command again"
    told = f"pass {number} was finished on {state['finished_on']}" if number else "not begun"
    return f"Copy while the other side lives: {told}"


def _tell_verification(verified: Mapping[str, Any]) -> str:
    if not verified:
        return "Compare both sides with --verify: not done yet"
    if verified["is_equal"]:
        found = "they agree"
    else:
        campaigns = (verified.get("kinds", {}).get(kind, {}) for kind in (CAMPAIGN, CAMPAIGN_EVENT))
        is_theirs = any(each.get("missing") or each.get("different") for each in campaigns)
        found = "there are differences" + (", those of campaigns until --finish once more" if is_theirs else "")
    return f"Both sides were compared on {verified['on']}: {found}"


def _tell_finish(state: Mapping[str, Any]) -> str:
    if state.get("switched_on"):
        return f"The last pass was made with --finish on {state['switched_on']}"
    campaigns = [str(each["name"]) for each in state.get("campaigns", ()) if not each["archived"]]
    stop = "Archive campaigns and triggers on the other side, so that it starts nothing new; then run with --finish"
    return _tell(f"{stop}, which brings the campaigns", campaigns, stop)


def _tell_receivers(number: int) -> str:
    if not number:
        return "No resthook has subscribers"
    return f"Subscribers of resthooks ({number}) need their new secrets, if they check signatures"


def _is_caught_up(state: Mapping[str, Any], active: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last pass began after the switch and after the newest channel here was created."""
    began = datetime.fromisoformat(state["pass_began_on"])
    latest = [datetime.fromisoformat(state["switched_on"]), *(each["created_on"] for each in active)]
    return state.get("finished_pass") == state.get("pass") and all(began > each for each in latest)
