"""What commands write to stdout: JSON in pipes and with `--json`, tables on a terminal."""

import sys
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

import click
import orjson


def print_json(value: object) -> None:
    """One JSON document on a line of its own, or the same as tables."""
    text = as_json(value)
    if shows_tables():
        from relayboard.commands.tables import print_tables  # it loads rich, for people only

        print_tables(orjson.loads(text), _listed())
    else:
        sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_line(value: object) -> None:
    """One JSON document on a line of its own, also on a terminal: one of many that follow each other."""
    sys.stdout.write(as_json(value) + "\n")
    sys.stdout.flush()


def print_record(record: str) -> None:
    """A record from persistence, which is JSON already."""
    print_json(orjson.loads(record))


def print_records(records: Iterable[str]) -> None:
    print_json([orjson.loads(record) for record in records])


def shows_tables() -> bool:
    """Whether a person reads what this command writes."""
    context = click.get_current_context(silent=True)
    return sys.stdout.isatty() and context is not None and context.params.get("json") is False


def _listed() -> str | None:
    """What the list is about that a person reads; None where all is to be shown."""
    context = click.get_current_context(silent=True)
    if context is None or context.params.get("wide") is not False:
        return None
    if context.parent is None:
        return ""
    noun, verb = context.parent.command.name or "", context.command.name
    return noun if verb == "list" else f"{noun} {verb}"


def as_json(value: object) -> str:
    # The keys of a row are names of columns, a subclass of str.
    option = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
    return orjson.dumps(value, default=_plain, option=option).decode()


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        from persistence.sql.columns import time_text  # clients of a server have no database to load

        return time_text(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError
