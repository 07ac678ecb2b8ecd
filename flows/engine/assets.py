"""The assets of a workspace that flows refer to (flow format, words used).

Lets queries find the fields, groups and flows of a workspace's assets.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Self, TypeVar, cast

from flows.asset_kinds import (
    FLOW,
    KINDS,
    Asset,
    AssetLists,
    Campaign,
    Channel,
    Classifier,
    Field,
    Global,
    Group,
    Label,
    Llm,
    Optin,
    Resthook,
    Template,
    TemplateTranslation,
    Ticketer,
    Topic,
    User,
)
from flows.definition import DefinitionError, Flow, load
from flows.engine.errors import AssetsError
from flows.engine.input_schemas import FLOW_TO_READ, PLACE, TEMPLATE_TRANSLATION, Required, Schema, find_mismatch
from flows.places import Place, PlaceError, read_places
from flows.queries import FieldReference, NamedReference
from flows.queries.resolver import ValueType
from flows.words import lower

__all__ = ["Assets", "Campaign", "Channel", "Classifier", "Field", "Global", "Group", "Label", "Llm", "Optin"]


__all__ += ["Resthook", "Template", "TemplateTranslation", "Ticketer", "Topic", "User"]


DEFAULT_TOPIC = "General"
_EARLY_VERSION = "13.2.0"

T = TypeVar("T")


def _schema_of(record: type[Asset]) -> Schema:
    """The schema of a record: strings, lists of strings, flags, and the translations of templates; properties without a
    default are required."""
    items = {"translations": Required(TEMPLATE_TRANSLATION)}
    return {
        each.name: Required(str)
        if each.default is MISSING
        else [items.get(each.name, Required(str))]
        if each.default == ()
        else bool
        if each.default is False
        else str
        for each in fields(record)
    }


class Assets(AssetLists):
    """The assets of a workspace, found by UUID, key, slug or name. They are created once and shared between sessions;
    flows are read and migrated when first used. Nothing changes after that, so threads may share them too.
    """

    def __init__(
        self,
        lists: Mapping[str, Iterable[Asset]] | None = None,
        *,
        flows: Iterable[Flow | Mapping[str, Any]] = (),
        places: Place | None = None,
        generation: int = 14,
    ) -> None:
        """`lists` are by the plural of their kind, like `groups`."""
        super().__init__(lists or {})
        self.generation = generation
        self.places = places
        given = list(flows)
        # Sessions of generation 13 have flows of version 13.
        ready = [item for item in given if isinstance(item, Flow) and generation >= 14]
        self._flows: dict[str, Flow] = {item.uuid: item for item in ready}
        definitions = [item.raw if isinstance(item, Flow) else item for item in given]
        self._definitions = {_definition_uuid(item): item for item in definitions}
        self._senders: dict[str, Sequence[Channel]] = {}

    @classmethod
    def from_json(cls, source: Mapping[str, Any], generation: int = 14) -> Self:
        """Reads a mapping of asset kinds to lists, as the format's tools exchange them; raises AssetsError."""
        schema = _schema_of_all()
        mismatch = find_mismatch(source, Required(schema) if source != {} else schema)
        if mismatch:
            raise AssetsError(f"assets cannot be read: {mismatch} is missing or of another type")
        places = source.get("locations") or []
        try:
            return cls(
                {
                    kind.plural: [kind.record.from_json(item) for item in source.get(kind.plural) or ()]
                    for kind in KINDS.values()
                },
                flows=source.get("flows") or (),
                places=read_places(places[0]) if places else None,
                generation=generation,
            )
        except PlaceError as error:
            raise AssetsError(f"places cannot be read: {error}") from error

    def find_flow(self, uuid: str) -> Flow | None:
        """The flow with a UUID, migrated to the engine's version; None if there is none. Raises DefinitionError."""
        if uuid in self._flows:
            return self._flows[uuid]
        definition = self._definitions.get(uuid)
        if definition is None:
            return None
        flow = load(definition, to=_EARLY_VERSION) if self.generation < 14 else load(definition)
        self._flows[uuid] = flow
        return flow

    def find_readable_flow(self, uuid: str) -> Flow | None:
        """Like find_flow, but a flow that cannot be read counts as missing."""
        try:
            return self.find_flow(uuid)
        except DefinitionError:
            return None

    def knows(self, kind: str, identity: str) -> bool:
        """Whether there is an asset of a kind like `group`, with that UUID or key; flows that cannot be read do not
        count. Users can also be found by e-mail address.
        """
        if kind == FLOW:
            return self.find_readable_flow(identity) is not None
        if kind == "user" and self.find_user_by_email(identity):
            return True
        return kind in KINDS and identity in getattr(self, KINDS[kind].plural)

    def find_senders(self, scheme: str) -> Sequence[Channel]:
        """The channels that can send to URNs of a scheme."""
        found = self._senders.get(scheme)
        if found is None:
            found = [item for item in self.channels.values() if item.can_send and scheme in item.schemes]
            self._senders[scheme] = found
        return found

    def find_llm(self, reference: Mapping[str, Any]) -> Llm | None:
        """The language model that a flow refers to; a host with only one model may return it for all."""
        return self.llms.get(reference.get("uuid", ""))

    def find_group_by_name(self, name: str) -> Group | None:
        """The group of that name, ignoring case."""
        return _find_by_name(self.groups.values(), name, lambda group: group.name)

    def find_label_by_name(self, name: str) -> Label | None:
        """The label of that name, ignoring case."""
        return _find_by_name(self.labels.values(), name, lambda label: label.name)

    def find_user_by_email(self, email: str) -> User | None:
        """The user of that e-mail address, ignoring case."""
        return _find_by_name(self.users.values(), email, lambda user: user.email)

    def find_default_topic(self) -> Topic | None:
        """The topic that tickets have when none is chosen: General, or the first."""
        topics = self.topics.values()
        return _find_by_name(topics, DEFAULT_TOPIC, lambda topic: topic.name) or next(iter(topics), None)

    def find_flow_uuid_by_name(self, name: str) -> str | None:
        """The UUID of the flow of that name, ignoring case; its definition is not read."""
        wanted = lower(name)
        names = ((uuid, _definition_name(definition)) for uuid, definition in self._definitions.items())
        return next((uuid for uuid, known in names if lower(known) == wanted), None)


