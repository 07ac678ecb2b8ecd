"""How settings name what is in responses and callbacks: dotted names, and tables of words."""

from collections.abc import Mapping, Sequence
from typing import Any

from channels.external.elements import TEXT

MOST_ITEMS = 100
"""So many messages at most are read from one callback."""
ANY = "*"
FORM_OF_TABLE = "Write a table as word=meaning, with commas between its entries, such as DELIVRD=delivered, *=ignore"


def list_names(setting: Any, *usual: str) -> tuple[str, ...]:
    """The names in a setting, with commas between them: the first one that is there counts. Without the setting, the
    usual ones."""
    return tuple(filter(None, (name.strip() for name in str(setting or "").split(",")))) or usual


def find(places: Sequence[Any], names: Sequence[str]) -> Any:
    """What is at the first of the names in the first of the places that has it; what is empty only if nothing else is
    there, and None if nothing is."""
    empty = None
    for name in names:
        for place in places:
            found = _find_one(place, name)
            if found not in (None, ""):
                return found
            empty = found if empty is None else empty
    return empty


def find_text(places: Sequence[Any], names: Sequence[str]) -> str | None:
    """The same as text: lists and objects are no text, but an element of XML may have its own."""
    found = find(places, names)
    if isinstance(found, dict):
        found = found.get(TEXT)
    if found is None or isinstance(found, dict | list):
        return None
    return str(found).lower() if isinstance(found, bool) else str(found)


def _find_one(place: Any, name: str) -> Any:
    """A name with a dot may be that of one field; otherwise it goes down, into a list by number."""
    if isinstance(place, Mapping) and name in place:
        return place[name]
    for step in name.split("."):
        if isinstance(place, Mapping):
            place = place.get(step)
        elif isinstance(place, list) and step.isdecimal() and len(step) < 5:
            place = place[int(step)] if int(step) < len(place) else None
        else:
            return None
    return place


def read_table(text: Any) -> dict[str, str]:
    """A table such as `DELIVRD=delivered, *=ignore`, by words in small letters. Raises ValueError."""
    entries = [entry.rpartition("=") for entry in str(text or "").split(",") if entry.strip()]
    table = {word.strip().lower(): meaning.strip().lower() for word, _, meaning in entries}
    if "" in table or "" in table.values():
        raise ValueError(FORM_OF_TABLE)
    return table


def mean(table: Mapping[str, str], word: str) -> str | None:
    """What a word means; `*` stands for all that the table does not name."""
    return table.get(word.strip().lower(), table.get(ANY))


def check_table(text: str, meanings: Sequence[str]) -> None:
    """Raises ValueError if it is no table, or means something else."""
    others = sorted(set(read_table(text).values()) - set(meanings))
    if others:
        raise ValueError(f"A word of a table means one of these: {', '.join(meanings)}; not {others[0]}")
