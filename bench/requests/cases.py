"""The requests whose costs are measured, on the data set of `bench.plans`."""

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import delete, select

from bench.requests.api import Case
from persistence.database import Database
from persistence.tables.contacts import contact, field, group
from persistence.tables.flows import flow
from persistence.tables.messages import label, message
from persistence.tables.service import global_value

V2 = "/api/v2/"
PREFIX = "Bench"
MOST_MESSAGES = 50_000
"""Messages of the inbox that are archived or labelled, each once: more than any run needs."""


def remove_names(database: Database) -> None:
    """Removes the names that requests have created, because a workspace has at most 250 of each kind."""
    with database.writing() as tx:
        for table in (label, group, field, global_value):
            tx.execute(delete(table).where(table.c.name.startswith(PREFIX)))


def list_cases(database: Database) -> list[Case]:
    """The requests of the table in the documentation."""
    with database.reading() as tx:

        def uuid(table: Any, key: str) -> str:
            found: str = tx.execute(select(table.c.uuid).where(table.c.name_key == key)).scalar_one()
            return found

        def person(number: int) -> str:
            found: str = tx.execute(select(contact.c.uuid).where(contact.c.id == number)).scalar_one()
            return found

        last = tx.execute(select(contact.c.id).order_by(contact.c.id.desc()).limit(1)).scalar_one()
        inbox = itertools.cycle(
            tx.execute(select(message.c.id).where(message.c.folder == "inbox").limit(MOST_MESSAGES)).scalars().all()
        )
        groups = {number: uuid(group, f"group {number}") for number in (5, 18)}
        one, flow_one, label_three = person(last // 2), uuid(flow, "flow 1"), uuid(label, "label 3")
        heavy, light = person(1), person(last * 3 // 4)
    numbers = itertools.count(int(time.time()) * 100)

    def named() -> dict[str, Any]:
        return {"name": f"{PREFIX} {next(numbers)}"}

    reads = _list_reads(groups, label_three, flow_one, heavy, light)
    return [*reads, *_list_new_names(named), *_list_work(numbers, inbox, one, flow_one, label_three)]


def _list_reads(groups: dict[int, str], label_three: str, flow_one: str, heavy: str, light: str) -> list[Case]:
    return [
        Case("messages, inbox", f"{V2}messages.json?folder=inbox"),
        Case("messages, sent", f"{V2}messages.json?folder=sent"),
        Case("messages of a contact with many", f"{V2}messages.json?contact={heavy}"),
        Case("messages of a contact with few", f"{V2}messages.json?contact={light}"),
        Case("messages by label", f"{V2}messages.json?label={label_three}"),
        Case("contacts", f"{V2}contacts.json"),
        Case("contacts of a group of a tenth", f"{V2}contacts.json?group={groups[5]}"),
        Case("contacts of a group of 500", f"{V2}contacts.json?group={groups[18]}"),
        Case("contacts by URN", f"{V2}contacts.json?urn=tel:%2B250710012345"),
        Case("runs", f"{V2}runs.json"),
        Case("runs of a flow", f"{V2}runs.json?flow={flow_one}"),
        Case("flows (50)", f"{V2}flows.json"),
        Case("groups (20)", f"{V2}groups.json", count=100),
        Case("labels (10)", f"{V2}labels.json", count=100),
        Case("fields (10)", f"{V2}fields.json", count=100),
        Case("messages, v1", "/api/v1/messages.json"),
    ]


def _list_new_names(named: Callable[[], dict[str, Any]]) -> list[Case]:
    return [
        Case("POST labels", f"{V2}labels.json", named, 25),
        Case("POST groups", f"{V2}groups.json", named, 25),
        Case("POST fields", f"{V2}fields.json", lambda: {**named(), "type": "text"}, 25),
        Case("POST globals", f"{V2}globals.json", lambda: {**named(), "value": "x"}, 25),
    ]


def _list_work(numbers: Iterator[int], inbox: Iterator[int], one: str, flow_one: str, label_three: str) -> list[Case]:
    return [
        Case("POST broadcasts", f"{V2}broadcasts.json", lambda: {"contacts": [one], "text": "Hello"}, 25),
        Case("POST flow_starts", f"{V2}flow_starts.json", lambda: {"contacts": [one], "flow": flow_one}, 25),
        Case(
            "POST message_actions, archive",
            f"{V2}message_actions.json",
            lambda: {"messages": [next(inbox)], "action": "archive"},
            40,
        ),
        Case(
            "POST message_actions, label 100",
            f"{V2}message_actions.json",
            lambda: {"messages": list(itertools.islice(inbox, 100)), "action": "label", "label": label_three},
            5,
        ),
        Case("POST messages", f"{V2}messages.json", lambda: {"contact": one, "text": "Hello"}, 40),
        Case(
            "POST contacts, create",
            f"{V2}contacts.json",
            lambda: {"name": "Bench", "urns": [f"tel:+25191{next(numbers) % 10**7:07}"]},
            40,
        ),
        Case(
            "POST contacts, update",
            f"{V2}contacts.json?uuid={one}",
            lambda: {"fields": {"field_1": f"value {next(numbers)}"}},
            40,
        ),
    ]