def _schema_of_all() -> Schema:
    own = {kind.plural: [Required(_schema_of(kind.record))] for kind in KINDS.values()}
    return own | {"flows": [Required(FLOW_TO_READ)], "locations": [Required(PLACE)]}


def _find_by_name(items: Iterable[T], name: str, name_of: Callable[[T], str]) -> T | None:
    wanted = lower(name)
    return next((item for item in items if lower(name_of(item)) == wanted), None)


def _definition_uuid(definition: Mapping[str, Any]) -> str:
    # Definitions before version 13 have their metadata in a separate part.
    return str(definition.get("uuid") or (definition.get("metadata") or {}).get("uuid", ""))


def _definition_name(definition: Mapping[str, Any]) -> str:
    return str(definition.get("name") or (definition.get("metadata") or {}).get("name", ""))


@dataclass(frozen=True, slots=True)
class AssetResolver:
    """Finds the records that queries refer to among assets."""

    assets: Assets

    def find_field(self, key: str) -> FieldReference | None:
        """The field of a key."""
        field = self.assets.fields.get(key)
        return FieldReference(field.key, field.name, cast(ValueType, field.type), field.uuid) if field else None

    def find_group(self, name: str) -> NamedReference | None:
        """The group of a name, ignoring case."""
        group = self.assets.find_group_by_name(name)
        return NamedReference(group.uuid, group.name) if group else None

    def find_flow(self, name: str) -> NamedReference | None:
        """The flow of a name, ignoring case."""
        uuid = self.assets.find_flow_uuid_by_name(name)
        return NamedReference(uuid, name) if uuid else None
