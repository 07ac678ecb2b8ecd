"""What pairs of writes are made of: how a kind of record begins, what clients do to it, and how it looks in the end."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from persistence.errors import RuleBroken
from tests.api import Api
from tests.handlers.pairs.direct import DirectApi

V1, V2 = "/api/v1", "/api/v2"
VOLATILE = {
    "uuid",
    "author",
    "id",
    "contact_uuids",
    "group_uuids",
    "campaign_uuid",
    "relayer",
    "receiver",
    "subscriber",
    "email",
    "secret",
    "callback_url",
}

MOMENT = ("_on", "_until", "last_seen", "invited_by")
"""Ends of names whose values differ from trial to trial."""

Names = dict[str, Any]
Write = Callable[[DirectApi, Names], Any]
OPERATIONS: set[tuple[str, str]] = set()
"""Methods and paths of the requests that take part in pairs."""


@dataclass(frozen=True)
class Scenario:
    """`begin` makes the records and names them; `writes` are single requests that give their outcome. With
    `changes_people` they change users or tokens."""

    begin: Callable[[Api], Names]
    writes: Mapping[str, Write]
    lists: tuple[str, ...]
    more: Callable[[Api, Names], Any] = field(default=lambda api, names: None)
    changes_people: bool = False

    def snapshot(self, api: DirectApi, names: Names) -> str:
        """Everything that clients see in the end, without what differs each time."""
        pages = api.first_pages(self.lists)
        shown = {path: [settle(each) for each in records] for path, records in pages.items()}
        for records in shown.values():
            records.sort(key=json.dumps)
        return json.dumps([shown, self.more(api, names)], sort_keys=True)


def settle(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: settle(each) for key, each in value.items() if key not in VOLATILE}
        return {key: bool(each) if key.endswith(MOMENT) else each for key, each in sorted(kept.items())}
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON knows one kind of number; databases write 5 or 5.0
    return [settle(each) for each in value] if isinstance(value, list) else value


def post(path: str, body: Mapping[str, Any], **query: str) -> Write:
    """A POST; texts in braces are names of records: `{group}`."""
    OPERATIONS.add(("post", path))

    def write(api: Api, names: Names) -> Any:
        named = {key: value.format(**names) for key, value in query.items()}
        return api.post(path, _fill(body, names), **named).status_code

    return write


def delete(path: str, **query: str) -> Write:
    OPERATIONS.add(("delete", path))
    return lambda api, names: (
        api.delete(path, **{key: value.format(**names) for key, value in query.items()}).status_code
    )


def command(work: Callable[[Api, Names, Any], Any]) -> Write:
    """A write of the command line, in one unit of work."""

    def write(api: Api, names: Names) -> Any:
        try:
            api.database.write(lambda tx: work(api, names, tx))
        except RuleBroken as error:
            return type(error).__name__
        return "done"

    return write


def _fill(value: Any, names: Names) -> Any:
    if isinstance(value, dict):
        return {key: _fill(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, names) for each in value]
    if isinstance(value, str) and value.startswith("{"):
        return names[value[1:-1]]
    return value


def uuid_of_new(api: Api, path: str, body: Mapping[str, Any]) -> str:
    uuid: str = api.post(path, body).json()["uuid"]
    return uuid
