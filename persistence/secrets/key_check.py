"""Knowing at the start whether the secret key is the one that the database was begun with."""

from sqlalchemy import delete, insert, select

from persistence.database import Database, Transaction
from persistence.tables.service import secret_key_check

ONLY = 1
WORD = "relayboard"


def confirm_secret_key(database: Database) -> None:
    """Raises SecretKeyChanged when neither the secret key nor a former one is that of this database.

    Tokens are stored as hashes keyed with it: without this check a wrong key would look as if all tokens were unknown.
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
