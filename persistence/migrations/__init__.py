"""The schema's revisions (Alembic), run from code: `upgrade`, `downgrade`, `current_revision`."""

import functools
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

FOLDER = Path(__file__).parent
HEAD, BASE = "head", "base"


class MigrationError(Exception):
    """The schema cannot be brought where it was wanted; the message says why."""


def configuration(engine: Engine) -> Config:
    """Alembic's settings for one engine; no ini file is needed."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    config.attributes["engine"] = engine
    return config


@functools.cache
def list_revisions() -> tuple[str, ...]:
    """The names of all revisions, oldest first."""
    found = ScriptDirectory(str(FOLDER)).walk_revisions()
    return tuple(each.revision for each in found)[::-1]


def upgrade(engine: Engine, revision: str = HEAD) -> None:
    """Bring the schema up to a revision; safe when several processes start at once. Raises MigrationError."""
    present = _check_known(engine, revision)
    if present != list_revisions()[-1]:
        command.upgrade(configuration(engine), revision)


def downgrade(engine: Engine, revision: str = BASE) -> None:
    """Take the schema back to a revision. Raises MigrationError."""
    _check_known(engine, revision)
    command.downgrade(configuration(engine), revision)


def move_to(engine: Engine, revision: str) -> str | None:
    """Bring the schema up or back to a revision; the one it then has. Raises MigrationError."""
    before = current_revision(engine)
    goes_back = revision == BASE or (before is not None and revision != HEAD and revision < before)
    (downgrade if goes_back else upgrade)(engine, revision)
    return current_revision(engine)


def _check_known(engine: Engine, revision: str) -> str | None:
    known = list_revisions()
    if revision not in (HEAD, BASE, *known):
        raise MigrationError(f"there is no migration {revision!r}; there are {BASE}, {', '.join(known)} and {HEAD}")
    present = current_revision(engine)
    if present is not None and present not in known:
        raise MigrationError(
            f"the database is at migration {present}, which this version does not know: a newer one made it"
        )
    return present


def current_revision(engine: Engine) -> str | None:
    """The revision the database is at; None for an empty one."""
    with engine.connect() as connection:
        return revision_on(connection)


def revision_on(connection: Connection) -> str | None:
    """The same, on a connection that is there already."""
    return MigrationContext.configure(connection).get_current_revision()


def write_revision(engine: Engine, message: str, revision: str) -> None:
    """Write a revision with the difference between the tables in code and a database at the newest revision."""
    command.revision(configuration(engine), message=message, autogenerate=True, rev_id=revision)
