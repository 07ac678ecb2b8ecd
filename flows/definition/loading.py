"""Loads definitions of any version: migrates and checks them."""

from collections.abc import Mapping
from typing import Any

from flows.definition.derived_uuids import NewUuid
from flows.definition.errors import DefinitionError
from flows.definition.localization import FIRST_WITH_LIMITS, cut_translations
from flows.definition.migrating import migrate
from flows.definition.model import Flow
from flows.definition.reading import read_flow
from flows.definition.relinking import Resolve, relink
from flows.definition.versions import read_version


def load(
    definition: Mapping[str, Any],
    *,
    to: str | None = None,
    new_uuid: NewUuid | None = None,
    media_url: str = "",
    resolve: Resolve | None = None,
    is_own: bool = False,
) -> Flow:
    """The flow of a definition of any version, in version `to` or the newest one; see `migrate`.

    In flows before version 14, translations beyond today's limits are cut. With `resolve` the references are changed,
    see `relink`. Raises DefinitionError, which names flow, node, action and field. The given definition is not changed
    unless the caller gives it away (`is_own`); `Flow.raw` is the migrated one.

    >>> load({"uuid": "50c3706e-fedb-42c0-8eab-dda3335714b7", "name": "Ask", "spec_version": "14.4.2",
    ...       "language": "eng", "type": "messaging", "nodes": []}).name
    'Ask'
    """
    migrated = migrate(definition, to=to, new_uuid=new_uuid, media_url=media_url, is_own=is_own)
    if resolve is not None:
        relink(migrated, resolve)
    if _is_unlimited(definition):
        cut_translations(migrated)
    return read_flow(migrated)


def _is_unlimited(definition: Mapping[str, Any]) -> bool:
    try:
        return read_version(definition.get("spec_version")) < FIRST_WITH_LIMITS
    except DefinitionError:
        # The property for the version had another name before 13, and the oldest definitions have none.
        return True
