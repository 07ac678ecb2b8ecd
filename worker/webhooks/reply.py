"""What a receiver answers to an event: a message to send, if it is a valid one. Untrusted input."""

from dataclasses import dataclass
from typing import Any

import orjson

from flows.urns import URN_LENGTH_MAX, UrnError, read_urn
from persistence.sql.columns import is_uuid

TEXT_LENGTH = 480
"""Receiver response rules: `text` has at most 480 characters."""
RECIPIENTS = 100


@dataclass(frozen=True, slots=True)
class Reply:
    """A message to URNs (normalized) and contacts (UUIDs); with neither it goes to the contact of the event."""

    text: str
    urns: tuple[str, ...] = ()
    contact_uuids: tuple[str, ...] = ()


def read_reply(body: bytes, country: str = "") -> Reply | None:
    """The message in an accepted answer, None when there is none or anything about it is invalid.

    `urn` and `contact` may be a list or a single text, at most 100 each. `country` (ISO letters, may be empty) is that
    of the workspace and makes numbers without a country code readable.
    """
    try:
        return interpret_reply(orjson.loads(body), country)
    except orjson.JSONDecodeError:
        return None


def interpret_reply(document: Any, country: str = "") -> Reply | None:
    """Like `read_reply`, of an answer that has been parsed."""
    if not isinstance(document, dict):
        return None
    text = _read_text(document.get("text"))
    urns, contact_uuids = _read_texts(document.get("urn")), _read_texts(document.get("contact"))
    if text is None or urns is None or contact_uuids is None:
        return None
    if not all(is_uuid(contact_uuid) for contact_uuid in contact_uuids):
        return None
    try:
        normalized = [str(read_urn(urn, country, path_length=URN_LENGTH_MAX)) for urn in urns]
    except UrnError:
        return None
    unique_uuids = dict.fromkeys(contact_uuid.lower() for contact_uuid in contact_uuids)
    return Reply(text, tuple(dict.fromkeys(normalized)), tuple(unique_uuids))


def _read_text(value: Any) -> str | None:
    if not isinstance(value, str) or "\0" in value or not value.strip() or len(value) > TEXT_LENGTH:
        return None
    return value


def _read_texts(value: Any) -> list[str] | None:
    if value is None:
        return []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or len(values) > RECIPIENTS:
        return None
    return values if all(isinstance(each, str) and "\0" not in each for each in values) else None
