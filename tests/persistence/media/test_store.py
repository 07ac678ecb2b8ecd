"""A media store in a folder."""

from pathlib import Path

import pytest

from persistence.media.store import FolderStore

NAMES = ("picture.png", "private/exports/people.csv", ".hidden/picture.png", "picture.png.unfinished")


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    made = FolderStore(f"file://{tmp_path / 'media'}")
    for name in NAMES:
        with made.writing(name) as file:
            file.write(b"leaf")
    return made


def test_a_list_since_a_moment_leaves_out_what_did_not_change_since(store: FolderStore) -> None:
    changed = max((store.folder / name).stat().st_ctime for name in NAMES)

    assert sorted(store.list_names(changed_since=changed + 0.001)) == []
    assert sorted(store.list_names(changed_since=changed - 60)) == sorted(store.list_names())
