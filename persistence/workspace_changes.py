"""Changes the properties of a workspace, with what depends on them."""

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import available_timezones

import phonenumbers
from sqlalchemy import update

from flows.languages import is_language
from flows.numbers import NUMBER_FORMATS
from persistence.campaigns.fires import request_passes
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.groups.groups import renew_groups
from persistence.sql.names import check_name
from persistence.tables.accounts import WORKSPACE_NAME_LENGTH, workspace
from persistence.workspaces import BY_COUNTRY, Workspace, find_workspace, hold_workspace

AS_GIVEN = ("name", "country", "timezone", "date_style", "answer_limit")
READ_BY = ("timezone", "date_style", "numbers_as")
"""What dates and numbers in fields of contacts are read and compared with."""


def read_changes(body: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that a request asks for. Raises InvalidInput for a country, time zone or language that is none."""
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
    return changes


def read_number_format(given: str) -> str | None:
    """The stored form of a number format: its example, or null for that of the country. Raises InvalidInput."""
    if given == BY_COUNTRY:
        return None
    if given not in NUMBER_FORMATS:
        raise InvalidInput.on("number_format", f"One of {BY_COUNTRY}, {'; '.join(NUMBER_FORMATS)}.")
    return given


def _read_languages(given: Sequence[str]) -> list[str]:
    languages = [code.lower() for code in given]
    for place, code in enumerate(languages):
        if not is_language(code):
            raise InvalidInput.at("languages", place, f"{code} is not an ISO 639-3 language code, like eng.")
        if code in languages[:place]:
            raise InvalidInput.at("languages", place, "Each language stands once.")
    return languages


def change_workspace(tx: Transaction, present: Workspace, changes: dict[str, Any]) -> Workspace:
    """Change columns of a workspace. With another time zone, date style or number format, also if it is that of another
    country, workers find the members of smart groups and the times of campaigns again; the next time of a schedule
    stays. Raises InvalidInput for an invalid name.
    """
    hold_workspace(tx, present.id)
    values = dict(changes)
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
