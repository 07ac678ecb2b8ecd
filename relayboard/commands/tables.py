"""Any JSON as tables for people: a list of records has a row for each, a single record a line for each value."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from relayboard.base.terminal_text import printable

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
SHOWN_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\dZ")
UUID_WIDTH = 40
NAMES = ("name", "text", "email", "phone", "urn", "uuid")
"""What a record inside another one is called by, the first that it has."""


WHOLE = ("uuid", "id")
"""What people copy: it is never broken over lines."""
READABLE = 10
"""So wide is a column at least, unless its cells are shorter: a date stays on one line."""


GAP = 3
"""Blanks between columns of a list."""
LONGEST_WORD = 35
"""Longer words are shortened like texts, and so are UUIDs of records without a name."""

COLUMNS: Mapping[str, Sequence[str]] = {
    "audit": ("created_on", "user", "action", "resource", "record", "via"),
    "broadcast": ("created_on", "status", "text", "groups", "contacts"),
    "campaign": ("name", "group", "created_on", "archived"),
    "channel alarms": ("opened_on", "channel", "kind", "closed_on"),
    "channel calls": ("created_on", "outcome", "message", "response|error"),
    "channel": ("name", "type", "address", "last_seen"),
    "contact imports": ("filename", "status", "uuid", "done", "row_count", "created_on"),
    "contact": ("name", "urns", "groups", "language", "last_seen_on"),
    "delivery": ("created_on", "event", "status", "attempts", "receiver", "contact"),
    "field": ("key", "name", "type", "agent_access"),
    "flow": ("name", "type", "archived", "labels", "modified_on"),
    "global": ("key", "name", "value", "modified_on"),
    "group": ("name", "count", "query", "status", "error"),
    "invitation": ("email", "role", "uuid", "error", "expires_on"),
    "media": ("created_on", "content_type", "size", "filename"),
    "message": ("created_on", "direction", "text", "status", "contact"),
    "session": ("last_seen_on", "user_agent", "uuid", "address", "method"),
    "start": ("created_on", "flow", "status", "groups", "contacts"),
    "template": ("name", "translations", "modified_on"),
    "ticket": ("opened_on", "contact", "topic", "assignee", "status"),
    "token": ("public", "email", "scope", "last_used_on", "expires_on", "name"),
    "trigger": ("type", "keywords", "flow", "groups", "channel", "error", "archived"),
    "user": ("email", "role", "name", "created_on"),
    "webhook": ("receiver", "channel", "url", "is_on", "format"),
    "workspace": ("name", "country", "timezone", "languages"),
}
"""What a line of a list shows, and those that are not called `list`; for others the first that have values, without
UUIDs. Of two with `|` between them a record has one."""
MOST_COLUMNS = 6


def print_tables(value: Any, noun: str | None = None) -> None:
    """`noun` is what a list is about whose records have a line each; otherwise all is shown that a record has."""
    console = Console()
    for each in make_tables(value, console.width, noun):
        console.print(each)


def make_tables(value: Any, width: int, noun: str | None = None) -> list[Table | str]:
    """What is printed, each below the last, where a line has so many characters."""
    if _is_list_of_records(value):
        return _rows(value, None, width) if noun is None else [make_list(value, None, width, noun)]
    if not isinstance(value, Mapping):
        return [escape(cell(value)) if value != [] else "There are none."]
    inner = {key: each for key, each in value.items() if _is_list_of_records(each)}
    lines = {key: cell(each) for key, each in value.items() if key not in inner}
    tables: list[Table | str] = [_lines(lines)] if lines else []
    for key, each in inner.items():
        tables += _rows(each, _heading(key), width) if noun is None else [make_list(each, key, width, noun)]
    return tables


def make_list(records: Sequence[Mapping[str, Any]], key: str | None, width: int, noun: str) -> Table:
    """A line for each record, with the columns that people look for. A UUID is added where there is room for it."""
    keys = [name for name in dict.fromkeys(name for each in records for name in each) if name not in ("uuid", "id")]
    chosen = [name for name in COLUMNS.get(noun, ()) if {*keys, "uuid"}.intersection(name.split("|"))] or keys
    columns = {name: [_one_line(_value(each, name)) for each in records] for name in chosen}
    shown = {name: column for name, column in columns.items() if any(column)} or dict(list(columns.items())[:1])
    widths = _fit(dict(list(shown.items())[:MOST_COLUMNS]), width)
    if (
        "uuid" not in widths
        and any(each.get("uuid") for each in records)
        and width - sum(widths.values()) - GAP * len(widths) >= UUID_WIDTH
    ):
        shown["uuid"] = [str(each.get("uuid") or "") for each in records]
        widths["uuid"] = max(map(cell_len, shown["uuid"]))
    table = Table(title=_heading(key) if key else None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name, room in widths.items():
        is_number = all(type(_value(each, name)) in (int, float, type(None)) for each in records)
        table.add_column(
            _heading(name), overflow="ellipsis", no_wrap=True, justify="right" if is_number else "left", width=room
        )
    for row in zip(*(shown[name] for name in widths), strict=True):
        table.add_row(*(Text(text) for text in row))
    return table


def _value(record: Mapping[str, Any], name: str) -> Any:
    return next((record[each] for each in (name, *name.split("|")) if record.get(each) is not None), None)


def _fit(columns: Mapping[str, Sequence[str]], width: int) -> dict[str, int]:
    """The widths of the columns that a line has room for: those at the end go first. Texts are shortened, and what is
    no text without its end is shown whole: times with their zone, addresses, words."""
    wanted = {name: max(map(cell_len, (_heading(name), *column))) for name, column in columns.items()}
    least = {
        name: min(wanted[name], READABLE) if any(map(_can_be_cut, column)) else wanted[name]
        for name, column in columns.items()
    }
    for name, column in columns.items():
        if name == "uuid" or any(SHOWN_MOMENT.fullmatch(text) for text in column):
            least[name] = wanted[name]
    while len(least) > 1 and sum(least.values()) + GAP * len(least) > width:
        least.popitem()
    room = width - GAP * len(least) - sum(least.values())
    widths = {name: min(each, width - 2) for name, each in least.items()}
    for name in sorted(widths, key=lambda each: wanted[each] - least[each]):
        waiting = sum(wanted[each] > widths[each] for each in widths)
        more = min(wanted[name] - widths[name], room // waiting) if waiting else 0
        widths[name] += max(more, 0)
        room -= max(more, 0)
    return widths


def _can_be_cut(text: str) -> bool:
    """Whether a text says enough without its end."""
    return " " in text or "://" in text or cell_len(text) > LONGEST_WORD


def _one_line(value: Any) -> str:
    """Of records without names only how many there are."""
    if _is_list_of_records(value) and not any(each.get(name) for each in value for name in NAMES if name != "uuid"):
        return str(len(value))
    return " ".join(cell(value).split())


def _lines(values: Mapping[str, str], title: str | None = None) -> Table:
    """A line for each value."""
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold")
    for key, text in values.items():
        table.add_row(_heading(key), Text(text))
    return table


def cell(value: Any) -> str:
    """One value in a few words."""
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        named = next((value[name] for name in NAMES if value.get(name)), None)
        if named:
            return printable(str(named))
        return ", ".join(f"{printable(key)} {cell(each)}" for key, each in value.items() if cell(each))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(cell(each) for each in value)
    return _moment(printable(str(value)))


def _moment(text: str) -> str:
    """A time without fractions of minutes, in UTC, which Z says; --json has them."""
    return f"{text[:10]} {text[11:16]}Z" if MOMENT.fullmatch(text) else text


def _rows(records: Sequence[Mapping[str, Any]], title: str | None, width: int) -> list[Table | str]:
    """A column for each key that has a value in any record; where they have no room, the records one by one."""
    keys = list(dict.fromkeys(key for each in records for key in each))
    columns = {key: column for key in keys if any(column := [cell(each.get(key)) for each in records])}
    if _least_width(columns) > width:
        return _one_by_one(columns, title)
    table = Table(title=title, title_justify="left")
    for key in columns:
        is_number = all(type(each.get(key)) in (int, float, type(None)) for each in records)
        table.add_column(_heading(key), overflow="fold", justify="right" if is_number else "left", no_wrap=key in WHOLE)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text(text) for text in row))
    return [table]


def _least_width(columns: Mapping[str, Sequence[str]]) -> int:
    """The characters that a line needs so that each column can be read, with its borders."""
    width = 1
    for key, column in columns.items():
        widest = max(cell_len(line) for text in (_heading(key), *column) for line in text.split("\n"))
        width += 3 + (widest if key in WHOLE else min(widest, READABLE))
    return width


def _one_by_one(columns: Mapping[str, Sequence[str]], title: str | None) -> list[Table | str]:
    """Each record with a line for each of its values, and a blank line between records."""
    found: list[Table | str] = []
    for row in zip(*columns.values(), strict=True):
        values = {key: text for key, text in zip(columns, row, strict=True) if text}
        found += [*([""] if found else []), _lines(values, None if found else title)]
    return found


def _is_list_of_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _heading(key: str) -> str:
    return escape(printable(key.replace("_", " ").replace("|", " or ")))
