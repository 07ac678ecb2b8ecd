"""Packages can be passed over while others are loaded, and be loaded afterwards."""

import os
import sys

import pytest

from relayboard.base.optional_packages import passing_over
from testbed.forked import fork
from tests.relayboard.loaded import count_loaded, load_afterwards


def test_a_package_that_is_passed_over_cannot_be_imported_until_the_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with passing_over("colorsys"), pytest.raises(ImportError):
        __import__("colorsys")
    assert __import__("colorsys").__name__ == "colorsys"


def test_a_package_that_is_loaded_already_stays() -> None:
    with passing_over("json"):
        assert __import__("json").__name__ == "json"


def test_the_handlers_are_loaded_without_what_connexion_does_not_need() -> None:
    assert fork(count_loaded, "flask", "rich", environment=os.environ).wait() == 0
    assert fork(count_loaded, "handlers.app", environment=os.environ).wait() == 1
    assert fork(load_afterwards, "flask", "httpx", "rich.console", environment=os.environ).wait() == 0
