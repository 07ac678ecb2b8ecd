"""Places (administrative boundaries): a tree of country, states, districts and wards, and the search for places in
people's text (flow format, places)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import regex

from flows.words import lower

COUNTRY, STATE, DISTRICT, WARD = range(4)
LEVELS_MAX = 4
PATH_SEPARATOR = " > "
INDEXES_KEPT = 32

_SPACES = regex.compile(r"\s+")
_NOT_IN_NAMES = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_EDGES = regex.compile(r"^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_']+(?:-[\p{L}\p{M}\p{N}_']+)*")


class PlaceError(ValueError):
    """A tree of places has more than four levels."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One place. Its level is 0 for a country to 3 for a ward; its path is all names from the country down."""

    name: str
    path: str
    level: int
    aliases: tuple[str, ...] = ()
    children: tuple[Place, ...] = ()
    parent_path: str = ""

    def is_below(self, parent: Place) -> bool:
        """Whether this place is directly below another one."""
        return self.parent_path == parent.path

    def walk(self) -> Iterator[Place]:
        """This place and everything below it, from the top down."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_places(tree: Mapping[str, Any], parent: str = "", level: int = COUNTRY) -> Place:
    """Reads a tree of `{name, aliases, children}`. Raises PlaceError when it has more than four levels."""
    if level >= LEVELS_MAX:
        raise PlaceError(f"places have at most {LEVELS_MAX} levels")
    name = tree["name"]
    path = f"{parent}{PATH_SEPARATOR}{name}" if parent else name
    aliases = tuple(tree.get("aliases") or ())
    return Place(
        name=name,
        path=path,
        level=level,
        aliases=aliases,
        children=tuple(read_places(child, path, level + 1) for child in tree.get("children") or ()),
        parent_path=parent,
    )


def is_possible_path(text: str) -> bool:
    """Whether a text can be the path of a place, because it has levels."""
    return PATH_SEPARATOR.strip() in text


def normalize_path(path: str) -> str:
    """A path with one way of writing spaces, separators and capitals, and without punctuation around its names."""
    names = (_EDGES.sub("", _SPACES.sub(" ", name)) for name in path.split(PATH_SEPARATOR.strip()))
    return PATH_SEPARATOR.join(name.title() for name in names)


def name_of(path: str) -> str:
    """The last name of a path."""
    return path.rpartition(PATH_SEPARATOR.strip())[2].strip()


def find_path(root: Place, path: str) -> Place | None:
    """The place with a path, ignoring case, spaces and punctuation."""
    return _index(root).by_path.get(_fold_path(path))


def find_named(root: Place, text: str, level: int, parent: Place | None = None) -> list[Place]:
    """The places of a level, optionally directly below another, that have a text as name, alias or path."""
    if is_possible_path(text):
        place = find_path(root, text)
        found = [place] if place else []
    else:
        found = _index(root).by_name.get(_fold(text), [])
    return [place for place in found if place.level == level and (parent is None or place.is_below(parent))]


def find_places(root: Place, text: str, level: int, parent: Place | None = None) -> list[Place]:
    """The places of a level in a person's text, searched less and less strictly.

    Tried in turn: the whole text, the text without punctuation and spaces, each word, each pair of adjacent words. The
    first that finds something wins; the result is empty when nothing does.
    """
    for attempt in _attempts(text):
        found = find_named(root, attempt, level, parent)
        if found:
            return found
    return []


def find_first(root: Place, level: int, text: str, parent: Place | None = None) -> Place | None:
    """The first place that `find_places` finds."""
    return next(iter(find_places(root, text, level, parent)), None)


def _attempts(text: str) -> Iterator[str]:
    yield text
    yield _NOT_IN_NAMES.sub("", text)
    words = _WORD.findall(text)
    yield from words
    # An elided article ("l'Île") is not part of a name, but other names have an apostrophe within ("N'Djamena").
    yield from (part for word in words if "'" in word for part in word.split("'"))
    yield from (f"{first} {second}" for first, second in pairwise(words))


@dataclass(frozen=True, slots=True)
class _Index:
    by_path: dict[str, Place]
    by_name: dict[str, list[Place]]


@lru_cache(maxsize=INDEXES_KEPT)
def _index(root: Place) -> _Index:
    # Trees have thousands of places and texts are searched word by word, so walking the tree each time would be too
    # slow.
    by_name: dict[str, list[Place]] = {}
    for place in root.walk():
        for name in {_fold(known) for known in (place.name, *place.aliases)}:
            by_name.setdefault(name, []).append(place)
    return _Index({_fold_path(place.path): place for place in reversed(list(root.walk()))}, by_name)


def _fold_path(path: str) -> str:
    return lower(normalize_path(path))


def _fold(name: str) -> str:
    return lower(str(_SPACES.sub(" ", name.strip())))
