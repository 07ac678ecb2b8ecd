"""`python -m tools.mutants` at a size that a test can afford."""

import importlib
import json
import sys
from functools import partial

import pytest

from tools.mutants import __main__ as command
from tools.mutants.judging import KILLED, SURVIVED, TIMED_OUT, UNTESTED, Judge, Stage, in_fork
from tools.mutants.learning import (
    Run,
    choose_tests,
    choose_tests_of_module,
    learn,
    near_tests,
    read,
)
from tools.mutants.page import describe, part_noticed
from tools.mutants.sampling import choose, find_mutants, modules_below, mutate
from tools.mutants.swapping import CannotSwap, changed_functions, find_functions, swap

CODE = "def larger(a, b):\n    while a > b and True:\n        return a\n    return b + 1 if b < 0 else b\n"
TEST = "from code_under_test import larger\n\ndef test_it():\n    assert (larger(2, 1), larger(1, 1)) == (2, 1)\n"


OTHER_TEST = """
def test_other():
    assert sorted("ba") == ["a", "b"]
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "code_under_test.py").write_text(CODE)
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "test_other.py").write_text(OTHER_TEST)
    return tmp_path


@pytest.fixture
def mutants(tree):
    return list(find_mutants(tree, modules_below(tree, ".")[:1]))


def of(mutants, operator):
    return next(mutant for mutant in mutants if mutant.operator == f"core/{operator}")


def test_a_sample_follows_from_its_seed_and_has_one_mutant_of_a_place(mutants):
    sample = choose(mutants, 4, 16)

    assert sample == choose(mutants, 4, 16) != choose(mutants, 4, 17)
    assert len({(mutant.line, mutant.column) for mutant in sample}) == 4
    assert all(mutate(CODE, mutant) != CODE for mutant in mutants)


def test_tests_notice_a_mutant_or_it_lives_on_and_the_code_is_as_before(tree, mutants):
    changed = of(mutants, "ReplaceComparisonOperator_Gt_Lt")
    unseen = of(mutants, "ReplaceBinaryOperator_Add_Sub")

    court = Judge(tree, 60)
    assert court.judge(changed, [Stage(["test_other.py"]), Stage(["test_it.py"])]) == KILLED
    assert court.sound == {"test_it.py::test_it"}
    assert court.judge(unseen, [Stage(["test_it.py"])]) == SURVIVED
    assert court.judge(changed, [Stage(["test_it.py"], ("-k", "other"))]) == UNTESTED
    assert court.judge(unseen, [Stage([])]) == UNTESTED
    assert (tree / "code_under_test.py").read_text() == CODE


def test_a_test_that_fails_without_the_mutant_notices_nothing(tree, mutants):
    (tree / "test_it.py").write_text(TEST + "\ndef test_other():\n    assert larger(1, 2) == 3\n")
    court = Judge(tree, 60)

    assert court.judge(of(mutants, "ReplaceBinaryOperator_Add_Sub"), [Stage(["test_it.py"])]) == SURVIVED
    assert court.unsound == {"test_it.py::test_other"}


def test_a_mutant_that_never_ends_is_noticed(tree, mutants):
    (tree / "test_it.py").write_text("def test_it():\n    while True:\n        pass\n")

    assert Judge(tree, 1).judge(mutants[0], [Stage(["test_it.py"])]) == TIMED_OUT


def test_a_module_has_its_own_tests_first_and_its_room_after_them(tmp_path):
    imports = "from worker.pool import run"
    files = {
        "worker/pool.py": "def run(): ...",
        "tests/worker/test_pool.py": imports,
        "tests/worker/test_jobs.py": imports,
        "tests/acceptance/test_all.py": imports,
        "tests/worker/helpers.py": imports,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    own, same_room, other = "tests/worker/test_pool.py", "tests/worker/test_jobs.py", "tests/acceptance/test_all.py"
    assert near_tests(tmp_path) == {"worker/pool.py": [own, same_room, other]}


def test_a_mutant_is_shown_to_the_tests_that_call_its_function_the_nearest_and_quickest_first():
    called, other = ("worker/pool.py", 3), ("worker/pool.py", 9)
    runs = {
        "tests/a.py::slow": Run(2.0, frozenset({called})),
        "tests/a.py::quick": Run(0.1, frozenset({called, other})),
        "tests/near.py::one": Run(1.0, frozenset({called})),
        "tests/a.py::another": Run(0.1, frozenset({other})),
        "tests/a.py::long": Run(9.0, frozenset({called})),
    }

    assert choose_tests(runs, [called], ["tests/near.py"], 60) == [
        "tests/near.py::one",
        "tests/a.py::quick",
        "tests/a.py::slow",
    ]
    assert choose_tests(runs, [called], ["tests/near.py"], 1.5) == ["tests/near.py::one", "tests/a.py::quick"]
    assert "tests/a.py::another" in choose_tests_of_module(runs, "worker/pool.py", [], 60)


HELD = """
import functools

def kept(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given) + 1
    return wrapper

@kept
def double(number):
    return number * 2

class Counter:
    def next(self, number):
        return sum(each + 1 for each in [number])

