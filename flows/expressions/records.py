"""Objects of one kind, such as contacts, whose properties are computed from their subject when looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flows.expressions.values import MISSING, Deprecated, Missing, Value, XObject
from flows.typed import fold_case

Getter = Callable[[Any], Value | Deprecated]


class Shape:
    """The properties of a kind of objects by name, and optionally the default of an object. Each is a function of the
    object's subject. A shape is created once and shared by all its objects.
    """

    __slots__ = ("default", "folded", "getters", "roots")

    def __init__(self, getters: Mapping[str, Getter], default: Callable[[Any], Value] | None = None) -> None:
        self.getters = dict(getters)
        self.default = default
        self.folded = {fold_case(name): name for name in getters}
        self.roots = frozenset(name.lower() for name in getters)


class XRecord(XObject):
    """An object of a shape; a property is computed when it is first looked up, and only then."""

    __slots__ = ("_made", "_shape", "_subject")

    def __init__(self, shape: Shape, subject: Any) -> None:
        self._shape = shape
        self._subject = subject
        self._made: dict[str, Value | Deprecated] = {}

    @property
    def has_default(self) -> bool:
        """Whether there is a default."""
        return self._shape.default is not None

    @property
    def default(self) -> Value:
        """The object's default, which is its simple value; null if there is none."""
        return None if self._shape.default is None else self._shape.default(self._subject)

    def __len__(self) -> int:
        return len(self._shape.getters)

    def names(self) -> list[str]:
        """The property names, sorted."""
        return sorted(self._shape.getters)

    def roots(self) -> frozenset[str]:
        """The property names in lower case."""
        return self._shape.roots

    def find_name(self, name: str) -> str | None:
        """The exact name of the property for `name`, None if there is none."""
        shape = self._shape
        return name if name in shape.getters else shape.folded.get(fold_case(name))

    def look_up(self, name: str) -> Value | Deprecated | Missing:
        """The value of the property for `name`, with its warning; MISSING if there is none."""
        made = self._made
        if name in made:
            return made[name]
        shape = self._shape
        getter = shape.getters.get(name)
        if getter is None:
            known = shape.folded.get(fold_case(name))
            return MISSING if known is None else self.read(known)
        found = made[name] = getter(self._subject)
        return found

    def read(self, name: str) -> Value | Deprecated:
        """The value of an existing property, by exact name, with its warning."""
        made = self._made
        if name in made:
            return made[name]
        found = made[name] = self._shape.getters[name](self._subject)
        return found
