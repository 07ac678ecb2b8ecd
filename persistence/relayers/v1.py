"""Phones as v1 shows them: the record and its filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, select

from persistence.channels.channels import ANDROID
from persistence.database import Transaction
from persistence.errors import RecordMissing, Refused
from persistence.messages.states import PENDING_COUNT
from persistence.relayers.relayers import release_channels
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.sql.pages import Order
from persistence.tables.channels import channel

RELAYER_RECORD = declare_record(
    {
        "relayer": channel.c.id,
        "phone": channel.c.address,
        "name": channel.c.name,
        "country": channel.c.country,
        "last_seen": channel.c.last_seen,
        "power_level": channel.c.power_level,
        "power_status": channel.c.power_status,
        "power_source": channel.c.power_source,
        "network_type": channel.c.network_type,
        "pending_message_count": PENDING_COUNT,
    }
)

RELAYERS_ORDER = Order(channel.c.last_seen, channel.c.id)


@dataclass(frozen=True, slots=True)
class RelayerFilter:
    """Which phones are meant; None and empty lists leave a property open, all others must hold."""

    ids: Sequence[int] | None = None
    phones: Sequence[str] | None = None
    countries: Sequence[str] | None = None
    before: datetime | None = None
    after: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.phones or self.countries or self.before or self.after)

    def conditions(self) -> list[ColumnElement[bool]]:
        rows = channel.c
        found: list[ColumnElement[bool]] = [rows.type == ANDROID]
        if self.ids:
            found.append(rows.id.in_(self.ids))
        if self.phones:
            found.append(rows.address.in_([as_e164(phone) for phone in self.phones]))
        if self.countries:
            found.append(rows.country.in_([country.upper() for country in self.countries]))
        if self.before is not None:
            found.append(rows.last_seen <= self.before)
        if self.after is not None:
            found.append(rows.last_seen >= self.after)
        return found


def as_e164(text: str) -> str:
    """A number from a query, where a plain `+` has become a blank, with its `+`."""
    return "+" + text.strip().lstrip("+")


def list_relayers(tx: Transaction, workspace_id: int, wanted: RelayerFilter, number: int, size: int) -> NumberedPage:
    """The active phones of a workspace that fit, the one seen last first."""
    mine = [channel.c.workspace_id == workspace_id, channel.c.is_active, *wanted.conditions()]
    return fetch_numbered_page(
        tx,
        record=RELAYER_RECORD,
        source=channel,
        order=RELAYERS_ORDER,
        conditions=mine,
        number=number,
        size=size,
    )


def read_relayer(tx: Transaction, workspace_id: int, channel_id: int) -> str:
    """One phone's record as JSON text."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id)
    return tx.execute(select(as_text(RELAYER_RECORD)).select_from(channel).where(mine)).scalar_one()


def release_relayers(tx: Transaction, workspace_id: int, wanted: RelayerFilter) -> None:
    """Release the active phones that fit; what they had not sent fails.

    Raises Refused for a filter that names nothing, so that a slip cannot release every phone, and RecordMissing when
    no phone fits.
    """
    if wanted.is_empty:
        raise Refused("One of these parameters is needed: after, before, country, phone, relayer.")
    if not release_channels(tx, workspace_id, and_(*wanted.conditions())):
        raise RecordMissing
