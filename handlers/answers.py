"""What handlers return: a status and a body that is already JSON; files that only those who see a record may download
get signed URLs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from handlers.asgi.plain_responses import link_to_file
from handlers.request import Request
from persistence.errors import ChangedSince, RecordMissing
from persistence.lists import (
    ListQuery,
    ListSpec,
    NewRecord,
    count_list,
    fetch_list,
    fetch_numbered_list,
    insert_shown,
    read_record,
)
from persistence.messages.routes import Leaving
from persistence.pages import InvalidCursor, decode_cursor, encode_cursor
from persistence.records import Shown, write_record
from persistence.relayers.sync import Arrivals

LARGEST_PAGE_NUMBER = 1_000_000
NEXT_CHANGES = "Next-Modified-After"
ETAG_BYTES = 12
ETAGS = re.compile(r'(?<!W/)"[^"]*"')
"""Those that If-Match names; a weak one names no state exactly."""
LOOKED_UP = frozenset({"uuid", "urn"})
"""Parameters that find one record."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status code and a body as text or bytes, JSON if it has no other type; None for an empty body."""

    status: int
    body: str | bytes | None = None
    headers: Mapping[str, str] | None = None
    is_list: bool = False
    cookies: tuple[str, ...] = ()
    media_type: str = "application/json"


