"""The kinds of assets that flows refer to: the data of each, and the form of its references (flow format, words used).
A kind is one line of `AssetLists`, and its record.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from dataclasses import fields as list_fields
from typing import Any, Generic, Self, TypeVar, overload

SEND_ROLE = "send"


@dataclass(frozen=True, slots=True)
class Asset:
    """What all assets have in common. Their first field identifies them in references."""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one asset; missing properties get the defaults of the record."""
        given: dict[str, Any] = {}
        for each in list_fields(cls):
            value = source.get(each.name)
            if value or each.default is MISSING:
                given[each.name] = tuple(value or ()) if each.default == () else value
        return cls(**given)


@dataclass(frozen=True, slots=True)
class _Named(Asset):
    uuid: str
    name: str

    @property
    def reference(self) -> dict[str, str]:
        """UUID and name."""
        return {"uuid": self.uuid, "name": self.name}


@dataclass(frozen=True, slots=True)
class Campaign(_Named):
    """A series of events relative to a date of a contact."""


@dataclass(frozen=True, slots=True)
class Label(_Named):
    """A label for incoming messages."""


@dataclass(frozen=True, slots=True)
class Optin(_Named):
    """A subject that a contact can agree to receive messages about."""


@dataclass(frozen=True, slots=True)
class Topic(_Named):
    """A topic of tickets."""


@dataclass(frozen=True, slots=True)
class Ticketer(_Named):
    """A ticketing service (13 only)."""


@dataclass(frozen=True, slots=True)
class User(Asset):
    """A member of the workspace; in 13, where users are identified by their e-mail address, it replaces a missing
    UUID."""

    uuid: str = ""
    name: str = ""
    email: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one user."""
        email = source.get("email") or ""
        return cls(source.get("uuid") or email, source.get("name") or "", email)

    @property
    def reference(self) -> dict[str, str]:
        """UUID and name."""
        return {"uuid": self.uuid, "name": self.name}


@dataclass(frozen=True, slots=True)
class Channel(_Named):
    """A channel. `match_prefixes` are the beginnings of phone numbers for which it is preferred; `allow_international`
    ones are also used for numbers of other countries, and those that are down only if no other can serve."""

    address: str = ""
    schemes: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    country: str = ""
    match_prefixes: tuple[str, ...] = ()
    allow_international: bool = False
    is_down: bool = False

    @property
    def can_send(self) -> bool:
        """Whether messages can be sent through it."""
        return SEND_ROLE in self.roles


@dataclass(frozen=True, slots=True)
class Classifier(_Named):
    """A service that finds intents in texts (13 only)."""

    type: str = ""
    intents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Llm(_Named):
    """A language model."""

    type: str = ""


@dataclass(frozen=True, slots=True)
class Field(Asset):
    """A field of contacts; types are text, number, datetime, state, district and ward."""

    key: str
    name: str
    type: str = "text"
    uuid: str = ""

    @property
    def reference(self) -> dict[str, str]:
        """Key and name."""
        return {"key": self.key, "name": self.name}


@dataclass(frozen=True, slots=True)
class Global(Asset):
    """A value that all flows of the workspace can use."""

    key: str
    name: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Group(_Named):
    """A group of contacts; a group with a query contains the contacts that the query finds."""

    query: str = ""

    @property
    def is_smart(self) -> bool:
        """Whether a query finds its members."""
        return bool(self.query)


@dataclass(frozen=True, slots=True)
class Resthook(Asset):
    """An event to which other systems subscribe with URLs to call."""

    slug: str
    subscribers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateComponent:
    """A part of a message template. `variables` are the template's variables by the name they have in `content`."""

    name: str
    type: str
    content: str
    variables: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TemplateTranslation:
    """A template in one language on one channel; `variables` are the types of its variables."""

    channel_uuid: str
    locale: str
    components: Sequence[TemplateComponent]
    variables: Sequence[str]
    namespace: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one translation; before 14 its components are one text."""
        components = source.get("components")
        if components is None:
            content = source.get("content") or ""
            components = [{"name": "body", "type": "body/text", "content": content, "variables": {}}]
        return cls(
            (source.get("channel") or {}).get("uuid", ""),
            source.get("locale") or source.get("language") or "",
            tuple(
                TemplateComponent(
                    part.get("name") or "",
                    part.get("type") or "",
                    part.get("content") or "",
                    part.get("variables") or {},
                )
                for part in components
            ),
            tuple(variable.get("type") or "text" for variable in source.get("variables") or ()),
            source.get("namespace") or "",
        )


@dataclass(frozen=True, slots=True)
class Template(_Named):
    """A message template that channels have approved."""

    translations: Sequence[TemplateTranslation] = ()

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one template with its translations."""
        translations = tuple(TemplateTranslation.from_json(item) for item in source.get("translations") or ())
        return cls(source["uuid"], source["name"], translations)


A = TypeVar("A", bound=Asset)


class Kind(Generic[A]):
    """A kind of assets: `name` is used in references, `plural` in lists of assets, `identity` is the property that
    identifies one. `is_early` kinds are only used by flows before version 14. Imported flows refer to the assets of
    this workspace with the same UUID or name, unless the kind is the same on all servers: it is identified by key or
    `is_everywhere`.
    """

    def __init__(self, record: type[A], *, is_early: bool = False, is_everywhere: bool = False) -> None:
        self.record = record
        self.name = record.__name__.lower()
        self.identity = list_fields(record)[0].name
        self.is_early = is_early
        self.is_relinked = self.identity == "uuid" and not is_everywhere

    def __set_name__(self, owner: type, plural: str) -> None:
        self.plural = plural

    @overload
    def __get__(self, owner: None, kind: type) -> "Kind[A]": ...
    @overload
    def __get__(self, owner: object, kind: type) -> Mapping[str, A]: ...

    def __get__(self, owner: object | None, kind: type) -> "Kind[A] | Mapping[str, A]":
        """The kind itself, on the class; on an `AssetLists`, the assets of the kind by their identity."""
        return self


class AssetLists:
    """The assets of a workspace by kind. Flows and places are read elsewhere."""

    campaigns = Kind(Campaign)
    channels = Kind(Channel)
    classifiers = Kind(Classifier, is_early=True)
    fields = Kind(Field)
    globals = Kind(Global)
    groups = Kind(Group)
    labels = Kind(Label)
    llms = Kind(Llm)
    optins = Kind(Optin, is_early=True)
    resthooks = Kind(Resthook)
    templates = Kind(Template)
    ticketers = Kind(Ticketer, is_early=True)
    topics = Kind(Topic)
    users = Kind(User, is_everywhere=True)

    def __init__(self, lists: Mapping[str, Iterable[Asset]]) -> None:
        """`lists` are keyed by the plural of their kind; missing ones are empty."""
        for kind in KINDS.values():
            given = lists.get(kind.plural, ())
            self.__dict__[kind.plural] = {getattr(each, kind.identity): each for each in given}


KINDS: dict[str, Kind[Any]] = {kind.name: kind for kind in vars(AssetLists).values() if isinstance(kind, Kind)}
"""By the name that references have for them."""

FLOW = "flow"


def is_early(kind: str) -> bool:
    """Whether current flows no longer use assets of this kind."""
    return kind in KINDS and KINDS[kind].is_early


def is_relinked(kind: str) -> bool:
    """Whether references of this kind in imported flows are resolved in this workspace."""
    return kind == FLOW or (kind in KINDS and KINDS[kind].is_relinked)


def identity_of(kind: str) -> str:
    """The property of a reference that identifies the asset."""
    return KINDS[kind].identity if kind in KINDS else "uuid"
