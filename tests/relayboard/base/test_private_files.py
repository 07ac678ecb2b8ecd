"""Files with personal data, and who may read them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from relayboard.base.private_files import open_private


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_only_the_owner_may_read_a_file_that_is_made(tmp_path: Path) -> None:
    with open_private(tmp_path / "copy.zip") as file:
        file.write(b"Ann")

    assert ((tmp_path / "copy.zip").read_bytes(), mode(tmp_path / "copy.zip")) == (b"Ann", 0o600)


def test_a_file_that_is_there_is_emptied_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "copy.zip"
    path.write_bytes(b"somebody else")
    path.chmod(0o640)

    with open_private(path) as file:
        file.write(b"Ann")

    assert (path.read_bytes(), mode(path)) == (b"Ann", 0o640)


def test_no_folder_is_made_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_private(tmp_path / "elsewhere" / "copy.zip")

    assert not (tmp_path / "elsewhere").exists()