class Rehearsed(Exception):
    """What a request would have done: its unit of work is undone, and this is the answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("rehearsed")
        self.answer = answer


@dataclass(frozen=True, slots=True)
class HeldAnswer:
    """An answer that is made once something else is done, or some time has passed; everything else is committed."""

    awaited: Arrivals
    finish: Callable[[], Answer]


def ok(document: str | bytes) -> Answer:
    return Answer(200, document)


def created(document: str | bytes) -> Answer:
    return Answer(201, document)


def no_content() -> Answer:
    return Answer(204)


def released(unsent: Leaving) -> Answer:
    """For channels that were released: what became of the messages that waited for them."""
    counts = {"Messages-Handed-Over": str(unsent.handed_over), "Messages-Failed": str(unsent.failed)}
    return Answer(204, headers=counts)


def as_json(status: int, value: object) -> Answer:
    """An answer made from Python values."""
    return Answer(status, orjson.dumps(value))


def inserted_record(request: Request, spec: ListSpec, new: NewRecord) -> Answer:
    """Inserts a record; the answer is what its list shows of it."""
    query = ListQuery(request.tx, request.workspace, is_agent=request.is_agent, areas=request.areas)
    return created(insert_shown(query, spec, new))


def created_record(request: Request, spec: ListSpec, record_id: int, **beside: Any) -> Answer:
    """The created record, as its list shows it, and what only this response tells."""
    record = _read(request, spec, record_id)
    return created(write_record({**orjson.loads(record), **beside}) if beside else record)


def changed_record(request: Request, spec: ListSpec, record_id: int) -> Answer:
    """The changed record, as its list shows it."""
    return ok(_read(request, spec, record_id))


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """The handler of a list operation: returns the envelope of a page, with absolute URLs that keep all other
    parameters. `show` changes a record depending on the request. If it `has_etag`, it tells the state of a record that
    was looked up.
    """

    spec: ListSpec
    show: Callable[[Request, Shown], Shown] | None = None
    has_etag: bool = False

    def __call__(self, request: Request, /, **values: Any) -> Answer:
        """`next`, `previous` and `results`, as in v2. Raises RecordMissing (404) for a cursor of another list."""
        order = self.spec.order_of(values)
        try:
            position = (
                decode_cursor(request.cursor, order, request.workspace.id) if request.cursor is not None else None
            )
        except InvalidCursor as error:
            raise RecordMissing("This cursor is not valid.") from error
        query = self._query(request, values)
        page = fetch_list(query, self.spec, position, request.page_size)
        asked_on = position.asked_on if position else page.clock
        following, preceding = (
            None
            if near is None
            else _page_url(
                request, "cursor", encode_cursor(replace(near, asked_on=asked_on), order, request.workspace.id)
            )
            for near in (page.next, page.previous)
        )
        beside: dict[str, Any] = {"next": following, "previous": preceding}
        if request.page.count:
            beside["count"] = dict(zip(("value", "is_exact"), count_list(query, self.spec), strict=True))
        answer = self._envelope(request, beside, page.shown)
        headers = {} if asked_on is None else {NEXT_CHANGES: asked_on}
        if self.has_etag and len(page.shown) == 1 and LOOKED_UP & values.keys() and not request.page.fields:
            headers["ETag"] = etag_of(write_record(page.shown[0]))
        return replace(answer, headers=headers) if headers else answer

    def _query(self, request: Request, values: dict[str, Any]) -> ListQuery:
        who = request.credentials
        return ListQuery(
            request.tx,
            request.workspace,
            values,
            is_agent=request.is_agent,
            user_id=who.user_id,
            sign_in_id=who.sign_in_id,
            areas=request.areas,
            # What `show` looks at is not known.
            members=frozenset(request.page.fields) if request.page.fields and self.show is None else None,
        )

    def _envelope(self, request: Request, beside: Mapping[str, Any], records: Sequence[Shown]) -> Answer:
        shown = records if self.show is None else [self.show(request, record) for record in records]
        if request.page.fields:
            shown = [pick(record, request.page.fields) for record in shown]
        return Answer(200, orjson.dumps({**beside, "results": shown}), is_list=True)


class NumberedListAnswer(ListAnswer):
    """The handler of a list operation of v1, which has the parameter `page`, a page number."""

    def __call__(self, request: Request, /, *, page: str = "1", **values: Any) -> Answer:
        """`count`, `next`, `previous` and `results`. Raises RecordMissing (404) for a page that does not exist."""
        number = int(page) if page.isascii() and page.isdecimal() and len(page) < 10 else 0
        if not 1 <= number <= LARGEST_PAGE_NUMBER:
            raise RecordMissing("This page does not exist.")
        size = request.settings.page_size
        found = fetch_numbered_list(self._query(request, values), self.spec, number, size)
        following = _page_url(request, "page", str(number + 1)) if number * size < found.count else None
        preceding = _page_url(request, "page", str(number - 1)) if number > 1 else None
        return self._envelope(request, {"count": found.count, "next": following, "previous": preceding}, found.shown)


def etag_of(record: str | bytes) -> str:
    """What tells this state of a record, as JSON, from others."""
    content = record.encode() if isinstance(record, str) else record
    return f'"{blake2b(content, digest_size=ETAG_BYTES).hexdigest()}"'


def check_unchanged(request: Request, read: Callable[[], str] | None) -> None:
    """Raises ChangedSince if the client names another state than that of the record, which the caller has locked and
    `read` reads; None if there is no record.
    """
    if request.if_match is None:
        return
    if read is None:
        raise ChangedSince("There is no such record.")
    named = ETAGS.findall(request.if_match)
    if request.if_match.strip() != "*" and etag_of(read()) not in named:
        raise ChangedSince("The record has changed since: read it again.")


def pick(record: Shown, names: Sequence[str]) -> Shown:
    """The record with these members alone, in its own order."""
    return {name: value for name, value in record.items() if name in names}


def with_link(name: str) -> Callable[[Request, Shown], Shown]:
    """Shows a record with the signed URL of the file whose path is its property `name`."""

    def show(request: Request, record: Shown) -> Shown:
        location = record[name]
        if location is None:
            return record
        return record | {name: link_to_file(request.root, request.settings.secret_key, location, request.now)}

    return show


def check_record_unchanged(request: Request, spec: ListSpec, record_id: int | None) -> None:
    """The same for a record of a list."""
    check_unchanged(request, None if record_id is None else lambda: _read(request, spec, record_id))


def _read(request: Request, spec: ListSpec, record_id: int) -> str:
    return read_record(request.tx, spec, request.workspace, record_id, is_agent=request.is_agent)


def _page_url(request: Request, parameter: str, place: str) -> str:
    others = [
        (name, value) for name, value in parse_qsl(request.query_text, keep_blank_values=True) if name != parameter
    ]
    return f"{request.url}?{urlencode([*others, (parameter, place)])}"
