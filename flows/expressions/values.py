"""The values that expressions work on (flow format, expression types).

Null, text, number, boolean, date, time and datetime are None, str, Decimal, bool, date, time and datetime; the classes
here are the other types. Values are immutable, but properties may be computed on first use.

Objects of one kind, such as contacts, whose properties are computed from their subject when looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from flows.expressions.decimals import check_range
from flows.expressions.evaluation import ExpressionError
from flows.numbers import render_decimal
from flows.typed import fold_case

if TYPE_CHECKING:
    from flows.expressions.evaluation import Evaluation

DESCRIBED_CHARACTERS = 100
_DEFAULT_PROPERTY = "__default__"


@dataclass(frozen=True, slots=True)
class XError:
    """An error as a value: most operations on it return it."""

    message: str


class XArray(Sequence["Value"]):
    """A list of values."""

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[Value] = ()) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"XArray({list(self._items)!r})"


@dataclass(frozen=True, slots=True)
class Deprecated:
    """A property that still works but should not be used; each look-up of it gives the `warning`."""

    value: Value
    warning: str


class _NoDefault(Enum):
    NO_DEFAULT = "no default"


class Missing(Enum):
    MISSING = "missing"


NO_DEFAULT = _NoDefault.NO_DEFAULT
MISSING = Missing.MISSING


class XObject:
    """Named values, and optionally a default, which replaces the object where a simple value is needed. A property, the
    default and the whole mapping may be given as functions without arguments; each is called at most once, on first
    use. Names are looked up ignoring case.
    """

    __slots__ = ("_default", "_folded", "_properties", "_source")

    def __init__(
        self,
        properties: Mapping[str, Property] | Callable[[], Mapping[str, Property]],
        default: Value | Callable[[], Value] | _NoDefault = NO_DEFAULT,
    ) -> None:
        self._source = properties
        self._default = default
        self._properties: dict[str, Property] | None = None
        self._folded: dict[str, str] | None = None

    @property
    def has_default(self) -> bool:
        """Whether there is a default, which may be null."""
        return self._default is not NO_DEFAULT

    @property
    def default(self) -> Value:
        """The object's default, which is its simple value; null if there is none."""
        if callable(self._default):
            self._default = self._default()
        return None if isinstance(self._default, _NoDefault) else self._default

    def __len__(self) -> int:
        return len(self._load())

    def names(self) -> list[str]:
        """The property names, sorted."""
        return sorted(self._load())

    def roots(self) -> frozenset[str]:
        """The property names in lower case, with which expressions may begin if this is their context."""
        return frozenset(name.lower() for name in self._load())

    def find_name(self, name: str) -> str | None:
        """The exact name of the property for `name`, None if there is none."""
        properties = self._load() if self._properties is None else self._properties
        if name in properties:
            return name
        if self._folded is None:
            self._folded = {fold_case(known): known for known in properties}
        return self._folded.get(fold_case(name))

    def look_up(self, name: str) -> Value | Deprecated | Missing:
        """The value of the property for `name`, with its warning; MISSING if there is none."""
        known = self.find_name(name)
        return MISSING if known is None else self.read(known)

    def read(self, name: str) -> Value | Deprecated:
        """The value of an existing property, by exact name, with its warning."""
        properties = self._load()
        found = properties[name]
        if callable(found):
            found = properties[name] = found()
        return found

    def value(self, name: str) -> Value:
        """The value of an existing property, by exact name."""
        found = self.read(name)
        return found.value if isinstance(found, Deprecated) else found

    def get(self, name: str) -> Value:
        """The value of a property ignoring case, null if there is none."""
        known = self.find_name(name)
        return None if known is None else self.value(known)

    def items(self) -> list[tuple[str, Value]]:
        """All properties sorted by name."""
        return [(name, self.value(name)) for name in self.names()]

    def _load(self) -> dict[str, Property]:
        if self._properties is None:
            self._properties = dict(self._source() if callable(self._source) else self._source)
        return self._properties

    def __repr__(self) -> str:
        default = f", default={self.default!r}" if self.has_default else ""
        return f"XObject({dict(self.items())!r}{default})"


@dataclass(frozen=True, slots=True, eq=False)
class XFunction:
    """A function as a value; anonymous ones are called `<anon>`."""

    name: str
    apply: Callable[[Evaluation, Sequence[Value]], Value]

    def call(self, evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
        """Calls it; the function's name is put before an error."""
        result = self.apply(evaluation, arguments)
        if isinstance(result, XError):
            return XError(f"error calling {self.name}(...): {result.message}")
        return result


Value: TypeAlias = str | Decimal | bool | date | datetime | time | XArray | XObject | XFunction | XError | None
Property: TypeAlias = Value | Deprecated | Callable[[], "Value | Deprecated"]


def describe(value: Value) -> str:
    """A short description of a value, for messages."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= DESCRIBED_CHARACTERS else f'"{value[:DESCRIBED_CHARACTERS]}…"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return render_decimal(value)
    if isinstance(value, XFunction):
        return f"{value.name}(...)"
    names = ((XArray, "array"), (XObject, "object"), (datetime, "datetime"), (date, "date"), (time, "time"))
    return next((name for kind, name in names if isinstance(value, kind)), "error")


def to_value(native: object) -> Value:
    """Converts plain data such as decoded JSON to values; a property `__default__` becomes the object's default.
    Numbers become decimals (or errors, if out of range), lists arrays, and mappings objects; values stay unchanged.
    """
    if isinstance(native, bool) or native is None:
        return native
    if isinstance(native, (int, float)):
        return _to_number(native)
    if isinstance(native, Mapping):
        properties = {str(name): to_value(item) for name, item in native.items() if name != _DEFAULT_PROPERTY}
        if _DEFAULT_PROPERTY in native:
            return XObject(properties, default=to_value(native[_DEFAULT_PROPERTY]))
        return XObject(properties)
    if isinstance(native, (list, tuple)):
        return XArray([to_value(item) for item in native])
    if isinstance(native, (str, Decimal, date, time, XArray, XObject, XFunction, XError)):
        return native
    raise TypeError(f"{type(native).__name__} has no form in expressions")


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


def _to_number(native: int | float) -> Decimal | XError:
    try:
        return check_range(Decimal(str(native)))
    except ExpressionError as error:
        return XError(str(error))
