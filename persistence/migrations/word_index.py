"""The index of the words of messages on SQLite: a table of its text search (FTS5) that keeps no texts, and triggers,
because messages come and go by many statements. The triggers call a function of ours (`relayboard_words`), so that a
program without it cannot write a message that no search would find. Their text names the form of the words: when that
changes, or a revision has made the table of messages anew and lost them, all is made anew.
"""

import hashlib
import logging
import time
import unicodedata
from functools import cache

from sqlalchemy import Connection, text

from flows import typed
from persistence.tables.messages import message

logger = logging.getLogger("relayboard.migrations")

WORD_TABLE = "message_words"
WORD_TABLES = frozenset({WORD_TABLE, *(f"{WORD_TABLE}_{part}" for part in ("data", "idx", "config", *"iud"))})
"""The table, those in which SQLite keeps it, and the triggers."""
WAITED_SECONDS = 2.0
KNOWN = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table")
_MAKE = (
    f"CREATE VIRTUAL TABLE {WORD_TABLE} USING fts5"
    "(words, content = '', columnsize = 0, detail = none, tokenize = \"ascii tokenchars '@'\")"
)
_ADD = f"INSERT INTO {WORD_TABLE} (rowid, words)"
_TAKE = f"INSERT INTO {WORD_TABLE} ({WORD_TABLE}, rowid, words)"
_FILL = f"{_ADD} SELECT id, relayboard_words(workspace_id, text) FROM message WHERE text <> ''"


def has_words(connection: Connection) -> bool:
    """Whether the index is there, in the form that searches look for."""
    found = {name: sql for name, sql in connection.execute(KNOWN, {"table": message.name})}
    return all(found.get(name) == sql for name, sql in _triggers().items())


def add_words(connection: Connection) -> None:
    """Makes the index of all messages, if another process has not been faster."""
    if has_words(connection):
        return
    began = time.monotonic()
    drop_words(connection)
    connection.exec_driver_sql(_MAKE)
    connection.exec_driver_sql(_FILL)
    for trigger in _triggers().values():
        connection.exec_driver_sql(trigger)
    if (took := time.monotonic() - began) > WAITED_SECONDS:
        logger.info("message.text: searches have an index, made in %.1f s", took)


def drop_words(connection: Connection) -> None:
    """For a program that does not have the function of the triggers."""
    for name in _triggers():
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {WORD_TABLE}")


@cache
def _triggers() -> dict[str, str]:
    new, old = (f"relayboard_words({row}.workspace_id, {row}.text)" for row in ("new", "old"))
    put = f"{_ADD} SELECT new.id, {new} WHERE new.text <> '';"
    take = f"{_TAKE} SELECT 'delete', old.id, {old} WHERE old.text <> '';"
    # The table takes words away before it gets others: of several triggers nobody knows which one comes first.
    kinds = {"i": ("INSERT", put), "u": ("UPDATE OF text", f"{take} {put}"), "d": ("DELETE", take)}
    return {
        f"{WORD_TABLE}_{name}": f"CREATE TRIGGER {WORD_TABLE}_{name} AFTER {event} ON {message.name}"
        f" BEGIN {work} END /* {_mark()} */"
        for name, (event, work) in kinds.items()
    }


def _mark() -> str:
    """Changes with the form of words, which follows the tables of Unicode that Python has."""
    form = (typed.ODD, typed.ACCENTS, typed.LIKE_ANOTHER, typed.TWO_LETTERS, typed.WITHOUT_SPACES, typed.SEPARATORS)
    whole = repr((unicodedata.unidata_version, typed.WORD_LENGTH, *form))
    return hashlib.sha256(whole.encode()).hexdigest()
