"""The compatibility of a revision with older programs."""

from alembic.script import Script


def works_for(revision: Script) -> str:
    """The oldest revision that a program must know to work with this one: this revision, unless its file has
    `works_for`."""
    return str(getattr(revision.module, "works_for", revision.revision))
