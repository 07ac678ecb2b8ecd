"""What a broadcast would do, before it is sent: how many people get it, and what one of them would read."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, func, select, union

from flows.segments import measure
from persistence.audience import check_audience, find_groups
from persistence.broadcasts.form import check_query, read_wording
from persistence.broadcasts.personal_texts import Writer
from persistence.contacts.addresses import read_recipients
from persistence.contacts.finding import find_contacts
from persistence.contacts.owners import find_owners
from persistence.database import Transaction
from persistence.sessions.contacts import CONTACT_COLUMNS, ContactRow
from persistence.tables.contacts import ACTIVE, contact, group_membership
from persistence.workspaces import Workspace

MOST_COUNTED = 100_000


def preview(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> dict[str, Any]:
    """The number of recipients of a request for a broadcast, the length of its texts, and the message to one contact.
    Nothing is stored. Raises InvalidInput.
    """
    wording = read_wording(tx, workspace, body)
    count = _count_recipients(tx, workspace, body)
    lengths = {language: measure(text) for language, text in wording.text.items()}
    base = lengths[wording.base_language].segments
    found: dict[str, Any] = {
        "recipients": min(count, MOST_COUNTED),
        "is_exact": count <= MOST_COUNTED,
        "segments": {language: length.segments for language, length in lengths.items()},
        "total_segments": min(count, MOST_COUNTED) * base,
        "message": None,
    }
    if body.get("contact"):
        (contact_id,) = find_contacts(tx, workspace, [body["contact"]], field="contact")
        mine = (contact.c.workspace_id == workspace.id) & (contact.c.id == contact_id)
        row = ContactRow(*tx.execute(select(*CONTACT_COLUMNS).where(mine)).one())
        drafts = Writer(tx, workspace, wording, [row]).write()
        if drafts:
            length = measure(drafts[0].text)
            found["message"] = {
                "text": drafts[0].text,
                "attachments": [dict(each) for each in drafts[0].attachments],
                "quick_replies": [dict(each) for each in drafts[0].quick_replies],
                "encoding": length.encoding,
                "characters": length.characters,
                "segments": length.segments,
            }
    return found


def _count_recipients(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """How many contacts would get the broadcast, counted up to one more than is told; URNs without an owner count."""
    check_audience(body, allows_query=True)
    urns = read_recipients(tx, workspace, body.get("urns") or [])
    owners = find_owners(tx, workspace.id, urns)
    named = [*find_contacts(tx, workspace, body.get("contacts") or []), *(each.contact_id for each in owners.values())]
    exists = (contact.c.workspace_id == workspace.id) & ~contact.c.is_deleted
    sources: list[Select[int]] = [select(contact.c.id).where(exists, contact.c.id.in_(named))]
    members = select(contact.c.id).join(group_membership, group_membership.c.contact_id == contact.c.id)
    sources += [
        members.where(exists, contact.c.status == ACTIVE, group_membership.c.group_id == group_id)
        for group_id in find_groups(tx, workspace.id, body.get("groups") or [])
    ]
    if body.get("query"):
        matches = check_query(tx, workspace, body["query"])
        sources.append(select(contact.c.id).where(matches, contact.c.status == ACTIVE))
    some = select(union(*sources).subquery().c.id).limit(MOST_COUNTED + 1).subquery()
    known = tx.execute(select(func.count()).select_from(some)).scalar_one()
    return known + len({urn.identity for urn in urns} - owners.keys())
