"""Creates a workspace, with the records that every workspace has."""

from persistence.database import Transaction
from persistence.groups.groups import create_system_groups
from persistence.sql.names import check_name
from persistence.tables.accounts import WORKSPACE_NAME_LENGTH, workspace
from persistence.ticketers import create_internal_ticketer
from persistence.topics import create_default_topic
from persistence.workspaces import Workspace, find_workspace


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
