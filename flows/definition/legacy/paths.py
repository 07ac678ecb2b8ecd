"""Names of the old expression context and their new names (flow format, versions and migrations)."""

from collections.abc import Callable, Sequence

from flows.definition.legacy.operands import KINDS_OF_CALLS, Kind, Operand
from flows.definition.legacy.sums import format_date
from flows.urns import SCHEMES

LEGACY_ROOTS = frozenset(("channel", "child", "contact", "date", "extra", "flow", "parent", "step"))
CONTACT_PROPERTIES = frozenset(("uuid", "id", "name", "first_name", "created_on", "language"))
RESULT_PROPERTIES = {"value": "value", "category": "category_localized", "text": "input", "time": "created_on"}
URN_PARTS = {
    "display": "format_urn({0})",
    "path": "urn_parts({0}).path",
    "scheme": "urn_parts({0}).scheme",
    "urn": "{0}",
}
URN_PATH = 'default(urn_parts({0}).path, "")'
DAYS = {
    "today": "today()",
    "tomorrow": 'datetime_add(now(), 1, "D")',
    "yesterday": 'datetime_add(now(), -1, "D")',
}

Keys = Sequence[str]


def migrate_path(path: str, *, raw_dates: bool = False) -> Operand:
    """The new form of a dotted name of the old context; an unknown name stays, in lower case.

    `raw_dates` keeps days as values; otherwise they become text in the format of the workspace.
    """
    keys = path.lower().split(".")
    if all(keys) and keys[0] == "date":
        return _migrate_date(keys, raw_dates)
    found = _find_new_name(keys) if all(keys) else None
    return Operand(".".join(keys) if found is None else found)


def _find_new_name(keys: Keys) -> str | None:
    return _find_contact(keys) or _FINDERS.get(keys[0], _find_nothing)(keys[1:])


def _migrate_date(keys: Keys, raw_dates: bool) -> Operand:
    name = keys[1] if len(keys) == 2 else ""
    if keys == ["date"] or name == "now":
        return Operand("now()", kind=Kind.DATETIME, is_call=True)
    if name not in DAYS:
        return Operand(".".join(keys))
    text = DAYS[name]
    day = Operand(text, kind=KINDS_OF_CALLS[text.partition("(")[0]], is_call=True)
    return day if raw_dates else format_date(day)


def _find_contact(keys: Keys) -> str | None:
    rest = keys[1:] if keys[0] in ("flow", "step") else keys
    whose = ""
    if rest and rest[0] in ("parent", "child"):
        whose, rest = f"{rest[0]}.", rest[1:]
    if not rest or rest[0] != "contact":
        return None
    names = rest[1:]
    if not names:
        return f"{whose}contact"
    if len(names) == 1:
        return _find_contact_property(whose, names[0])
    scheme, part = names[0], names[1]
    if len(names) == 2 and scheme in SCHEMES and part in URN_PARTS:
        return URN_PARTS[part].format(f"{whose}urns.{scheme}")
    return None


def _find_contact_property(whose: str, name: str) -> str:
    if name in CONTACT_PROPERTIES:
        return f"{whose}contact.{name}"
    if name == "groups":
        return f'join({whose}contact.groups, ",")'
    if name == "tel":
        return f"format_urn({whose}urns.tel)"
    if name == "tel_e164":
        return URN_PATH.format(f"{whose}urns.tel")
    if name in SCHEMES:
        return URN_PATH.format(f"{whose}urns.{name}")
    return _look_up(f"{whose}fields", name)


def _find_result(results: str, keys: Keys) -> str | None:
    if not keys:
        return results
    result = _look_up(results, keys[0])
    if len(keys) == 1:
        return result
    return f"{result}.{RESULT_PROPERTIES[keys[1]]}" if len(keys) == 2 and keys[1] in RESULT_PROPERTIES else None


def _find_step(keys: Keys) -> str | None:
    if not keys or keys == ["value"]:
        return "input"
    if keys[0] == "attachments" and len(keys) == 2 and keys[1].isdecimal():
        return f"attachment_parts(input.attachments[{keys[1]}]).url"
    return _STEP_PROPERTIES.get(keys[0]) if len(keys) == 1 else None


def _find_channel(keys: Keys) -> str | None:
    if not keys or (len(keys) == 1 and keys[0] in ("address", "tel", "tel_e164")):
        return "contact.channel.address"
    return "contact.channel.name" if keys == ["name"] else None


def _find_extra(keys: Keys) -> str:
    if keys and keys[0] == "flow":
        found = _find_result("parent.results", keys[1:])
        if found is not None:
            return found
    extra = "legacy_extra"
    for key in keys:
        extra = _look_up(extra, key)
    return extra


def _find_nothing(keys: Keys) -> None:
    return None


def _look_up(container: str, key: str) -> str:
    # A name of the new language cannot begin with a digit, only a key in brackets can.
    return f'{container}["{key}"]' if key[0].isdecimal() else f"{container}.{key}"


_STEP_PROPERTIES = {
    "text": "input.text",
    "time": "input.created_on",
    "attachments": 'foreach(foreach(input.attachments, attachment_parts), extract, "url")',
}
_FINDERS: dict[str, Callable[[Keys], str | None]] = {
    "flow": lambda keys: _find_result("results", keys),
    "child": lambda keys: _find_result("child.results", keys),
    "parent": lambda keys: _find_result("parent.results", keys),
    "step": _find_step,
    "channel": _find_channel,
    "extra": _find_extra,
}
