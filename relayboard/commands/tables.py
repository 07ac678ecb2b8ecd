"""Any JSON as tables for people: a list of records has a row for each, a single record a line for each value."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from relayboard.base.terminal_text import printable

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
NAMES = ("name", "text", "email", "phone", "urn", "uuid")
"""What a record inside another one is called by, the first that it has."""


WHOLE = ("uuid", "id")
"""What people copy: it is never broken over lines."""
READABLE = 10
"""So wide is a column at least, unless its cells are shorter: a date stays on one line."""


def print_tables(value: Any) -> None:
    console = Console()
    for each in make_tables(value, console.width):
        console.print(each)


def make_tables(value: Any, width: int) -> list[Table | str]:
    """What is printed, each below the last, where a line has so many characters."""
    if _is_list_of_records(value):
        return _rows(value, None, width)
    if not isinstance(value, Mapping):
        return [escape(cell(value)) if value != [] else "There are none."]
    inner = {key: each for key, each in value.items() if _is_list_of_records(each)}
    lines = {key: cell(each) for key, each in value.items() if key not in inner}
    tables: list[Table | str] = [_lines(lines)] if lines else []
    for key, each in inner.items():
        tables += _rows(each, _heading(key), width)
    return tables


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
    """A time without fractions of minutes; --json has them."""
    return f"{text[:10]} {text[11:16]}" if MOMENT.fullmatch(text) else text


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
    return escape(printable(key.replace("_", " ")))
