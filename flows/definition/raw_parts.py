"""Parts of an unchecked definition of any version: invalid parts are skipped.

Translations of an unchecked definition: language, then item UUID, then property, then its texts.

UUIDs for parts without one, derived from the definition itself (flow format, versions and migrations). A definition
that is read again gets the same UUIDs, so that stored runs still match.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import count
from typing import Any
from uuid import UUID

JsonObject = dict[str, Any]

UI, TESTS = "_ui", "tests"
"""What the engine does not read, and in it the tests of a flow."""

# The minimum bytes of a value: a pair of quotes or brackets or a colon and a comma; a short number, true, false or
# null.
_PUNCTUATION_BYTES, _NUMBER_BYTES = 2, 3
OBJECT = (dict, Mapping)
"""For `isinstance`, which takes long for what is only known as a Mapping."""
_LEAVES = frozenset((str, int, float, bool, type(None)))
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

NewUuid = Callable[[], str]


def list_objects(value: object) -> list[JsonObject]:
    """The objects of a list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def list_nodes(flow: JsonObject) -> list[JsonObject]:
    """The nodes of a flow of version 13 or later."""
    return list_objects(flow.get("nodes"))


def list_actions(flow: JsonObject, *kinds: str) -> Iterator[JsonObject]:
    """The actions of all nodes; only those of some types if any are named."""
    for node in list_nodes(flow):
        for action in list_objects(node.get("actions")):
            if not kinds or action.get("type") in kinds:
                yield action


def list_routers(flow: JsonObject) -> Iterator[JsonObject]:
    """The routers of all nodes."""
    for node in list_nodes(flow):
        router = node.get("router")
        if isinstance(router, dict):
            yield router


def list_cases(flow: JsonObject) -> Iterator[JsonObject]:
    """The cases of all routers that choose by cases."""
    for router in list_routers(flow):
        if router.get("type") == "switch":
            yield from list_objects(router.get("cases"))


def list_splits(flow: JsonObject, *kinds: str) -> Iterator[tuple[JsonObject, JsonObject]]:
    """Nodes that perform one action and route by its outcome: the action, of one of these types, and the router."""
    for node in list_nodes(flow):
        actions, router = list_objects(node.get("actions")), node.get("router")
        if len(actions) != 1 or actions[0].get("type") not in kinds:
            continue
        if isinstance(router, dict) and router.get("type") == "switch":
            yield actions[0], router


def read_text(part: Mapping[str, Any], key: str) -> str:
    """The text of a property; empty for anything else."""
    value = part.get(key)
    return value if isinstance(value, str) else ""


def copy_parts(value: Any, depth: int) -> Any:
    """A copy of objects and lists down to a depth; deeper parts are shared with the original."""
    kind = type(value)
    if not depth or kind in _LEAVES:
        return value
    # Most parts are leaves; a call for each would take as long as the copy.
    if kind is dict or isinstance(value, Mapping):
        items = value.items()
        return {str(key): item if type(item) in _LEAVES else copy_parts(item, depth - 1) for key, item in items}
    if kind is list or isinstance(value, list):
        return [item if type(item) in _LEAVES else copy_parts(item, depth - 1) for item in value]
    return value


def is_uuid(value: object) -> bool:
    """Whether a value is a UUID in its usual form of 36 characters."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_larger(value: object, most_bytes: int) -> bool:
    """Whether the JSON of a value would have more than about so many bytes, at any depth."""
    size, waiting = 0, [value]
    while waiting and size <= most_bytes:
        part = waiting.pop()
        size += _PUNCTUATION_BYTES
        if isinstance(part, str):
            size += len(part.encode("utf-8", "surrogatepass"))
        elif isinstance(part, Mapping):
            size += sum(len(str(key).encode("utf-8", "surrogatepass")) + _PUNCTUATION_BYTES for key in part)
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        else:
            size += _NUMBER_BYTES
    return size > most_bytes


def list_translations(flow: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Every language with the translations in it."""
    localization = flow.get("localization")
    if isinstance(localization, dict):
        yield from ((language, items) for language, items in localization.items() if isinstance(items, dict))


def find_translation(items: JsonObject, part: JsonObject, name: str) -> list[Any] | None:
    """The texts of a property of a part, in the language whose translations are given; None if there are none."""
    properties = items.get(read_text(part, "uuid"))
    texts = properties.get(name) if isinstance(properties, dict) else None
    return texts if isinstance(texts, list) else None


def set_translation(items: JsonObject, part: JsonObject, name: str, texts: list[Any]) -> None:
    """Sets the texts of a property of a part that has a UUID."""
    uuid = read_text(part, "uuid")
    if not uuid:
        return
    if not isinstance(items.get(uuid), dict):
        items[uuid] = {}
    items[uuid][name] = texts


def drop_translation(items: JsonObject, part: JsonObject, name: str) -> None:
    """Removes a property of a part, and the part itself if nothing of it is left."""
    uuid = read_text(part, "uuid")
    properties = items.get(uuid)
    if isinstance(properties, dict):
        properties.pop(name, None)
        if not properties:
            del items[uuid]


def derive_uuids(definition: Mapping[str, Any]) -> NewUuid:
    """A source of UUIDs that gives the same ones in the same order for the same flow."""
    seed = _find_seed(definition)
    numbers = count(1)

    def derive() -> str:
        digest = sha256(f"{seed}\n{next(numbers)}".encode("utf-8", "surrogatepass")).digest()
        return str(UUID(bytes=digest[:16], version=4))

    return derive


def _find_seed(definition: Mapping[str, Any]) -> str:
    metadata = definition.get("metadata")
    places = (definition, metadata if isinstance(metadata, Mapping) else {})
    texts = [place.get(key) for key in ("uuid", "name", "entry") for place in places]
    return "\n".join(text for text in texts if isinstance(text, str))
