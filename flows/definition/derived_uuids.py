"""UUIDs for parts without one, derived from the definition itself (flow format, versions and migrations). A definition
that is read again gets the same UUIDs, so that stored runs still match.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from itertools import count
from typing import Any
from uuid import UUID

NewUuid = Callable[[], str]


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
