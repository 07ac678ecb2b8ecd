import json
from functools import partial

import pytest

from tests.boundary_files import RWANDA


@pytest.fixture
def run(command):
    return partial(command, "boundaries")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rwanda.geojson"
    path.write_text(json.dumps(RWANDA), encoding="utf-8")
    return str(path)


def test_a_file_is_imported(run, file):
    assert run("import", file) == (0, {"imported": 5})
    assert run("import", file) == (0, {"imported": 5})


@pytest.mark.parametrize("content", [None, b"{", b"[]", b'{"features": [{}]}'])
def test_a_file_that_cannot_be_used_is_refused(run, tmp_path, content):
    path = tmp_path / "broken.geojson"
    if content is not None:
        path.write_bytes(content)

    assert run("import", str(path)) == (1, None)


def test_no_more_of_a_file_is_read_than_it_may_have(command, run, tmp_path):
    many = tmp_path / "many.geojson"
    many.write_bytes(b"[" + b"[]," * 4_000_000 + b"[]]")

    for path, sentence in (("/dev/zero", "more than 64 MiB"), (str(many), "more than 8,000,000 values")):
        assert run("import", path) == (1, None)
        assert sentence in command.complaint


def test_aliases_are_added_and_removed_in_any_case(run, file, workspace):
    run("import", file)
    boundary = ("alias", "--workspace", workspace.uuid, "--boundary", "R2", "--name")

    run(*boundary, "Umujyi")

    assert run(*boundary, "KGL") == (0, {"osm_id": "R2", "aliases": ["KGL", "Umujyi"]})
    assert run(*boundary, "kgl", "--remove") == (0, {"osm_id": "R2", "aliases": ["Umujyi"]})
    assert run(*boundary, "kgl", "--remove") == (1, None)


def test_boundaries_of_other_countries_have_no_alias(run, file, other_workspace):
    run("import", file)

    assert run("alias", "--workspace", other_workspace.uuid, "--boundary", "R2", "--name", "KGL") == (1, None)
