"""What was for one person alone: broadcasts and starts that chose nobody else."""

from sqlalchemy import ColumnElement, and_, select

from persistence.audience_tables import AudienceTables
from persistence.rights.needles import Person


def is_for_nobody_else(audience: AudienceTables, person: Person) -> ColumnElement[bool]:
    """The condition on broadcasts or starts that chose this person alone."""
    thing, to, groups = audience.thing.c, audience.contacts.c, audience.groups.c
    chosen = (to.workspace_id == person.workspace_id) & (to[audience.link] == thing.id)
    grouped = (groups.workspace_id == person.workspace_id) & (groups[audience.link] == thing.id) & ~groups.is_excluded
    return and_(
        thing.workspace_id == person.workspace_id,
        thing.query.is_(None),
        select(to.contact_id).where(chosen, to.contact_id == person.contact_id).exists(),
        ~select(to.contact_id).where(chosen, to.contact_id != person.contact_id).exists(),
        ~select(groups.group_id).where(grouped).exists(),
    )
