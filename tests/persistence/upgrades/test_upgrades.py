"""A database filled at any released revision comes to the newest with all its data."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

from persistence.database import Database
from persistence.migrations import list_revisions, newest_revision, upgrade
from tests.persistence.upgrades.rows import RELEASED, fingerprint, insert_rows, read_release, read_rows

ROOT = Path(__file__).parents[3]
RELEASE = re.compile(r"^## \[\d[^\]]*\].*?^Revision of the schema: (\d{4})\.$", re.MULTILINE | re.DOTALL)
REVISIONS = sorted(path.stem for path in RELEASED.glob("*.json"))
CHANGED: dict[str, set[tuple[str, str]]] = {}
"""By revision, the (table, column) whose values it changes or takes away, which has a test of its own."""


@pytest.mark.parametrize("revision", REVISIONS)
def test_all_data_of_a_release_is_there_after_the_upgrade(empty_database: Database, revision: str) -> None:
    before = read_release(revision)["rows"]
    upgrade(empty_database.engine, revision)
    insert_rows(empty_database.engine, before)

    upgrade(empty_database.engine)

    after = read_rows(empty_database.engine)
    later = [each for each in list_revisions() if each > revision]
    changed = set().union(*(CHANGED.get(each, set()) for each in later))
    for table, rows in before.items():
        kept = {name for name in rows[0] if (table, name) not in changed} if rows else set()
        found = [{name: row[name] for name in kept} for row in after[table]]
        assert found == [{name: row[name] for name in kept} for row in rows], table


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_release_has_rows_in_every_table(revision: str) -> None:
    assert [table for table, rows in read_release(revision)["rows"].items() if not rows] == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_released_revision_never_changes(revision: str) -> None:
    assert read_release(revision)["fingerprint"] == fingerprint(revision)


def test_each_release_names_its_revision_and_keeps_rows_of_it() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(
        r"^## \[\d[^\]]*\].*?^Revision of the schema: (\d{4})\.$", changelog, re.MULTILINE | re.DOTALL
    )

    assert sorted(set(released)) == REVISIONS
    assert set(REVISIONS) <= set(list_revisions())
    assert newest_revision() >= REVISIONS[-1]


def test_the_program_has_the_version_that_was_released_last_or_is_on_the_way_to_the_next() -> None:
    versions = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    version, released = Version(project["version"]), Version(versions[0])
    assert version == released or (version.is_devrelease and version > released)
