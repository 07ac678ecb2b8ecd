"""The program one version later: the same files with one more revision of the schema."""

from pathlib import Path

from persistence.migrations import newest_revision
from tests.documentation import ROOT

PACKAGES = ("openapi", "handlers", "worker", "channels", "flows", "relayboard")
REVISION = "9999"
FILE = '''"""What the next version adds."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.large_tables import add_index

revision = "{revision}"
down_revision = "{before}"
works_for = "{works_for}"


def upgrade() -> None:
    op.add_column("contact", sa.Column("nickname", sa.Text(), nullable=True))
    {also}
    add_index("ix_contact_nickname", "contact", ["nickname"])


def downgrade() -> None:
    op.drop_index("ix_contact_nickname", "contact")
    op.drop_column("contact", "nickname")
'''


def make_next_version(folder: Path, *, works_for_older: bool, also: str = "") -> Path:
    """A folder that comes first on PYTHONPATH; `also` is one more line of the revision, which may use `op`."""
    _link(ROOT, folder, PACKAGES)
    _link(ROOT / "persistence", folder / "persistence", leaving=("migrations",))
    _link(ROOT / "persistence" / "migrations", folder / "persistence" / "migrations", leaving=("versions",))
    versions = folder / "persistence" / "migrations" / "versions"
    _link(ROOT / "persistence" / "migrations" / "versions", versions)
    before = newest_revision()
    works_for = before if works_for_older else REVISION
    text = FILE.format(revision=REVISION, before=before, works_for=works_for, also=also)
    (versions / f"{REVISION}_next.py").write_text(text)
    return folder


def _link(source: Path, folder: Path, names: tuple[str, ...] | None = None, leaving: tuple[str, ...] = ()) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for each in names or [entry.name for entry in source.iterdir()]:
        if each != "__pycache__" and each not in leaving:
            (folder / each).symlink_to(source / each)
