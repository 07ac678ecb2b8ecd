"""Runs flows without a workspace: a person answers for the contact, and nothing is sent or called; of a workspace
nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flows import Assets, Environment
from flows.definition import DefinitionError, load
from flows.definition.exports import ExportFile, Named, list_needs
from flows.engine.assets import DEFAULT_TOPIC
from flows.engine.state import Event
from flows.environment import SYSTEM_CLOCK, Clock
from flows.flow_tests import FlowTestError, play_test, read_tests
from flows.simulation import CALLBACK, CHANNEL, DIAL, MESSAGE, Simulation
from persistence.contacts.urns import environment_of
from persistence.database import Transaction
from persistence.flows.assets import load_asset_rows
from persistence.flows.simulations import OPTIONS
from persistence.workspaces.records import Workspace
from relayboard.refusal import CommandFailed

_KINDS = {"classifier": "classifiers", "llm": "llms", "optin": "optins", "ticketer": "ticketers", "topic": "topics"}
COMMANDS = {"/timeout": "wait_timeout", "/expire": "wait_expiration"}
CALL = "/callback"

LENT = ("fields", "groups", "globals", "users", "labels", "topics")


def make_assets(content: ExportFile, clock: Clock, lent: Mapping[str, list[dict[str, Any]]] | None = None) -> Assets:
    """The assets that the flows of a file refer to, made up if neither the file nor a workspace has them; never flows.
    An asset without a name gets its UUID as name.
    """
    needs = list_needs(content)
    fields = {each.key: each for each in (*needs.fields, *content.fields)}
    groups = {_name(each).lower(): {"uuid": each.uuid, "name": _name(each)} for each in needs.groups}
    groups |= {each.name.lower(): each.to_json() for each in content.groups}
    made: dict[str, list[dict[str, Any]]] = {kind: [] for kind in (*_KINDS.values(), "users")}
    for other in needs.others:
        named = {"uuid": other.identity, "name": other.name or other.identity}
        if other.kind == "user":
            made["users"].append({**named, "email": other.identity})
        elif other.kind in _KINDS:
            made[_KINDS[other.kind]].append(named)
    channels = [
        {**CHANNEL, "uuid": each.identity, "name": each.name or each.identity}
        for each in needs.others
        if each.kind == "channel"
    ]
    return Assets.from_json(
        overlay(
            {
                **made,
                "topics": [{"uuid": clock.uuid(), "name": DEFAULT_TOPIC}, *made["topics"]],
                "flows": list(content.flows),
                "channels": [CHANNEL, *channels],
                "fields": [{**each.to_json(), "uuid": clock.uuid()} for each in fields.values()],
                "groups": [{**each, "uuid": each["uuid"] or clock.uuid()} for each in groups.values()],
                "globals": [{"key": key, "name": key, "value": f"[{key}]"} for key in needs.global_keys],
                "labels": [{"uuid": each.uuid or clock.uuid(), "name": _name(each)} for each in needs.labels],
            },
            lent or {},
        )
    )


@dataclass(frozen=True, slots=True)
class Played:
    """A test of a flow, and what the flow did otherwise."""

    flow: str
    test: str
    failures: list[str]


def play_tests(source: str, content: ExportFile, lent: Lent | None) -> list[Played]:
    """Plays all tests of the flows of a file; raises CommandFailed for one that cannot be read."""
    assets = make_assets(content, SYSTEM_CLOCK, None if lent is None else lent.assets)
    environment = None if lent is None else lent.environment
    played = []
    for definition in content.flows:
        name = str(definition.get("name") or definition.get("uuid"))
        try:
            tests = read_tests(definition)
            flow = load(definition) if tests else None
            for test in tests:
                assert flow is not None
                failures = play_test(test, flow, assets, SYSTEM_CLOCK, environment, options=OPTIONS)
                played.append(Played(name, test.name, failures))
        except (FlowTestError, DefinitionError) as error:
            raise CommandFailed(f"{source}: {name}: {error}") from error
    return played


def answer_line(simulation: Simulation, line: str) -> Sequence[Event]:
    """Continues with what was typed: a message, a command, or how a call ended. Raises ResumeError."""
    word = line.strip().lower()
    if word in COMMANDS:
        return simulation.answer(COMMANDS[word])
    if line.strip().split(" ", 1)[0].lower() == CALL:
        return simulation.answer(CALLBACK, line.strip()[len(CALL) :].strip())
    if simulation.waits_for_call:
        return simulation.answer(DIAL, word)
    return simulation.answer(MESSAGE, line)


def describe_events(events: Iterable[Event]) -> list[str]:
    """Lines that describe the events to a person; internal events are left out."""
    lines: list[str] = []
    for event in events:
        describe = _DESCRIPTIONS.get(event["type"])
        written = describe(event) if describe else f"  · {event['type'].replace('_', ' ')}"
        lines += [_printable(line) for line in written.split("\n") if line]
    return lines


def _describe_message(event: Event) -> str:
    message = event["msg"]
    lines = [f"< {line}" for line in str(message.get("text") or "").splitlines()]
    lines += [f"< [{attachment}]" for attachment in message.get("attachments") or ()]
    replies = [str(reply.get("text") or reply.get("type")) for reply in message.get("quick_replies") or ()]
    if replies:
        lines.append("  " + " ".join(f"({reply})" for reply in replies))
    if message.get("unsendable_reason"):
        lines.append(f"  · cannot be sent: {message['unsendable_reason']}")
    return "\n".join(lines)


def _describe_run(event: Event) -> str:
    return f"  · enters {event['flow']['name']}" if event.get("parent_uuid") else ""


def _describe_groups(event: Event) -> str:
    added = [f"+{group['name']}" for group in event.get("groups_added") or ()]
    removed = [f"-{group['name']}" for group in event.get("groups_removed") or ()]
    return f"  · groups: {', '.join(added + removed)}"


def _describe_result(event: Event) -> str:
    category = f" ({event['category']})" if event.get("category") else ""
    return f"  · result {event['name']}: {event['value']}{category}"


def _describe_field(event: Event) -> str:
    value = event.get("value") or {}
    return f"  · {event['field']['name']}: {value.get('text', 'cleared')}"


def _describe_problem(event: Event) -> str:
    return f"  ! {event['text']}"


def _describe_msg_wait(event: Event) -> str:
    seconds = event.get("timeout_seconds")
    return f"  · waits for {seconds} seconds, /timeout lets them pass" if seconds else ""


def _describe_time_wait(event: Event) -> str:
    how_long = f"until {event['until']}" if event.get("until") else f"for {event['timeout_seconds']} seconds"
    return f"  · pauses {how_long}, /timeout lets them pass"


def _describe_callback_wait(event: Event) -> str:
    seconds = event.get("timeout_seconds")
    passing = f"; for {seconds} seconds, /timeout lets them pass" if seconds else ""
    return f"  · waits for a callback: type {CALL} and what it brings{passing}"


def _describe_dial_wait(event: Event) -> str:
    return f"  · calls {event['urn']}: type answered, no_answer, busy or failed"


_DESCRIPTIONS = {
    "callback_wait": _describe_callback_wait,
    "contact_field_changed": _describe_field,
    "contact_groups_changed": _describe_groups,
    "contact_language_changed": lambda event: f"  · language: {event['language']}",
    "contact_name_changed": lambda event: f"  · name: {event['name']}",
    "contact_status_changed": lambda event: f"  · status: {event['status']}",
    "contact_timezone_changed": lambda event: f"  · timezone: {event['timezone']}",
    "dial_wait": _describe_dial_wait,
    "error": _describe_problem,
    "failure": _describe_problem,
    "ivr_created": _describe_message,
    "msg_created": _describe_message,
    "msg_wait": _describe_msg_wait,
    "run_ended": lambda event: "",
    "run_result_changed": _describe_result,
    "run_started": _describe_run,
    "session_triggered": lambda event: f"  · starts others in {event['flow']['name']}",
    "time_wait": _describe_time_wait,
    "ticket_opened": lambda event: f"  · ticket: {(event['ticket'].get('topic') or {}).get('name', '')}",
    "warning": _describe_problem,
}


@dataclass(frozen=True, slots=True)
class Lent:
    """Assets of a workspace by kind, in the form that tools of the format exchange, and its formats and languages."""

    assets: dict[str, list[dict[str, Any]]]
    environment: Environment


def lend(tx: Transaction, workspace: Workspace) -> Lent:
    """The fields, groups, globals, labels, topics and users of a workspace."""
    lists = load_asset_rows(tx, workspace.id).lists
    return Lent({kind: [asdict(each) for each in lists[kind]] for kind in LENT}, environment_of(workspace))


def overlay(made: Mapping[str, Any], lent: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The assets of a file, replaced by those of the workspace where it has them, and all other assets of the
    workspace. Fields and globals are matched by key, all others by name in any case. Assets of the file keep their
    UUIDs, because its flows refer to them.
    """
    merged = dict(made)
    for kind, items in lent.items():
        name = "key" if kind in ("fields", "globals") else "name"
        known = {str(each[name]).lower(): each for each in made.get(kind) or ()}
        theirs = {str(each[name]).lower(): each for each in items}
        kept = [
            {**each, **theirs.get(key, {}), **({"uuid": each["uuid"]} if each.get("uuid") else {})}
            for key, each in known.items()
        ]
        merged[kind] = kept + [each for key, each in theirs.items() if key not in known]
    return merged


def _name(reference: Named) -> str:
    return reference.name or reference.uuid


def _printable(line: str) -> str:
    # A flow must not be able to send control sequences to the terminal.
    return "".join(letter if letter.isprintable() else " " for letter in line)