LIMIT = 3
"""


@pytest.fixture
def held(tmp_path, monkeypatch):
    (tmp_path / "held_by_tests.py").write_text(HELD)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("held_by_tests")
    del sys.modules["held_by_tests"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("number * 2", "number * 3", (7, 3)),
        ("function(*given) + 1", "function(*given) - 1", (3, 3)),
        ("each + 1 for", "each - 1 for", (5, 1)),
    ],
)
def test_functions_methods_and_what_they_made_get_the_code_of_a_mutant(held, tmp_path, before, after, found):
    path = tmp_path / "held_by_tests.py"

    swap(changed_functions(path, HELD.replace(before, after)), find_functions(tmp_path))

    assert (held.double(2), held.Counter().next(2)) == found


def test_what_ran_at_the_import_is_not_swapped(held, tmp_path):
    with pytest.raises(CannotSwap):
        changed_functions(tmp_path / "held_by_tests.py", HELD.replace("LIMIT = 3", "LIMIT = 4"))


POOL_TESTS = """
from worker.pool import LIMIT, LIMITS, larger

def test_larger():
    assert (larger(2, 1), larger(1, 1)) == (2, 1)

def test_limit():
    assert LIMIT == 3

def test_limits():
    assert LIMITS == [3]
"""


def test_courts_learn_what_tests_call_and_judge_in_forks_or_afresh(tmp_path):
    files = {
        "worker/__init__.py": "",
        "worker/pool.py": f"{CODE}\nLIMIT = 3\nLIMITS = [1 + 2]\n",
        "tests/__init__.py": "",
        "tests/conftest.py": "import gc\n\ndef pytest_collection_finish():\n    gc.freeze()\n",
        "tests/worker/__init__.py": "",
        "tests/worker/test_pool.py": POOL_TESTS,
        "tests/worker/test_other.py": OTHER_TEST,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    learned = tmp_path / "learned.json"
    in_fork(partial(learn, tmp_path, ["tests"], learned), 60)
    runs = read(learned)
    assert {test: run.places for test, run in runs.items() if run.places} == {
        "tests/worker/test_pool.py::test_larger": frozenset({("worker/pool.py", 1)})
    }

    mutants = list(find_mutants(tmp_path, ["worker/pool.py"]))
    swapped, unseen = of(mutants, "ReplaceComparisonOperator_Gt_Lt"), of(mutants, "ReplaceBinaryOperator_Add_Sub")
    at_import, bare = (
        next(each for each in mutants if each.operator == "core/NumberReplacer" and each.line == line)
        for line in (6, 7)
    )
    court = command.start_court(tmp_path, [swapped, unseen, at_import, bare], runs, near_tests(tmp_path), None)

    assert list(command.answers([court])) == [
        (swapped, KILLED, "tests/worker/test_pool.py::test_larger"),
        (unseen, SURVIVED, ""),
        (at_import, KILLED, "tests/worker/test_pool.py::test_limit"),
        (bare, KILLED, ""),
    ]


def test_what_tests_run_is_learned_anew_when_code_or_tests_changed(tmp_path):
    files = {"worker/__init__.py": "", "worker/pool.py": CODE, "tests/__init__.py": "", "tests/worker/__init__.py": ""}
    for name, text in (files | {"tests/worker/test_other.py": OTHER_TEST}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    kept, said = tmp_path / "learned.json", []

    assert list(command.learned(tmp_path, kept, said.append)) == ["tests/worker/test_other.py::test_other"]
    command.learned(tmp_path, kept, said.append)
    assert len(said) == 1
    with (tmp_path / "tests/worker/test_other.py").open("a") as file:
        file.write(OTHER_TEST.replace("other", "more"))
    assert len(command.learned(tmp_path, kept, said.append)) == len(said) == 2


def test_a_folder_without_modules_is_refused_before_anything_is_learned(tmp_path, capsys):
    with pytest.raises(SystemExit) as refused:
        command.main(["nowhere", "--state", str(tmp_path / "mutants.json")])

    assert refused.value.code == 2
    assert "there is no module below nowhere" in capsys.readouterr().err


def test_the_command_fails_below_85_of_100_and_reads_explained_ones(tmp_path, monkeypatch):
    state, page = tmp_path / "mutants.json", tmp_path / "quality.md"
    page.write_text("# Quality\n")
    killed = {"folder": "worker", "mutant": "worker/a.py:1 X 0", "path": "worker/a.py", "verdict": KILLED, "change": ""}
    killed |= {"seed": 16, "noticed_by": ""}
    alive = killed | {"mutant": "worker/a.py:2 X 0", "verdict": SURVIVED, "change": "-a < 1\n+a < 2"}

    state.write_text(json.dumps([killed] * 17 + [alive] * 3))
    assert command.main(["worker", "--count", "0", "--state", str(state), "--write"], page) == 0
    assert "| `worker` | 16 | 20 | 17 | 0 | 3 | 0 | 0 | 85% |" in page.read_text() and "+a < 2" in page.read_text()
    state.write_text(json.dumps([killed] * 16 + [alive] * 3))
    assert command.main(["worker", "--count", "0", "--state", str(state)], page) == 1
    monkeypatch.setattr("tools.mutants.page.read_explained", lambda: [("worker/a.py", "a < 2", "A reason.")])
    assert part_noticed([killed, alive]) == 1 and "a < 2" not in describe([killed, alive])
