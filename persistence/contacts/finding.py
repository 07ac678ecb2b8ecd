"""Finds the contacts that a request or a command names."""

from collections.abc import Sequence

from sqlalchemy import select

from persistence.contacts.addresses import HIDDEN, find_urns
from persistence.contacts.owners import hold_owners, is_one_of
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.sql.columns import is_uuid
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.names import must_exist
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces import Workspace

MOST_CALLED = 5
_FINDING = Fixed(
    lambda _is_sqlite: select(contact.c.uuid, contact.c.id).where(
        contact.c.workspace_id == param("owner"), among(contact.c.uuid, "uuids", "UUID"), ~contact.c.is_deleted
    )
)


def find_contact(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of a contact that is not deleted."""
    found: dict[str, int] = dict(_FINDING.rows(tx, {"owner": workspace_id, "uuids": [uuid.lower()]}))
    return next(iter(found.values()), None)


def find_contacts(
    tx: Transaction, workspace: Workspace, references: Sequence[str], *, field: str = "contacts"
) -> list[int]:
    """The ids of contacts given by UUID or URN, without repeats; contacts given by URN are locked, because URNs can
    move. Raises InvalidInput for the first one that is not found; deleted contacts are not found. In an anonymous
    workspace URNs are not allowed: the response would tell whose they are.
    """
    uuids = {reference.lower() for reference in references if is_uuid(reference)}
    urns = find_urns(tx, workspace, [reference for reference in references if not is_uuid(reference)])
    found: dict[str, int] = {}
    if uuids:
        found = dict(_FINDING.rows(tx, {"owner": workspace.id, "uuids": sorted(uuids)}))
    wanted = list(urns.values())
    if wanted and workspace.is_anonymous:
        raise InvalidInput.on(field, HIDDEN)
    if wanted:
        owners = hold_owners(tx, workspace.id, wanted, list(found.values()))
        found |= {identity: owner.contact_id for identity, owner in owners.items()}
    ids = []
    for reference in references:
        urn = urns.get(reference)
        ids.append(must_exist(found.get(urn.identity if urn is not None else reference.lower()), field, reference))
    return list(dict.fromkeys(ids))


def find_contacts_called(tx: Transaction, workspace: Workspace, text: str) -> list[str]:
    """The UUIDs of contacts with this URN, phone number with its country code, or name. In an anonymous workspace URNs
    find nobody.
    """
    address = f"tel:{text}" if text.startswith("+") else text
    urns = [] if workspace.is_anonymous else list(find_urns(tx, workspace, [address]).values())
    rows = contact_urn.c
    owners = select(rows.contact_id).where(rows.workspace_id == workspace.id, is_one_of(urns)) if urns else None
    is_it = contact.c.name == text if owners is None else contact.c.id.in_(owners)
    mine = (contact.c.workspace_id == workspace.id) & ~contact.c.is_deleted & is_it
    return list(tx.execute(select(contact.c.uuid).where(mine).order_by(contact.c.id).limit(MOST_CALLED)).scalars())
