"""A test of many cases names each that breaks its rule."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.each_case import holds_for_each

ROOT = Path(__file__).parents[1]


def test_every_case_that_breaks_a_rule_is_named_with_what_is_wrong() -> None:
    @holds_for_each([2, 3, 4, 5, 0])
    def numbers_are_even(number: int) -> None:
        assert 12 / number
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError) as raised:
        numbers_are_even()

    said = str(raised.value)
    assert said.startswith("3 of 5 cases:")
    assert "\n\n3: AssertionError in line 20: odd" in said and "\n\n5: AssertionError in line 20: odd" in said
    assert "\n\n0: ZeroDivisionError in line 19: division by zero" in said
    assert "\n\n2: " not in said and "\n\n4: " not in said


def test_a_rule_that_holds_passes_and_one_without_cases_fails() -> None:
    seen: list[int] = []

    holds_for_each([1, 2])(seen.append)()

    assert seen == [1, 2]
    with pytest.raises(AssertionError, match="there is no case"):
        holds_for_each([])(seen.append)()


SOME = """
import pytest

@pytest.fixture(params=["sqlite", "postgresql"])
def database(request): return request.param

@pytest.mark.parametrize("number", [2, 3, pytest.param(5, id="five")])
def test_numbers_are_even(number): assert number % 2 == 0, "odd"

class TestPairs:
    @pytest.mark.parametrize(("left", "right"), [(1, 1), (1, 2)], ids=["same", "other"])
    @pytest.mark.parametrize("factor", {7: 8})
    def test_pairs_are_equal(self, left, right, factor): assert left * factor == right * factor

@pytest.mark.together
@pytest.mark.parametrize("word", ["a", "b"])
def test_words_are_stored(database, word): assert database and word == "a"

@pytest.mark.parametrize("word", ["a", "b"])
def test_words_are_found(database, word): pass

@pytest.mark.apart
@pytest.mark.parametrize("word", ["a", "b"])
def test_words_are_long(word): pass
"""
IN_TURN = """
import pytest

@pytest.fixture(params=["sqlite", "postgresql"])
def database(request): return request.param

@pytest.mark.together
@pytest.mark.parametrize("word", ["a", "b", "c", "d"])
def test_words_are_asked_in_turn(database, word): assert not word, f"{word} of {database}"

@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
class TestOne:
    @pytest.mark.together
    @pytest.mark.parametrize("word", ["a", "b", "c", "d"])
    def test_words_are_asked_of_one(self, database, word): assert not word, f"{word} of {database} alone"
"""
ALL_CASES = ("RELAYBOARD_EVERY_CASE", "TEST_POOLER", "TEST_PARTITIONS")


def test_cases_are_one_test_unless_they_share_what_they_may_change_or_one_is_asked_for_by_name(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.each_case import gather as pytest_pycollect_makeitem\n")
    (tmp_path / "test_some.py").write_text(SOME)
    (tmp_path / "tests/acceptance").mkdir(parents=True)
    (tmp_path / "tests/acceptance/test_turns.py").write_text(IN_TURN)

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--rootdir=.", *arguments]
        inherited = {name: value for name, value in os.environ.items() if name not in ALL_CASES}
        environment = {**inherited, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        ).stdout

    told = run()
    assert "7 failed, 6 passed" in told
    assert "2 of 3 cases:" in told and "3: AssertionError in line 8: odd" in told and "five: AssertionError" in told
    assert "7-other: AssertionError in line 13" in told and "7-same: " not in told
    assert "FAILED test_some.py::test_words_are_stored[sqlite]" in told and "'b': AssertionError in line 17" in told
    assert "PASSED test_some.py::test_words_are_found[postgresql-b]" in told
    assert "PASSED test_some.py::test_words_are_long[b]" in told
    asked = re.findall(r"AssertionError in line 9: (\w of \w+)", told)
    assert set(asked) == {"a of postgresql", "b of sqlite", "c of sqlite", "d of postgresql"}
    assert set(re.findall(r"(\w) of sqlite alone", told)) == {"a", "b", "c", "d"}
    assert "FAILED test_some.py::test_numbers_are_even[five]" in run("test_some.py::test_numbers_are_even[five]")
    assert "2 failed, 1 passed" in run("-k", "numbers")
