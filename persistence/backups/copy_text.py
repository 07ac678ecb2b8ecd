"""Rows of SQLite as PostgreSQL's COPY reads them (text format).

SQLite stores times, days, UUIDs and documents as texts that PostgreSQL reads unchanged, and Booleans as 0 and 1.
"""

import re
from collections.abc import Sequence

NULL = "\\N"
_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def copy_line(values: Sequence[object]) -> bytes:
    """A row as a line."""
    return ("\t".join(map(_field, values)) + "\n").encode()


def _field(value: object) -> str:
    if value is None:
        return NULL
    if isinstance(value, str):
        return _SPECIAL.sub(lambda found: _ESCAPES[found.group()], value)
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    return repr(value)
