"""Creates a workspace, with the records that every workspace has, and changes what administrators may change."""

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import available_timezones

from sqlalchemy import delete, insert

from channels.chats import read_origin
from flows.languages import is_language
from flows.numbers import NUMBER_FORMATS
from persistence.audit import CHANGED, tell_deed
from persistence.campaigns.fires import request_passes
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.groups.groups import create_system_groups, renew_groups
from persistence.sql.names import check_name
from persistence.statements import update
from persistence.tables.accounts import ORIGIN_LENGTH, WORKSPACE_NAME_LENGTH, workspace, workspace_origin
from persistence.tickets.ticketers import create_internal_ticketer
from persistence.tickets.topics import create_default_topic
from persistence.workspaces.records import BY_COUNTRY, Workspace, find_workspace, hold_workspace, list_origins

AS_GIVEN = ("name", "country", "timezone", "date_style", "answer_limit")
READ_BY = ("timezone", "date_style", "numbers_as")
"""What dates and numbers in fields of contacts are read and compared with."""
MOST_ORIGINS = 20


def create_workspace(
    tx: Transaction,
    name: str,
    *,
    country: str = "",
    timezone: str = "UTC",
    languages: tuple[str, ...] = ("eng",),
    date_style: str = "day_first",
    number_format: str | None = None,
    is_anonymous: bool = False,
) -> Workspace:
    """Create a workspace with the records that every workspace has: the group Open Tickets, the topic General, a
    ticketer. Without a country it has that of its time zone. Raises InvalidInput for an invalid name.
    """
    values = {
        "name": check_name(name, length=WORKSPACE_NAME_LENGTH),
        "country": country or find_country(timezone),
        "timezone": timezone,
        "languages": list(languages),
        "date_style": date_style,
        "number_format": number_format,
        "is_anonymous": is_anonymous,
    }
    created = find_workspace(tx, tx.insert(workspace, created_on=tx.now, **values))
    assert created is not None
    create_system_groups(tx, created.id)
    create_default_topic(tx, created.id)
    create_internal_ticketer(tx, created.id)
    return created


def find_country(timezone: str) -> str:
    """The two letters of the country of an IANA time zone; empty for a time zone without a country, such as UTC."""
    from babel.core import get_global  # noqa: PLC0415  # it loads much, and most workspaces are given a country

    aliases, territories = get_global("zone_aliases"), get_global("zone_territories")
    country: str = territories.get(timezone) or territories.get(aliases.get(timezone, "")) or ""
    # ZZ and 001 mean no country and the whole world.
    return country if country.isalpha() and country != "ZZ" else ""


def read_changes(body: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that a request asks for. Raises InvalidInput for a country, time zone or language that is none."""
    import phonenumbers  # noqa: PLC0415  # who only creates a workspace needs none

    changes = {name: body[name] for name in AS_GIVEN if name in body}
    if "number_format" in body:
        changes["number_format"] = read_number_format(body["number_format"])
    country, timezone = changes.get("country", ""), changes.get("timezone", "UTC")
    if country and country not in phonenumbers.SUPPORTED_REGIONS:
        raise InvalidInput.on("country", f"{country} is not a country code of two letters, like RW.")
    if timezone not in available_timezones():
        raise InvalidInput.on("timezone", f"{timezone} is not a time zone, like Africa/Kigali.")
    if "languages" in body:
        changes["languages"] = _read_languages(body["languages"])
    if "origins" in body:
        changes["origins"] = read_origins(body["origins"])
    return changes


def read_number_format(given: str) -> str | None:
    """The stored form of a number format: its example, or null for that of the country. Raises InvalidInput."""
    if given == BY_COUNTRY:
        return None
    if given not in NUMBER_FORMATS:
        raise InvalidInput.on("number_format", f"One of {BY_COUNTRY}, {'; '.join(NUMBER_FORMATS)}.")
    return given


def read_origins(given: Sequence[str]) -> list[str]:
    """Origins as browsers write them, each once. Raises InvalidInput for what is none: a path, a wildcard, `null`, or a
    name in other letters than those in which browsers send it."""
    if len(given) > MOST_ORIGINS:
        raise InvalidInput.on("origins", f"At most {MOST_ORIGINS} origins.")
    found: list[str] = []
    for place, text in enumerate(given):
        origin = read_origin(text) if text.isascii() and len(text) <= ORIGIN_LENGTH else None
        scheme, _, rest = text.lower().partition("://")
        if origin is None or not rest or {*rest} & {*"/?#@*\\"} or scheme not in ("http", "https"):
            example = "https://www.example.org, in the letters of ASCII (xn--) and without a path"
            raise InvalidInput.at("origins", place, f"{text[:100]} is no origin, like {example}.")
        found.append(origin)
    return sorted(set(found))


def change_workspace(tx: Transaction, present: Workspace, changes: dict[str, Any]) -> Workspace:
    """Change columns of a workspace. With another time zone, date style or number format, also if it is that of another
    country, workers find the members of smart groups and the times of campaigns again; the next time of a schedule
    stays. Raises InvalidInput for an invalid name.
    """
    hold_workspace(tx, present.id)
    values = dict(changes)
    if "origins" in values:
        _replace_origins(tx, present, values.pop("origins"))
    if "name" in values:
        values["name"] = check_name(values["name"], length=WORKSPACE_NAME_LENGTH)
    if values:
        tx.execute(update(workspace).where(workspace.c.id == present.id).values(**values))
    changed = find_workspace(tx, present.id)
    assert changed is not None
    if any(getattr(changed, name) != getattr(present, name) for name in READ_BY):
        renew_groups(tx, present.id)
        request_passes(tx, present.id)
    return changed


def _replace_origins(tx: Transaction, present: Workspace, origins: Sequence[str]) -> None:
    former = list_origins(tx, present.id)
    if former == origins:
        return
    tx.execute(delete(workspace_origin).where(workspace_origin.c.workspace_id == present.id))
    if origins:
        rows = [{"workspace_id": present.id, "origin": each} for each in origins]
        tx.execute(insert(workspace_origin), rows)
    tell_deed(tx, present.id, "workspace", CHANGED, present.uuid, present.name, {"origins": [former, origins]})


def _read_languages(given: Sequence[str]) -> list[str]:
    languages = [code.lower() for code in given]
    for place, code in enumerate(languages):
        if not is_language(code):
            raise InvalidInput.at("languages", place, f"{code} is not an ISO 639-3 language code, like eng.")
        if code in languages[:place]:
            raise InvalidInput.at("languages", place, "Each language stands once.")
    return languages
