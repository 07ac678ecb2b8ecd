"""What handlers return: a status and a body that is already JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import orjson

from persistence.errors import RecordMissing
from persistence.sql.numbered_pages import NumberedPage
from persistence.sql.pages import InvalidCursor, Order, Page, Position, decode_cursor, encode_cursor

if TYPE_CHECKING:
    from handlers.request import Call

LARGEST_PAGE_NUMBER = 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A status code and a JSON body as text or bytes; None for an empty body."""

    status: int
    body: str | bytes | None = None
    headers: Mapping[str, str] | None = None
    is_list: bool = False


def ok(document: str | bytes) -> Answer:
    return Answer(200, document)


def _ok_list(document: str) -> Answer:
    return Answer(200, document, is_list=True)


def created(document: str | bytes) -> Answer:
    return Answer(201, document)


def no_content() -> Answer:
    return Answer(204)


def as_json(status: int, value: Any) -> Answer:
    """An answer from Python values."""
    return Answer(status, orjson.dumps(value))


def answer_page(call: "Call", order: Order, fetch: Callable[[Position | None, int], Page]) -> Answer:
    """The list envelope of v2: `next`, `previous` and `results`, with absolute URLs that keep all other parameters.

    Raises RecordMissing (404) for a cursor this list did not make.
    """
    cursor = call.cursor
    try:
        position = decode_cursor(cursor, order) if cursor is not None else None
    except InvalidCursor as error:
        raise RecordMissing("This cursor is not valid.") from error
    page = fetch(position, call.settings.page_size)
    following = orjson.dumps(_page_url(call, page.next, order)).decode()
    preceding = orjson.dumps(_page_url(call, page.previous, order)).decode()
    return _ok_list(f'{{"next":{following},"previous":{preceding},"results":[{",".join(page.records)}]}}')


def _page_url(call: "Call", position: Position | None, order: Order) -> str | None:
    if position is None:
        return None
    others = [(name, value) for name, value in parse_qsl(call.query_text, keep_blank_values=True) if name != "cursor"]
    return f"{call.url}?{urlencode([*others, ('cursor', encode_cursor(position, order))])}"


def answer_numbered_page(call: "Call", page: str | None, fetch: Callable[[int, int], NumberedPage]) -> Answer:
    """The list envelope of v1: `count`, `next`, `previous` and `results`; `page` is the parameter's text.

    Raises RecordMissing (404) for a page that does not exist.
    """
    text = "1" if page is None else page
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= LARGEST_PAGE_NUMBER:
        raise RecordMissing("This page does not exist.")
    size = call.settings.page_size
    found = fetch(number, size)
    following = _numbered_url(call, number + 1) if number * size < found.count else None
    preceding = _numbered_url(call, number - 1) if number > 1 else None
    links = f'"next":{orjson.dumps(following).decode()},"previous":{orjson.dumps(preceding).decode()}'
    return _ok_list(f'{{"count":{found.count},{links},"results":[{",".join(found.records)}]}}')


def _numbered_url(call: "Call", number: int) -> str:
    others = [(name, value) for name, value in parse_qsl(call.query_text, keep_blank_values=True) if name != "page"]
    return f"{call.url}?{urlencode([*others, ('page', str(number))])}"
