"""Files with personal data, and who may read them."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from relayboard.base.private_files import ABANDONED_SECONDS, open_private, writing_private


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


def test_a_file_has_its_name_when_everything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    with writing_private(path) as file:
        file.write(b"Ann")
        assert not path.exists()

    assert (path.read_bytes(), mode(path), list(tmp_path.iterdir())) == (b"Ann", 0o600, [path])


def interrupt(path: Path) -> None:
    with writing_private(path) as file:
        file.write(b"Ann")
        raise KeyboardInterrupt


@pytest.mark.parametrize("before", [None, b"yesterday"])
def test_what_is_interrupted_leaves_what_was_there(tmp_path: Path, before: bytes | None) -> None:
    path = tmp_path / "people.csv"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(KeyboardInterrupt):
        interrupt(path)

    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([] if before is None else [before])


def test_a_file_that_is_replaced_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    path, link = tmp_path / "people.csv", tmp_path / "latest.csv"
    path.write_bytes(b"yesterday")
    path.chmod(0o640)
    link.symlink_to(path)
    with writing_private(link) as file:
        file.write(b"Ann")

    assert (path.read_bytes(), mode(path), link.is_symlink()) == (b"Ann", 0o640, True)


def test_what_is_no_file_is_written_to_directly() -> None:
    with writing_private(Path("/dev/null")) as file:
        file.write(b"Ann")

    assert Path("/dev/null").is_char_device()


def test_drafts_of_killed_runs_go_after_a_day(tmp_path: Path) -> None:
    old, young = (tmp_path / f"people.csv.{digit * 32}.part" for digit in "ab")
    for each in (old, young):
        each.write_bytes(b"half")
    long_ago = time.time() - ABANDONED_SECONDS - 1
    os.utime(old, (long_ago, long_ago))
    with writing_private(tmp_path / "people.csv"):
        assert (old.exists(), young.exists()) == (False, True)


def test_no_folder_is_made_for_a_draft_either(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), writing_private(tmp_path / "elsewhere" / "copy.zip"):
        pass

    assert not (tmp_path / "elsewhere").exists()
