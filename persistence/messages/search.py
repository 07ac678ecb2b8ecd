"""The search for words in messages: PostgreSQL finds them by an index of the words of each text, SQLite in its table of
words (`persistence.migrations`). Both read texts as searches do (`flows.typed`), and mark the words of each workspace,
so that one does not read what only others have written.
"""

import json

from sqlalchemy import Text, column, literal, literal_column, select, table

from flows.typed import WantedWords, wanted_words
from persistence.lists import Condition, ListQuery, never
from persistence.pages import AmongFew
from persistence.sql.query_functions import OF_WORKSPACE, HasWords, contains_folded
from persistence.tables.messages import message

FEW = 10_000
"""So many messages are put in order quickly. Words that more have are in some of the first messages of the list."""
WORDS = table("message_words", column("rowid"))
WHOLE_ROW = literal_column("message_words", Text)


def with_words(query: ListQuery, text: str) -> list[Condition]:
    """The conditions that messages have all words of a text, in any order, of which the last one may be the beginning
    of a longer word."""
    wanted = wanted_words(text)
    if wanted.is_empty:
        return [never(message.c.id)]
    parts: list[Condition] = [contains_folded(message.c.text, part) for part in wanted.parts]
    few = _find_few(query, wanted) if query.tx.sqlite else None
    if few is not None:
        return [AmongFew(message.c.id, literal(json.dumps(few), Text())), *parts]
    asked = json.dumps([wanted.words, wanted.beginnings]) if query.tx.sqlite else _as_tsquery(query, wanted)
    return [HasWords(message.c.workspace_id, message.c.text, literal(asked, Text())), *parts]


def _find_few(query: ListQuery, wanted: WantedWords) -> list[int] | None:
    """The ids of the messages with the words, or None if they are many. SQLite does not know which is quicker, as
    PostgreSQL does.
    """
    some = select(WORDS.c.rowid).where(_in_table(query, wanted)).limit(FEW + 1)
    ids = list(query.tx.execute(some).scalars())
    return ids if len(ids) <= FEW else None


def _in_table(query: ListQuery, wanted: WantedWords) -> Condition:
    terms = [f'"{word}"' for word in (_mark(query), *wanted.words)] + [f'"{word}"*' for word in wanted.beginnings]
    return WHOLE_ROW.op("MATCH", is_comparison=True)(literal(" ".join(terms), Text()))


def _as_tsquery(query: ListQuery, wanted: WantedWords) -> str:
    return " & ".join(
        [*(f"'{word}'" for word in (_mark(query), *wanted.words)), *(f"'{word}':*" for word in wanted.beginnings)]
    )


def _mark(query: ListQuery) -> str:
    return f"{OF_WORKSPACE}{query.workspace.id}"
