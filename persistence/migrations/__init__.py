"""The schema's revisions (Alembic), run from code: `upgrade`, `downgrade`, `current_revision`, `check_schema`. Alembic
is loaded only by what moves a schema: it takes longer to load than most commands to run."""

import functools
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, select, text

from persistence.migrations.part_indexes import taking_turns
from persistence.tables.service import schema_note

if TYPE_CHECKING:
    from alembic.config import Config

logger = logging.getLogger("relayboard.migrations")

FOLDER = Path(__file__).parent
HEAD, BASE = "head", "base"
ENCODING = "UTF8"
PRESENT = text("SELECT version_num FROM alembic_version")


class MigrationError(Exception):
    """The schema cannot be migrated to the requested revision; the message says why."""


class SchemaOlder(MigrationError):
    """The database does not have the schema yet that this program needs."""


class SchemaNewer(MigrationError):
    """A newer program has changed the schema in a way that this one does not support."""


def configuration(connection: Connection) -> "Config":
    """Alembic's configuration for one connection, without an ini file."""
    from alembic.config import Config  # noqa: PLC0415  # see above

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    return config


@functools.cache
def list_revisions() -> tuple[str, ...]:
    """The names of all revisions, oldest first: each is a number, with which the name of its file begins."""
    return tuple(sorted(path.name.partition("_")[0] for path in (FOLDER / "versions").glob("[0-9]*_*.py")))


def newest_revision() -> str:
    """The revision that this program works with."""
    return list_revisions()[-1]


def upgrade(engine: Engine, revision: str = HEAD) -> None:
    """Upgrade the schema to a revision; safe if several processes start at the same time, because they wait for each
    other. Keeps a newer schema if this program supports it. The newest one gets the indexes of searches that the server
    can make. Raises MigrationError.
    """
    _check_encoding(engine)
    _upgrade_tables(engine, revision)
    if current_revision(engine) == newest_revision():
        from persistence.migrations.part_indexes import add_part_indexes  # noqa: PLC0415  # it loads tables

        add_part_indexes(engine)


def _check_encoding(engine: Engine) -> None:
    """PostgreSQL then stores every text, and finds it in lower case."""
    if engine.dialect.name == "postgresql":
        with engine.connect() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != ENCODING:
            raise MigrationError(": ".join(say_encoding(encoding)))


def say_encoding(encoding: str) -> tuple[str, str]:
    """What is wrong with a database of another encoding than UTF-8, and what to do."""
    return (
        f"the database has the encoding {encoding}, in which not every text can be stored",
        "make one with `createdb --template=template0 --encoding=UTF8`, and name that in RELAYBOARD_DATABASE_URL",
    )


def _upgrade_tables(engine: Engine, revision: str) -> None:
    _check_name(revision)
    if _is_done(current_revision(engine), engine):
        return
    with taking_turns(engine) as connection:
        present = revision_on(connection)
        if _is_done(present, engine):  # another process was faster
            return
        from alembic import command  # noqa: PLC0415  # see above

        began = time.monotonic()
        command.upgrade(configuration(connection), revision)
        taken = time.monotonic() - began
    if present is not None:
        logger.info("the schema went from revision %s to %s in %.1f s", present, current_revision(engine), taken)


def _is_done(present: str | None, engine: Engine) -> bool:
    if present is not None and present not in list_revisions():
        check_schema(engine)
        return True
    return present == newest_revision()


def downgrade(engine: Engine, revision: str = BASE) -> None:
    """Downgrade the schema to a revision. Raises MigrationError."""
    from alembic import command  # noqa: PLC0415  # see above

    _check_name(revision)
    with taking_turns(engine) as connection:
        present = revision_on(connection)
        if present is not None and present not in list_revisions():
            raise SchemaNewer(f"only the program that made revision {present} of this database can take it back")
        if connection.dialect.name == "sqlite":
            from persistence.migrations.word_index import drop_words  # noqa: PLC0415  # it loads tables

            drop_words(connection)
        command.downgrade(configuration(connection), revision)


def goes_back(engine: Engine, revision: str) -> bool:
    """Whether migrating to a revision is a downgrade. Raises MigrationError for an unknown one."""
    _check_name(revision)
    present, known = current_revision(engine), list_revisions()
    if present is None or revision == HEAD:
        return False
    return revision == BASE or present not in known or known.index(revision) < known.index(present)


def move_to(engine: Engine, revision: str) -> str | None:
    """Upgrade or downgrade the schema to a revision; returns its new revision. Raises MigrationError."""
    (downgrade if goes_back(engine, revision) else upgrade)(engine, revision)
    return current_revision(engine)


def _check_name(revision: str) -> None:
    known = list_revisions()
    if revision not in (HEAD, BASE, *known):
        raise MigrationError(f"there is no migration {revision!r}; there are {BASE}, {', '.join(known)} and {HEAD}")


def check_schema(engine: Engine) -> None:
    """Raises SchemaOlder or SchemaNewer if this program cannot work with the current schema."""
    present, wanted = current_revision(engine), newest_revision()
    if present == wanted:
        return
    if present is None:
        raise SchemaOlder("the database has no tables yet: run `relayboard migrate`")
    if present in list_revisions():
        raise SchemaOlder(f"the database is at schema {present}, this program needs {wanted}: run `relayboard migrate`")
    if _works_for(engine, present) not in list_revisions():
        raise SchemaNewer(
            f"the database is at schema {present}, which this program does not know (it knows {wanted}): a newer "
            "version of Relayboard made it, so start that one"
        )


def _works_for(engine: Engine, revision: str) -> str | None:
    noted = select(schema_note.c.works_for).where(schema_note.c.revision == revision)
    with engine.connect() as connection:
        return connection.execute(noted).scalar()


def current_revision(engine: Engine) -> str | None:
    """The revision of the database; None for an empty one."""
    with engine.connect() as connection:
        return revision_on(connection)


def revision_on(connection: Connection) -> str | None:
    """The same for an open connection; a transaction that this begins is ended."""
    in_transaction = connection.in_transaction()
    is_made = inspect(connection).has_table("alembic_version")
    revision = connection.execute(PRESENT).scalar() if is_made else None
    if not in_transaction:
        connection.rollback()
    return revision
