"""Holds events against the types that `flows.events` declares for them."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from flows import events as event_types
from flows.events import AnyEvent


def read_type(kind: type) -> str:
    """The `type` of the events that a class describes."""
    (name,) = get_args(get_type_hints(kind)["type"])
    return str(name)


TYPES: dict[str, type] = {read_type(kind): kind for kind in get_args(AnyEvent)}


def list_mismatches(event: Mapping[str, Any]) -> list[str]:
    """What an event has, lacks or holds against its type."""
    kind = TYPES.get(str(event.get("type")))
    return (
        [f"there is no type {event.get('type')}"] if kind is None else list(_check_fields(event, kind, event["type"]))
    )


def _check_fields(given: Any, kind: Any, place: str) -> typing.Iterator[str]:
    if not isinstance(given, Mapping):
        yield f"{place} is no object"
        return
    hints = get_type_hints(kind, vars(event_types), include_extras=True)
    # Whatever else a host hands in with a message stays with it.
    for name in given.keys() - hints.keys() if kind is not event_types.ReceivedMessage else ():
        yield f"{place}.{name} is not declared"
    for name, hint in hints.items():
        if name in given:
            yield from _check(given[name], hint, f"{place}.{name}")
        elif get_origin(hint) is not NotRequired:
            yield f"{place}.{name} is missing"


def _check(value: Any, hint: Any, place: str) -> typing.Iterator[str]:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if origin in (NotRequired, Required):
        yield from _check(value, arguments[0], place)
    elif origin is Literal:
        if value not in arguments:
            yield f"{place} is {value!r}"
    elif origin in (Union, types.UnionType):
        if not any(not list(_check(value, each, place)) for each in arguments):
            yield f"{place} is {value!r}"
    elif origin is list:
        if not isinstance(value, list):
            yield f"{place} is no list"
            return
        for item in value:
            yield from _check(item, arguments[0], f"{place}[]")
    elif origin is dict:
        if not isinstance(value, Mapping):
            yield f"{place} is no object"
            return
        for item in value.values():
            yield from _check(item, arguments[1], f"{place}{{}}")
    elif typing.is_typeddict(hint):
        yield from _check_fields(value, hint, place)
    elif not isinstance(value, (int, float) if hint is float else hint):
        yield f"{place} is {value!r}, no {hint.__name__}"
