"""Messages that webhook receivers send by answering an event."""

from collections.abc import Sequence

from sqlalchemy import select

from flows.urns import parse
from persistence.contact_urns import ensure_owners
from persistence.contacts import contact
from persistence.database import Transaction
from persistence.outgoing import Draft, create_outgoing


def send_event_reply(
    tx: Transaction,
    workspace_id: int,
    text: str,
    *,
    urns: Sequence[str],
    contact_uuids: Sequence[str],
    event_contact_id: int | None,
    channel_id: int | None,
) -> list[int]:
    """Sends a text to URNs (normalized; new contacts are made for those nobody owns) and contacts; the message ids.

    With neither it goes to the contact of the event. The channel is that of the event. Nothing is sent, and no contact
    made, when one of the contacts does not exist. A rival that creates the same contact makes this raise
    IntegrityError: run it by `Database.write`.
    """
    named = _find_contacts(tx, workspace_id, contact_uuids, event_contact_id if not urns else None)
    if named is None:
        return []
    owners = ensure_owners(tx, workspace_id, [parse(urn) for urn in urns], channel_id=channel_id)
    recipients = dict.fromkeys([*named, *(owner.contact_id for owner in owners.values())])
    drafts = [Draft(contact_id, text) for contact_id in recipients]
    return create_outgoing(tx, workspace_id, drafts, channel_id=channel_id)


def _find_contacts(
    tx: Transaction, workspace_id: int, uuids: Sequence[str], default_id: int | None
) -> list[int] | None:
    """The contacts of these UUIDs, or without any the default one; None when one of them does not exist."""
    if not uuids and default_id is None:
        return []
    wanted = contact.c.uuid.in_(uuids) if uuids else contact.c.id == default_id
    statement = select(contact.c.id).where(contact.c.workspace_id == workspace_id, ~contact.c.is_deleted, wanted)
    found = list(tx.execute(statement.order_by(contact.c.id)).scalars())
    return found if len(found) == (len(uuids) or 1) else None
