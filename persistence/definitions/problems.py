"""Says in one line which rule of the workspace a part of an import file violates."""

from typing import Any

from persistence.errors import InvalidInput


def read_problem(error: InvalidInput) -> str:
    """The first message of a violated rule, with its field."""
    part: Any = error.errors
    fields: list[str] = []
    while isinstance(part, (dict, list)) and part:
        if isinstance(part, dict):
            key = next(iter(part))
            fields.append(str(key))
            part = part[key]
        else:
            part = part[0]
    named = [name for name in fields if name not in ("non_field_errors", "campaigns") and not name.isdecimal()]
    return f"{'.'.join(named)}: {part}" if named else str(part)
