"""The schema's revisions (Alembic), run from code: `upgrade`, `downgrade`, `current_revision`."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine

FOLDER = Path(__file__).parent


def configuration(engine: Engine) -> Config:
    """Alembic's settings for one engine; no ini file is needed."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    config.attributes["engine"] = engine
    return config


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema up to a revision; safe when several processes start at once."""
    command.upgrade(configuration(engine), revision)


def downgrade(engine: Engine, revision: str = "base") -> None:
    command.downgrade(configuration(engine), revision)


def current_revision(engine: Engine) -> str | None:
    """The revision the database is at; None for an empty one."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def write_revision(engine: Engine, message: str, revision: str) -> None:
    """Write a revision with the difference between the tables in code and a database at the newest revision."""
    command.revision(configuration(engine), message=message, autogenerate=True, rev_id=revision)
