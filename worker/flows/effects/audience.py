from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from flows.engine import Event
from flows.urns import Urn, UrnError, parse
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.tables.contacts import contact, group
from persistence.workspaces import Workspace


def find_ids(tx: Transaction, workspace_id: int, table: Any, references: Iterable[Mapping[str, str]]) -> dict[str, int]:
    """The row ids of references by uuid; what no longer exists is left out."""
    uuids = sorted({str(each["uuid"]) for each in references})
    if not uuids:
        return {}
    mine = (table.c.workspace_id == workspace_id) & table.c.uuid.in_(uuids)
    return {uuid: row_id for uuid, row_id in tx.execute(select(table.c.uuid, table.c.id).where(mine))}


@dataclass(frozen=True, slots=True)
class Audience:
    """Whom a flow's broadcast or start is for; `address_ids` own the `urns`."""

    contact_ids: list[int]
    group_ids: list[int]
    urns: list[Urn]
    address_ids: list[int]


def find_audience(tx: Transaction, workspace: Workspace, event: Event) -> Audience:
    """The contacts, groups and addresses of an event that still exist; contacts are made for new addresses."""
    urns = [urn for text in event.get("urns") or () if (urn := _read_urn(text)) is not None]
    owners = ensure_owners(tx, workspace.id, urns)
    return Audience(
        sorted(find_ids(tx, workspace.id, contact, event.get("contacts") or ()).values()),
        sorted(find_ids(tx, workspace.id, group, event.get("groups") or ()).values()),
        urns,
        [owners[urn.identity].contact_id for urn in urns],
    )


def _read_urn(text: str) -> Urn | None:
    try:
        return parse(text)
    except UrnError:
        return None
