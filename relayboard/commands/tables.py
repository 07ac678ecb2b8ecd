"""Any JSON as tables for people: a list of records has a row for each, a single record a line for each value."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from relayboard.base.terminal_text import printable

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
NAMES = ("name", "text", "email", "phone", "urn", "uuid")
"""What a record inside another one is called by, the first that it has."""


def print_tables(value: Any) -> None:
    console = Console()
    for each in make_tables(value):
        console.print(each)


def make_tables(value: Any, title: str | None = None) -> list[Table | str]:
    if _is_list_of_records(value):
        return [_rows(value, title)]
    if not isinstance(value, Mapping):
        return [escape(cell(value)) if value != [] else "There are none."]
    inner = {key: each for key, each in value.items() if _is_list_of_records(each)}
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for key, each in value.items():
        if key not in inner:
            table.add_row(_heading(key), Text(cell(each)))
    tables: list[Table | str] = [table] if table.row_count else []
    return tables + [_rows(each, _heading(key)) for key, each in inner.items()]


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


def _rows(records: Sequence[Mapping[str, Any]], title: str | None) -> Table:
    """A column for each key that has a value in any record."""
    table = Table(title=title, title_justify="left")
    keys = [key for key in dict.fromkeys(key for each in records for key in each) if _has_value(records, key)]
    for key in keys:
        is_number = all(type(each.get(key)) in (int, float, type(None)) for each in records)
        table.add_column(
            _heading(key), overflow="fold", justify="right" if is_number else "left", no_wrap=key in ("uuid", "id")
        )
    for each in records:
        table.add_row(*(Text(cell(each.get(key))) for key in keys))
    return table


def _has_value(records: Sequence[Mapping[str, Any]], key: str) -> bool:
    return any(cell(each.get(key)) for each in records)


def _is_list_of_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _heading(key: str) -> str:
    return escape(printable(key.replace("_", " ")))
