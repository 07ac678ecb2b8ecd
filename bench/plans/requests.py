"""The requests that are measured: every list of both generations alone, with each of its filters, and with each two of
them that may be used together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import select

from handlers.contract.operations import OperationRules, handler_name, load_contract
from handlers.contract.parameters import Parameter
from openapi.bundle import bundle, operations
from persistence.database import Transaction
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, contact_note, contact_urn, group
from persistence.tables.deliveries import delivery
from persistence.tables.flow_starts import flow_start
from persistence.tables.flows import flow
from persistence.tables.messages import broadcast, label, message
from persistence.tables.runs import flow_run
from persistence.tables.tickets import ticket, topic

LARGE = {
    "archives",
    "audit_events",
    "broadcasts",
    "calls",
    "channel_calls",
    "channel_events",
    "contact_notes",
    "contacts",
    "conversations",
    "deliveries",
    "flow_starts",
    "messages",
    "resthook_events",
    "runs",
    "tickets",
}
"""Resources whose lists grow with the data set; the filters of others are measured alone."""
PLACES = {"cursor", "page"}
DEEP_PAGE = 201

Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class ListRequest:
    generation: str
    resource: str
    query: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        shown = "&".join(f"{name}={value[:12]}" for name, value in self.query)
        return f"{self.generation} {self.resource}{'?' + shown if shown else ''}"

    @property
    def path(self) -> str:
        return f"/api/{self.generation}/{self.resource}.json?{urlencode(self.query)}"


def list_requests(tx: Transaction) -> Iterator[ListRequest]:
    """All requests; their values are read from the data set."""
    chosen = choose_values(tx)
    for generation in ("v2", "v1"):
        personal = _personal(generation)
        for rules in load_contract(generation).values():
            if rules.id.rpartition(".")[2].startswith("list_") and rules.id not in personal:
                yield from _requests_of(generation, rules, chosen)


def _personal(generation: str) -> set[str]:
    """Operations for which a token is not enough."""
    found = operations(bundle(generation))
    return {handler_name(generation, operation) for _, _, operation in found if operation.get("x-personal")}


def _requests_of(generation: str, rules: OperationRules, chosen: Mapping[str, Values]) -> Iterator[ListRequest]:
    resource = rules.path.rpartition("/")[2].removesuffix(".json")
    known = chosen.get(resource, {})
    yield ListRequest(generation, resource, ())
    if generation == "v1" and resource in LARGE:
        yield ListRequest(generation, resource, (("page", str(DEEP_PAGE)),))
    options = {
        name: known.get(name) or _example(parameter)
        for name, parameter in rules.parameters.items()
        if name not in PLACES
    }
    for name, values in options.items():
        for value in values:
            yield ListRequest(generation, resource, ((name, value),))
    if resource not in LARGE:
        return
    for (one, values), (other, others) in combinations(options.items(), 2):
        for value in values:
            for second in others:
                yield ListRequest(generation, resource, ((one, value), (other, second)))


def _example(parameter: Parameter) -> list[str]:
    """A value for a filter of a list that stays short: nothing need match it."""
    kinds = {
        "uuid": "6bbbf6b1-4b1c-4b0e-9bcd-6f0c59ad9d3f",
        "integer": "1",
        "boolean": "true",
        "time": "2025-07-01T00:00:00Z",
    }
    return [kinds.get(parameter.kind, "other")] if parameter.name not in WORDS else [WORDS[parameter.name]]


WORDS = {"archive_type": "message", "type": "message", "period": "daily", "status": "sent", "call_type": "mt_call"}
"""Values of parameters that accept only some words."""

TIMES: Values = {
    "before": ["2025-02-01T00:00:00Z", "2025-11-01T00:00:00Z"],
    "after": ["2025-02-01T00:00:00Z", "2025-12-30T00:00:00Z"],
}
SEARCHES = ['name = "Person 7 12"', "12", "0010012", 'field_1 = "value 7"', "nobody"]
"""For a name, a part of many names, a part of few numbers, the value of a hundredth, and what nobody has."""
RECENT: Values = {"modified_after": ["2025-02-01T00:00:00Z", "2025-12-30T00:00:00Z"]}
ARCHIVED: Values = {"archive_type": ["message"], "type": ["run"], "period": ["daily", "monthly"]}
CALLS: Values = {"call": ["100"], "call_type": ["mt_call", "mo_miss", "mt_miss"], "relayer": ["1", "9"]}
OF_AUDIT: Values = {
    "resource": ["contacts", "campaigns", "labels"],
    "action": ["changed", "deleted", "none"],
    "user": ["agent7@example.org", "other@example.org"],
}
OF_CONVERSATIONS: Values = {
    "folder": ["inbox", "sent", "failed"],
    "search": SEARCHES,
    "unread": ["true"],
}
OF_DELIVERIES: Values = {"event": ["mo_sms", "mo_call", "other"], "status": ["delivered", "failed", "pending"]}
OF_TICKETS: Values = {
    "status": ["open", "closed"],
    "assignee": ["agent7@example.org", "nobody"],
    "reverse": ["true"],
}
OF_RUNS: Values = {"responded": ["true"], "paths": ["false"], "reverse": ["true"]}
OF_MESSAGES: Values = {
    "broadcast": ["1"],
    "folder": ["inbox", "flows", "archived", "outbox", "sent", "failed", "incoming"],
    "status": ["E", "F", "H", "D", "S", "Q"],
    "direction": ["I", "O"],
    "archived": ["1", "0"],
    "type": ["I", "F", "V"],
    "text": ["number"],
    "relayer": ["1", "9"],
    "channel": ["2"],
}


def choose_values(tx: Transaction) -> dict[str, Values]:
    """Values by resource and parameter: records with very many, with some and with few others, and times at the
    beginning, in the middle and at the end.
    """
    contacts = [
        _uuid(tx, contact, 1),
        _uuid(
            tx, contact, tx.execute(select(contact.c.id).order_by(contact.c.id.desc()).limit(1)).scalar_one() * 3 // 4
        ),
    ]
    groups = [_named(tx, group, f"group {number}") for number in (1, 5, 13, 18)]
    flows = [_named(tx, flow, f"flow {number}") for number in (1, 2)]
    flow_ids = [str(_id(tx, flow, f"flow {number}")) for number in (1, 2)]
    urns = ["tel:" + tx.execute(select(contact_urn.c.path).where(contact_urn.c.contact_id == 1)).scalar_one()]
    runs = {"id": ["1000"], "run": ["1000"], "uuid": [_uuid(tx, flow_run, 1000)], "contact": contacts}
    of_flows = {"flow": flow_ids, "uuid": flows, "type": ["message"], "archived": ["1"], "label": ["none"]}
    channels = [_uuid(tx, channel, 1)]
    broadcasts = [_uuid(tx, broadcast, 1)]
    starts = [_uuid(tx, flow_start, 1)]
    notes = [_uuid(tx, contact_note, 1)]
    delivered = {"uuid": [_uuid(tx, delivery, 9)], "receiver": [*channels, "1"], "contact": contacts}
    tickets = {
        "uuid": [_uuid(tx, ticket, 9)],
        "contact": contacts,
        "topic": [_named(tx, topic, f"topic {number}") for number in (1, 4)],
    }
    labels = [_named(tx, label, f"label {number}") for number in (1, 3, 10)]
    of_contacts = {"uuid": contacts[1:], "urn": urns, "group": groups, "deleted": ["true"], "reverse": ["true"]}
    of_contacts["query"] = SEARCHES
    return {
        "contacts": {**of_contacts, "urns": urns, "group_uuids": groups, **TIMES},
        "messages": {**_choose_of_messages(tx, contacts, groups, urns), "flow": flow_ids, **RECENT, **TIMES},
        "runs": {**runs, "flow": flows, "flow_uuid": flows, "group_uuids": groups, **OF_RUNS, **TIMES},
        "flows": {**of_flows, **TIMES},
        "archives": {**ARCHIVED, **TIMES},
        "audit_events": {"record": contacts, **OF_AUDIT, **TIMES},
        "broadcasts": {"id": ["1"], "uuid": broadcasts, "status": ["S", "Q"], **RECENT, **TIMES},
        "calls": {**CALLS, "phone": [urns[0].removeprefix("tel:")], **TIMES},
        "channel_calls": {"channel": channels, "outcome": ["accepted", "refused", "unanswered"]},
        "channel_events": {"id": ["100"], "contact": contacts, **TIMES},
        "contact_notes": {"uuid": notes, "contact": contacts},
        "conversations": {"contact": contacts, "label": labels, **OF_CONVERSATIONS},
        "deliveries": {**delivered, **OF_DELIVERIES, **TIMES},
        "flow_starts": {"id": ["1"], "uuid": starts, "reverse": ["true"], **TIMES},
        "resthook_events": {"resthook": ["hook-1", "hook-2", "hook-3"]},
        "tickets": {**tickets, **OF_TICKETS},
    }


def _choose_of_messages(tx: Transaction, contacts: Sequence[str], groups: Sequence[str], urns: Sequence[str]) -> Values:
    middle = tx.execute(select(message.c.id).order_by(message.c.id.desc()).limit(1)).scalar_one() // 2
    labels = [_named(tx, label, f"label {number}") for number in (1, 3, 10)]
    chosen = {"id": [str(middle)], "uuid": [_uuid(tx, message, middle)], "contact": contacts}
    return {**OF_MESSAGES, **chosen, "label": [*labels, "Label 3"], "group_uuids": groups, "urn": urns, "urns": urns}


def _uuid(tx: Transaction, table: Any, record_id: int) -> str:
    found: str = tx.execute(select(table.c.uuid).where(table.c.id == record_id)).scalar_one()
    return found


def _named(tx: Transaction, table: Any, key: str) -> str:
    found: str = tx.execute(select(table.c.uuid).where(table.c.name_key == key)).scalar_one()
    return found


def _id(tx: Transaction, table: Any, key: str) -> int:
    found: int = tx.execute(select(table.c.id).where(table.c.name_key == key)).scalar_one()
    return found
