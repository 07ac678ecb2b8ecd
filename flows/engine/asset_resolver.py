"""Lets queries find the fields, groups and flows of a workspace's assets."""

from dataclasses import dataclass
from typing import cast

from flows.engine.assets import Assets
from flows.queries import FieldReference, NamedReference
from flows.queries.properties import ValueType


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
