"""The kinds of assets (flow format, words used)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

SEND_ROLE = "send"


@dataclass(frozen=True, slots=True)
class _Named:
    uuid: str
    name: str

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one asset; what it does not say is empty."""
        others = {each.name: source.get(each.name) or each.default for each in fields(cls)[2:]}
        return cls(source["uuid"], source["name"], **others)

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
    """Something a contact may agree to receive."""


@dataclass(frozen=True, slots=True)
class Topic(_Named):
    """A topic of tickets."""


@dataclass(frozen=True, slots=True)
class Ticketer(_Named):
    """A ticketing service (13 only)."""


@dataclass(frozen=True, slots=True)
class User(_Named):
    """A member of the workspace; the UUID may be empty in 13, where users go by their e-mail address."""

    email: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads uuid, name and email."""
        email = source.get("email") or ""
        return cls(source.get("uuid") or email, source.get("name") or "", email)


@dataclass(frozen=True, slots=True)
class Channel(_Named):
    """A channel. `match_prefixes` are the beginnings of numbers it is preferred for."""

    address: str = ""
    schemes: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    country: str = ""
    match_prefixes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one channel."""
        texts = {name: tuple(source.get(name) or ()) for name in ("schemes", "roles", "match_prefixes")}
        return cls(
            source["uuid"], source["name"], source.get("address") or "", country=source.get("country") or "", **texts
        )

    @property
    def can_send(self) -> bool:
        """Whether messages can be sent through it."""
        return SEND_ROLE in self.roles


@dataclass(frozen=True, slots=True)
class Classifier(_Named):
    """A service that finds intents in texts (13 only)."""

    type: str = ""
    intents: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one classifier."""
        return cls(source["uuid"], source["name"], source.get("type") or "", tuple(source.get("intents") or ()))


@dataclass(frozen=True, slots=True)
class Llm(_Named):
    """A language model."""

    type: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of contacts; types are text, number, datetime, state, district and ward."""

    key: str
    name: str
    type: str = "text"
    uuid: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one field."""
        return cls(source["key"], source["name"], source.get("type") or "text", source.get("uuid") or "")

    @property
    def reference(self) -> dict[str, str]:
        """Key and name."""
        return {"key": self.key, "name": self.name}


@dataclass(frozen=True, slots=True)
class Global:
    """A text that all flows of the workspace can use."""

    key: str
    name: str
    value: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one global."""
        return cls(source["key"], source.get("name") or "", source.get("value") or "")


@dataclass(frozen=True, slots=True)
class Group(_Named):
    """A group of contacts; with a query, its members are those the query finds."""

    query: str = ""

    @property
    def is_smart(self) -> bool:
        """Whether a query decides who is in it."""
        return bool(self.query)


@dataclass(frozen=True, slots=True)
class Resthook:
    """An event that other systems subscribe to with addresses to call."""

    slug: str
    subscribers: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads one resthook."""
        return cls(source["slug"], tuple(source.get("subscribers") or ()))


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
        """Reads one template."""
        translations = tuple(TemplateTranslation.from_json(item) for item in source.get("translations") or ())
        return cls(source["uuid"], source["name"], translations)


ASSET_TYPES: Mapping[str, Any] = {
    "campaigns": Campaign,
    "channels": Channel,
    "classifiers": Classifier,
    "fields": Field,
    "globals": Global,
    "groups": Group,
    "labels": Label,
    "llms": Llm,
    "optins": Optin,
    "resthooks": Resthook,
    "templates": Template,
    "ticketers": Ticketer,
    "topics": Topic,
    "users": User,
}
"""By their names in assets as JSON; flows and places are read elsewhere."""
