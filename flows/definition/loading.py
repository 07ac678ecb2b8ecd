"""Loading definitions of any version: brought to the version that is run, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.definition.derived_uuids import NewUuid
from flows.definition.migrating import migrate
from flows.definition.model import Flow
from flows.definition.reading import read_flow


def load(
    definition: Mapping[str, Any], *, to: str | None = None, new_uuid: NewUuid | None = None, media_url: str = ""
) -> Flow:
    """The flow of a definition of any version, in version `to` or the newest one; see `migrate`.

    Raises DefinitionError naming flow, node and field. The given definition is not changed; `Flow.raw` is the migrated
    one.
    """
    return read_flow(migrate(definition, to=to, new_uuid=new_uuid, media_url=media_url))
