"""What signs calls to channels' delivery URLs and to subscribers of resthooks, and what else was set for them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Column, Executable, and_, select, update

from persistence.channels.webhooks import new_webhook_secret
from persistence.database import Transaction
from persistence.deliveries.leases import DueDelivery
from persistence.errors import RecordMissing, Refused
from persistence.resthooks.subscribers import find_subscribers_at
from persistence.secrets.encrypted_columns import open_or_none, sealed_text
from persistence.sql.fixed_statements import Fixed, among
from persistence.tables.channels import channel, former_channel
from persistence.tables.deliveries import SYMMETRIC, resthook_subscriber, webhook_receiver


@dataclass(frozen=True, slots=True)
class Signer:
    """The secrets of a delivery URL, and since when the current one is used; a damaged one cannot be decrypted. The
    same for its private keys, if it ever had any; `signature` says which of both sign now, and `chosen_on` since when.
    `retry_delays` in seconds are its own (None: those of the service).
    """

    secret: str | None
    previous_secret: str | None
    rotated_on: datetime | None
    is_damaged: bool = False
    signature: str = SYMMETRIC
    chosen_on: datetime | None = None
    private_key: str | None = None
    previous_private_key: str | None = None
    key_rotated_on: datetime | None = None
    retry_delays: tuple[float, ...] | None = None


def find_signers(tx: Transaction, leased: Sequence[DueDelivery]) -> dict[int, Signer]:
    """The secrets that sign these deliveries now, by delivery id; three statements at most."""
    from_channels = [each for each in leased if each.subscriber_id is None]
    by_channel = _read_signers(tx, channel.c.id, {each.channel_id for each in from_channels})
    moved = {each.channel_id for each in from_channels if (each.workspace_id, each.channel_id) not in by_channel}
    by_channel = _read_signers(tx, former_channel.c.channel_id, moved) | by_channel
    by_subscriber = _read_signers(tx, resthook_subscriber.c.id, {each.subscriber_id for each in leased})
    found = {
        each.id: by_channel.get((each.workspace_id, each.channel_id))
        if each.subscriber_id is None
        else by_subscriber.get((each.workspace_id, each.subscriber_id))
        for each in leased
    }
    return {delivery_id: signer for delivery_id, signer in found.items() if signer is not None}


Signers = dict[tuple[int, int | None], Signer]
"""By the workspace, and the id of the channel or subscriber."""


def _read_signers(tx: Transaction, key: Column[int], ids: Collection[int | None]) -> Signers:
    """The secrets of channels or subscribers; one that cannot be decrypted affects only its own receiver."""
    wanted = sorted(each for each in ids if each is not None)
    if not wanted:
        return {}
    secret, previous, own = key.table.c.webhook_secret, key.table.c.webhook_previous_secret, webhook_receiver.c
    signers: Signers = {}
    for row in map(_Row._make, _READING[key].rows(tx, {"wanted": wanted})):
        opened = open_or_none(tx.dialect, secret, row.secret)
        private_key = open_or_none(tx.dialect, own.private_key, row.private_key)
        signing, sealed = (opened, row.secret) if row.signature in (None, SYMMETRIC) else (private_key, row.private_key)
        signers[row.workspace_id, row.key] = Signer(
            opened,
            open_or_none(tx.dialect, previous, row.previous),
            row.webhook_rotated_on,
            is_damaged=sealed is not None and signing is None,
            signature=row.signature or SYMMETRIC,
            chosen_on=row.signature_chosen_on,
            private_key=private_key,
            previous_private_key=open_or_none(tx.dialect, own.previous_private_key, row.previous_private_key),
            key_rotated_on=row.key_rotated_on,
            retry_delays=None if row.retry_delays is None else tuple(row.retry_delays),
        )
    return signers


class _Row(NamedTuple):
    """What is read of a channel or subscriber; secrets as they are stored."""

    workspace_id: int
    key: int
    secret: Any
    previous: Any
    webhook_rotated_on: datetime | None
    signature: str | None
    signature_chosen_on: datetime | None
    private_key: Any
    previous_private_key: Any
    key_rotated_on: datetime | None
    retry_delays: Sequence[float] | None


def _read(key: Column[int], _is_sqlite: bool) -> Executable:
    table, own = key.table, webhook_receiver.c
    owner = own.subscriber_id if table is resthook_subscriber else own.channel_id
    source = table.outerjoin(webhook_receiver, and_(owner == key, own.workspace_id == table.c.workspace_id))
    columns = (
        table.c.workspace_id,
        key,
        sealed_text(table.c.webhook_secret),
        sealed_text(table.c.webhook_previous_secret),
        table.c.webhook_rotated_on,
        own.signature,
        own.signature_chosen_on,
        sealed_text(own.private_key),
        sealed_text(own.previous_private_key),
        own.key_rotated_on,
        own.retry_delays,
    )
    return select(*columns).select_from(source).where(among(key, "wanted"))


_READING = {
    key: Fixed(partial(_read, key), is_prepared=False)
    for key in (channel.c.id, former_channel.c.channel_id, resthook_subscriber.c.id)
}


def find_subscriber_signer(tx: Transaction, workspace_id: int, slug: str, url: str) -> Signer | None:
    """The secrets of a resthook's subscriber at a URL."""
    ids = find_subscribers_at(tx, workspace_id, slug, [url])
    return _read_signers(tx, resthook_subscriber.c.id, ids).get((workspace_id, ids[0])) if ids else None


def read_subscriber_secret(tx: Transaction, workspace_id: int, subscriber_id: int) -> str:
    """The secret that signs calls to a subscriber. Raises RecordMissing, and Refused if it cannot be decrypted."""
    signer = _read_signers(tx, resthook_subscriber.c.id, [subscriber_id]).get((workspace_id, subscriber_id))
    if signer is None:
        raise RecordMissing("No such subscriber.")
    if signer.secret is None:
        raise Refused("The secret of this subscriber cannot be decrypted; give it a new one.")
    return signer.secret


def rotate_subscriber_secret(tx: Transaction, workspace_id: int, subscriber_id: int) -> str:
    """Gives a subscriber a new secret, which is returned; for one day calls are also signed with the old one.

    Raises RecordMissing.
    """
    mine = (resthook_subscriber.c.workspace_id == workspace_id) & (resthook_subscriber.c.id == subscriber_id)
    if tx.execute(select(resthook_subscriber.c.id).where(mine).with_for_update()).first() is None:
        raise RecordMissing("No such subscriber.")
    signer = _read_signers(tx, resthook_subscriber.c.id, [subscriber_id])[workspace_id, subscriber_id]
    secret = new_webhook_secret()
    values = {"webhook_secret": secret, "webhook_previous_secret": signer.secret, "webhook_rotated_on": tx.now}
    tx.execute(update(resthook_subscriber).where(mine).values(**values))
    return secret
