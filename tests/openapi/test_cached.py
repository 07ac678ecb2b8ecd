"""Bundles are kept for the next start, and never used for other sources than theirs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openapi import cached
from openapi.bundle import GENERATIONS, bundle, bundle_root, contract_folder
from openapi.cached import digest_sources, read_cached, write_cached

DOCUMENTS = {"v1": {"paths": {"/b": 1, "/a": [None, 1.5, True, "text"]}}, "v2": {}}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "made" / "bundles.json"


def test_what_was_kept_is_read_in_its_order_and_only_for_the_same_sources(place: Path) -> None:
    assert read_cached(b"one", place) is None
    write_cached(b"one", DOCUMENTS, place)
    assert repr(read_cached(b"one", place)) == repr(DOCUMENTS)
    assert read_cached(b"two", place) is None
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_file_that_was_cut_off_is_passed_over(place: Path) -> None:
    write_cached(b"one", DOCUMENTS, place)
    place.write_bytes(place.read_bytes()[:-1])
    assert read_cached(b"one", place) is None


@pytest.mark.parametrize("document", [{200: "a key that is no text"}, {"since": object()}, {"pair": (1, 2)}])
def test_what_json_would_change_is_not_kept(place: Path, document: dict[str, object]) -> None:
    write_cached(b"one", {"v1": document}, place)
    assert read_cached(b"one", place) is None


def test_nothing_is_written_where_python_writes_no_compiled_modules(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write_cached(b"one", DOCUMENTS, place)
    assert not place.exists()


def test_a_folder_that_cannot_be_written_is_left_alone(place: Path) -> None:
    place.parent.touch()
    write_cached(b"one", DOCUMENTS, place)
    assert read_cached(b"one", place) is None


def test_any_change_of_a_contract_file_or_of_the_code_that_bundles_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "openapi"
    shutil.copytree(contract_folder(), folder)
    monkeypatch.setattr(cached, "HERE", folder)
    found = [digest_sources(folder)]
    assert digest_sources(folder) == found[0]

    schemas = folder / "v2" / "schemas" / "labels.yaml"
    schemas.write_bytes(schemas.read_bytes().replace(b"type", b"tipe", 1))
    found.append(digest_sources(folder))
    schemas.rename(schemas.with_name("tags.yaml"))
    found.append(digest_sources(folder))
    (folder / "v1" / "more.yaml").touch()
    found.append(digest_sources(folder))
    code = folder / "bundle.py"
    code.write_text(code.read_text() + "\n")
    found.append(digest_sources(folder))

    assert len(set(found)) == 5


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_bundles_in_use_are_those_of_the_sources(generation: str) -> None:
    made = bundle_root(contract_folder() / generation / "openapi.yaml")
    assert repr(bundle(generation)) == repr(made)


def test_a_second_start_bundles_nothing(tmp_path: Path) -> None:
    copy = tmp_path / "openapi"
    shutil.copytree(contract_folder(), copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "import openapi.bundle as b; made = []; root = b.bundle_root;"
        "b.bundle_root = lambda path: made.append(path) or root(path);"
        "print(len(b.bundle('v2')['paths']), len(made))"
    )
    command = [sys.executable, "-c", program]
    said = [
        subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert [made for _, made in said] == [str(len(GENERATIONS)), "0"]
    assert said[0][0] == said[1][0] == str(len(bundle("v2")["paths"]))
