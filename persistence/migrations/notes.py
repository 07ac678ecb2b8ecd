"""What a revision says of the programs that are older than it."""

from alembic.script import Script


def works_for(revision: Script) -> str:
    """The oldest revision that a program must know to work on this one: its own, unless its file says `works_for`."""
    return str(getattr(revision.module, "works_for", revision.revision))
