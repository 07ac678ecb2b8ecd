"""Workers load the modules of tests in shares before they collect them."""

import sys
from pathlib import Path

import pytest

from tests.ahead import load_share

NAMES = ("test_one", "test_two", "test_three")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with three modules of tests in a package that is not ours."""
    package = tmp_path / "tests"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in NAMES:
        (package / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def test_the_shares_of_all_workers_are_all_modules(root: Path) -> None:
    shares = [load_share(root, worker, 2) for worker in range(2)]

    assert shares == [["tests.test_one", "tests.test_two"], ["tests.test_three"]]
    assert all(f"tests.{name}" in sys.modules for name in NAMES)


def test_a_module_that_cannot_be_loaded_is_left_to_collecting(root: Path) -> None:
    (root / "tests" / "test_three.py").write_text("raise ValueError")

    assert load_share(root, 0, 1) == ["tests.test_one"]
