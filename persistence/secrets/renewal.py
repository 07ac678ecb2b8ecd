"""The secret key of a database: checks whether it is the right one, and renews all secrets that are sealed with a
former key.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Table, Text, delete, insert, select, type_coerce

from persistence.database import Database, Transaction
from persistence.secrets.encryption import KeyRing, Sealed, SecretDamaged, SecretKeyChanged
from persistence.statements import update
from persistence.tables.accounts import account, account_mail
from persistence.tables.service import secret_key_check

BATCH = 500
LOST_WITH = {account.name: ("totp_confirmed_on", "totp_step", "recovery_hashes")}
"""Columns that mean nothing without the secret of their row, and are emptied with it: an account whose second factor is
lost asks for no code any more."""
NOTHING_WITHOUT = {account_mail.name}
"""Tables whose rows are deleted with their secret: a letter without its link is not sent."""


@dataclass(slots=True)
class Renewal:
    """How many secrets were sealed again, and how many were deleted because no key opens them."""

    renewed: int = 0
    dropped: int = 0


def renew_secrets(database: Database, keys: KeyRing, *, drops_unreadable: bool = False) -> Renewal:
    """Seals all secrets with the current key, in short transactions; may be run again after an interruption. Raises
    SecretKeyChanged or SecretDamaged for one that no key opens, unless these are to be deleted: two-factor
    authentication of an account ends with its secret.
    """
    from persistence.tables.complete import metadata  # noqa: PLC0415  # who only confirms the key needs one table

    done = Renewal()
    for table in metadata.sorted_tables:
        columns = [column.name for column in table.c if isinstance(column.type, Sealed)]
        last_id: int | None = 0 if columns else None
        while last_id is not None:
            with database.writing() as tx:
                last_id = _renew_batch(tx, _Batch(table, columns, last_id), keys, done, drops_unreadable)
    return done


@dataclass(frozen=True, slots=True)
class _Batch:
    table: Table
    columns: list[str]
    after_id: int

    @property
    def id(self) -> Column[int]:
        """The column that numbers the rows; an account has the number of its user."""
        return next(column for column in self.table.primary_key if column.name != "workspace_id")

    def lock(self, tx: Transaction) -> dict[int, Mapping[str, str | None]]:
        """The sealed texts of the next rows, locked, by row id."""
        sealed = [type_coerce(self.table.c[name], Text).label(name) for name in self.columns]
        following = select(self.id, *sealed).where(self.id > self.after_id)
        rows = tx.execute(following.order_by(self.id).limit(BATCH).with_for_update())
        return {row_id: dict(zip(self.columns, texts, strict=True)) for row_id, *texts in rows}

    def secrets_of(self, texts: Mapping[str, str | None]) -> Iterator[tuple[str, Sealed, str]]:
        for name, sealed in texts.items():
            kind = self.table.c[name].type
            if sealed is not None and isinstance(kind, Sealed):
                yield name, kind, sealed


def _renew_batch(tx: Transaction, batch: _Batch, keys: KeyRing, done: Renewal, drops_unreadable: bool) -> int | None:
    """Renews the secrets of some rows; returns the id after which to continue, None at the end."""
    rows = batch.lock(tx)
    for row_id, texts in rows.items():
        changes: dict[str, Any] = {}
        for name, kind, sealed in batch.secrets_of(texts):
            try:
                opened = keys.open(sealed, kind.place)
            except (SecretKeyChanged, SecretDamaged):
                if not drops_unreadable:
                    raise
                changes |= dict.fromkeys((name, *LOST_WITH.get(batch.table.name, ())))
                done.dropped += 1
            else:
                if not keys.is_current(sealed):
                    changes[name] = kind.from_text(opened)
                    done.renewed += 1
        if None in changes.values() and batch.table.name in NOTHING_WITHOUT:
            tx.execute(delete(batch.table).where(batch.id == row_id))
        elif changes:
            tx.execute(update(batch.table).where(batch.id == row_id).values(changes))
    return max(rows) if len(rows) == BATCH else None


ONLY = 1
WORD = "relayboard"


def confirm_secret_key(database: Database) -> None:
    """Raises SecretKeyChanged if neither the secret key nor a former one belongs to this database. Tokens are stored as
    hashes keyed with it: without this check, with a wrong key all tokens would look unknown.
    """
    with database.reading() as tx:
        is_confirmed = _read_word(tx) is not None
    if not is_confirmed:
        database.write(_begin)


def _begin(tx: Transaction) -> None:
    if _read_word(tx) is None:
        tx.execute(delete(secret_key_check))
        tx.execute(insert(secret_key_check).values(id=ONLY, word=WORD))


def _read_word(tx: Transaction) -> str | None:
    return tx.execute(select(secret_key_check.c.word)).scalar_one_or_none()
