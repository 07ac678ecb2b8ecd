"""The search for words in messages: PostgreSQL finds them by an index of the words of each text, SQLite in its table of
words (`persistence.migrations`). Both read texts as searches do (`flows.typed`), and mark the words of each workspace,
so that one does not read what only others have written.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, Executable, Text, column, literal, literal_column, select, table, text

from flows.typed import WantedWords, wanted_words
from persistence.database import Transaction
from persistence.lists import Condition, ListQuery, never
from persistence.pages import AmongFew
from persistence.sql.query_functions import OF_WORKSPACE, HasWords, contains_folded
from persistence.statements import statement
from persistence.tables.messages import message

FEW = 10_000
"""So many messages are put in order quickly. Words that more have are in some of the first messages of the list."""
PAGE = 40
"""Messages of a page, about: to fill it, so many times as many texts of the list are read as for one with the word."""
UNKNOWN_COST = 8
"""PostgreSQL reads the list where the index costs it more than so much for each of those texts."""
KEPT_FOR = timedelta(minutes=5)
COMMON = text(
    """SELECT of_table.reltuples, current_setting('random_page_cost')::float AS page_cost,
    words.most_common_elems::text::text[] AS words, words.most_common_elem_freqs AS shares
FROM pg_index JOIN pg_class AS of_table ON of_table.oid = pg_index.indrelid
JOIN pg_stats AS words ON words.schemaname = current_schema() AND words.tablename = 'ix_message_words'
WHERE pg_index.indexrelid = to_regclass('ix_message_words')"""
)
WORDS = table("message_words", column("rowid"))
WHOLE_ROW = literal_column("message_words", Text)


def with_words(query: ListQuery, text: str) -> list[Condition]:
    """The conditions that messages have all words of a text, in any order, of which the last one may be the beginning
    of a longer word."""
    wanted = wanted_words(text)
    if wanted.is_empty:
        return [never(message.c.id)]
    parts: list[Condition] = [contains_folded(message.c.text, part) for part in wanted.parts]
    asked = json.dumps([wanted.words, wanted.beginnings]) if query.tx.sqlite else _as_tsquery(query, wanted)
    has_words = HasWords(message.c.workspace_id, message.c.text, literal(asked, Text()))
    few = _find_few(query, wanted) if query.tx.sqlite else _find_indexed(query, wanted, asked)
    return [has_words if few is None else AmongFew(message.c.id, literal(json.dumps(few), Text())), *parts]


def _find_few(query: ListQuery, wanted: WantedWords) -> list[int] | None:
    """The ids of the messages with the words, or None if they are many: SQLite does not know which way is quicker."""
    some = select(WORDS.c.rowid).where(_in_table(query, wanted)).limit(FEW + 1)
    ids = list(query.tx.execute(some).scalars())
    return ids if len(ids) <= FEW else None


@dataclass(frozen=True, slots=True)
class _Common:
    """The common words with the share of messages that have each, how many messages there are, and what PostgreSQL
    thinks that it costs to read one that the index names."""

    read_on: datetime
    count: float
    page_cost: float
    shares: Mapping[str, float]


_lock = Lock()
_common: WeakKeyDictionary[Engine, _Common] = WeakKeyDictionary()


def _find_indexed(query: ListQuery, wanted: WantedWords, asked: str) -> list[int] | None:
    """The same of PostgreSQL, where it would choose the slower way. It knows how many messages have a word, and not
    what it takes to divide a text into words: for words that are neither rare nor frequent it reads the list until a
    page is full, through twenty thousand texts for a word in one of four hundred.
    """
    common = _read_common(query.tx)
    shares = [common.shares.get(word, 0) for word in wanted.words]
    for begin in wanted.beginnings:
        shares.append(sum(share for word, share in common.shares.items() if word.startswith(begin)))
    rarest = min(shares, default=0)
    expected = common.count * rarest
    if not rarest or not UNKNOWN_COST / common.page_cost <= expected * rarest <= PAGE or expected > FEW:
        return None
    ids = [one for (one,) in _list_indexed.rows(query.tx, asked, FEW + 1)]
    return ids if len(ids) <= FEW else None


@statement
def _list_indexed(asked: str, most: int) -> Executable:
    has_words = HasWords(message.c.workspace_id, message.c.text, asked)
    indexed = select(message.c.id).where(has_words).cte("indexed").prefix_with("MATERIALIZED")
    return select(indexed.c.id).limit(most)


def _read_common(tx: Transaction) -> _Common:
    """What PostgreSQL knows of the words of messages, read again after a while."""
    engine = tx.connection.engine
    with _lock:
        known = _common.get(engine)
    if known is None or abs(tx.now - known.read_on) > KEPT_FOR:
        row = tx.execute(COMMON).first()
        # After the shares come the least and the largest one.
        shares = {} if row is None else dict(zip(row.words or (), row.shares or (), strict=False))
        count, page_cost = (0.0, 1.0) if row is None else (row.reltuples, row.page_cost)
        known = _Common(tx.now, count, page_cost, shares)
        with _lock:
            _common[engine] = known
    return known


def _in_table(query: ListQuery, wanted: WantedWords) -> Condition:
    terms = [f'"{word}"' for word in (_mark(query), *wanted.words)] + [f'"{word}"*' for word in wanted.beginnings]
    return WHOLE_ROW.op("MATCH", is_comparison=True)(literal(" ".join(terms), Text()))


def _as_tsquery(query: ListQuery, wanted: WantedWords) -> str:
    return " & ".join(
        [*(f"'{word}'" for word in (_mark(query), *wanted.words)), *(f"'{word}':*" for word in wanted.beginnings)]
    )


def _mark(query: ListQuery) -> str:
    return f"{OF_WORKSPACE}{query.workspace.id}"
