"""`python -m tools.mutants` at a size that a test can afford."""

import threading
from functools import partial

import pytest

from tools.mutants import __main__ as command
from tools.mutants.choosing import choose_within, near_tests
from tools.mutants.judging import KILLED, SURVIVED, TIMED_OUT, UNTESTED, Judge, Outcome, Stage, allow, in_fork
from tools.mutants.learning import Learned, Run, learn, read
from tools.mutants.page import describe, part_noticed, part_noticed_at_first
from tools.mutants.renewal import digests_of, files_to_learn
from tools.mutants.samples import find_chosen, read_sample
from tools.mutants.sampling import choose, find_mutants, modules_below, mutate
from tools.mutants.statements import Marks, find_statement, list_statements, names_made_at
from tools.mutants.verdicts import find_again, new_verdict, read_verdicts, write_verdicts

CODE = "def larger(a, b):\n    while a > b and True:\n        return a\n    return b + 1 if b < 0 else b\n"
TEST = "from code_under_test import larger\n\ndef test_it():\n    assert (larger(2, 1), larger(1, 1)) == (2, 1)\n"


ENDLESS = """
from code_under_test import larger

def test_it():
    while larger(2, 1) != 2:
        pass
"""


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
    assert court.judge(changed, [Stage(["test_other.py"]), Stage(["test_it.py"])]) == Outcome(
        KILLED, "test_it.py::test_it"
    )
    assert court.sound == {"test_it.py::test_it"}
    assert court.judge(unseen, [Stage(["test_it.py"])]).verdict == SURVIVED
    assert court.judge(changed, [Stage(["test_it.py"], ("-k", "other"))]).verdict == UNTESTED
    assert court.judge(unseen, [Stage([])]).verdict == UNTESTED
    assert (tree / "code_under_test.py").read_text() == CODE


def test_a_test_that_fails_without_the_mutant_notices_nothing(tree, mutants):
    (tree / "test_it.py").write_text(TEST + "\ndef test_other():\n    assert larger(1, 2) == 3\n")
    court = Judge(tree, 60)

    assert court.judge(of(mutants, "ReplaceBinaryOperator_Add_Sub"), [Stage(["test_it.py"])]).verdict == SURVIVED
    assert court.unsound == {"test_it.py::test_other"}


def test_a_mutant_that_never_ends_is_noticed(tree, mutants):
    (tree / "test_it.py").write_text(ENDLESS)

    changed = of(mutants, "ReplaceComparisonOperator_Gt_Lt")
    assert Judge(tree, 3).judge(changed, [Stage(["test_it.py"])]) == Outcome(TIMED_OUT, "test_it.py::test_it")


def test_a_process_has_the_time_that_it_is_allowed():
    def spin(_noted):
        allow(0.1, 60)
        while True:
            pass

    def wait(_noted):
        allow(60, 0.1)
        threading.Event().wait()
        return 0

    assert in_fork(spin, 60) == in_fork(wait, 60) == Outcome(TIMED_OUT)


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


def test_tests_of_the_nearest_files_come_first_then_the_quickest_and_what_they_share_counts_once():
    way = {"worker/pool.py": 1}
    runs = {
        "tests/a.py::slow": Run(2.0, 0.0, {}),
        "tests/a.py::quick": Run(0.1, 0.0, {}),
        "tests/a.py::alike": Run(0.2, 0.0, way),
        "tests/near.py::one": Run(0.6, 0.5, way),
        "tests/near.py::two": Run(0.7, 0.5, {"worker/pool.py": 3}),
        "tests/a.py::long": Run(9.0, 0.0, {}),
        "tests/b.py::other": Run(0.0, 0.0, {}),
    }
    wanted, others = [test for test in runs if "b.py" not in test], ["tests/b.py::other"]

    near = ["tests/near.py::one", "tests/near.py::two"]
    chosen = choose_within(runs, [wanted, others], "worker/pool.py", ["tests/near.py"], 60)
    quick, alike, slow = "tests/a.py::quick", "tests/a.py::alike", "tests/a.py::slow"
    assert chosen == [*near, quick, alike, slow, "tests/b.py::other"]
    assert choose_within(runs, [wanted, others], "worker/pool.py", ["tests/near.py"], 1.95) == [*near, quick]


BRANCHES = """
import functools

LIMIT: int = len("abc")

class Counter:
    step = 2

    @functools.cache
    def count(self, up=LIMIT):
        "What it counts."
        if up:
            return [each for each in range(LIMIT)]
        elif self.step:
            return None
        return 1
"""


def test_statements_in_functions_leave_marks_when_they_run(tmp_path):
    path = tmp_path / "branches.py"
    path.write_text(BRANCHES)
    statements, marks = list_statements(BRANCHES), Marks(tmp_path)
    names = {}
    exec(marks.compile(path), names)

    assert [each.line for each in statements] == [12, 13, 14, 15, 16]
    assert marks.take() == {}
    names["Counter"]().count(0)
    assert marks.take() == {"branches.py": 0b01101}
    names["Counter"]().count()
    assert marks.take() == {"branches.py": 0b00011}
    assert [find_statement(statements, line) for line in (4, 7, 12, 13, 15)] == [None, None, 0, 1, 3]
    assert {"LIMIT", "range", "each"} == statements[1].names
    assert [names_made_at(BRANCHES, line) for line in (4, 7, 9)] == [
        ["LIMIT"],
        ["Counter", "step"],
        ["Counter", "count"],
    ]


JUDGES = ("tests/worker/",)


def test_only_tests_that_what_changed_can_concern_are_learned_anew(tmp_path):
    files = {
        "worker/pool.py": "LIMIT = 1\ndef run():\n    return 1\n",
        "handlers/app.py": "",
        "tools/mutants.py": "",
        "tests/worker/rows.py": "",
        "tests/worker/test_pool.py": "",
        "tests/worker/test_jobs.py": "from tests.worker.rows import ROWS",
        "tests/worker/test_other.py": "",
        "tests/console/test_page.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tests = {
        "tests/worker/test_pool.py::test_it": Run(1, 0, {"worker/pool.py": 1}),
        "tests/worker/test_other.py::test_it": Run(1, 0, {}),
    }
    before = Learned(tests, {}, digests_of(tmp_path, {}, JUDGES))

    def after(name, text):
        (tmp_path / name).write_text(text)
        found = files_to_learn(tmp_path, before, digests_of(tmp_path, before.digests, JUDGES))
        (tmp_path / name).write_text(files[name])
        return found

    assert after("worker/pool.py", "LIMIT = 1\ndef run():\n    return 2\n") == {"tests/worker/test_pool.py"}
    assert after("worker/pool.py", "LIMIT = 2\ndef run():\n    return 1\n") is None
    assert after("handlers/app.py", "LIMIT = 1") is None
    assert after("tools/mutants.py", "LIMIT = 1") == after("tests/console/test_page.py", "ROWS = 1") == set()
    assert after("tests/worker/rows.py", "ROWS = 1") == {"tests/worker/test_jobs.py"}
    assert after("tests/worker/test_other.py", "ROWS = 1") == {"tests/worker/test_other.py"}
    assert files_to_learn(tmp_path, Learned(), before.digests) is None


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
    known = read(learned)
    assert {test: run.seen for test, run in known.tests.items() if run.seen} == {
        "tests/worker/test_pool.py::test_larger": {"worker/pool.py": 0b111}
    }

    mutants = list(find_mutants(tmp_path, ["worker/pool.py"]))
    swapped, unseen = of(mutants, "ReplaceComparisonOperator_Gt_Lt"), of(mutants, "ReplaceBinaryOperator_Add_Sub")
    plain, made = (
        next(each for each in mutants if each.operator == "core/NumberReplacer" and each.line == line)
        for line in (6, 7)
    )
    court = command.start_court(tmp_path, [swapped, unseen, plain, made], known, ["tests"], None)

    test = "tests/worker/test_pool.py::test_"
    assert [(mutant, outcome) for mutant, outcome, _ in command.answers([court])] == [
        (swapped, Outcome(KILLED, f"{test}larger")),
        (unseen, Outcome(SURVIVED)),
        (plain, Outcome(KILLED, f"{test}limit")),
        (made, Outcome(KILLED, f"{test}limits")),
    ]


def test_an_exception_with_a_dot_in_its_name_is_no_mutant(tmp_path):
    code = "import socket\n\ntry:\n    pass\nexcept (OSError, socket.gaierror):\n    pass\n"
    (tmp_path / "code_under_test.py").write_text(code)
    plain, dotted = [each for each in find_mutants(tmp_path, ["code_under_test.py"]) if "Exception" in each.operator]

    assert "except (CosmicRayTestingException, socket.gaierror)" in mutate(code, plain)
    with pytest.raises(ValueError, match="nothing to replace"):
        mutate(code, dotted)


def test_a_process_that_broke_while_it_judged_has_not_ended_well(tree, mutants, monkeypatch):
    def fail(*_):
        raise LookupError

    monkeypatch.setattr("tools.mutants.court.mutate", fail)
    court = command.start_court(tree, mutants[:1], Learned(), ["test_it.py"], None)

    with pytest.raises(RuntimeError, match="ended early"):
        list(command.answers([court]))


def test_a_changed_test_file_is_learned_anew_and_others_are_kept(tmp_path):
    files = {
        "worker/__init__.py": "",
        "worker/pool.py": CODE,
        "tests/__init__.py": "",
        "tests/worker/__init__.py": "",
        "tests/worker/test_more.py": TEST.replace("code_under_test", "worker.pool"),
    }
    for name, text in (files | {"tests/worker/test_other.py": OTHER_TEST}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    kept, said = tmp_path / "learned.json", []

    first = command.learned(tmp_path, kept, said.append).tests
    assert set(first) == {"tests/worker/test_more.py::test_it", "tests/worker/test_other.py::test_other"}
    command.learned(tmp_path, kept, said.append)
    assert len(said) == 1
    with (tmp_path / "tests/worker/test_other.py").open("a") as file:
        file.write(OTHER_TEST.replace("other", "more"))
    second = command.learned(tmp_path, kept, said.append).tests
    assert set(second) - set(first) == {"tests/worker/test_other.py::test_more"}
    assert said == ["Learning what each test runs...", "Learning what each test of 1 files runs..."]
    assert second["tests/worker/test_more.py::test_it"] == first["tests/worker/test_more.py::test_it"]


def test_a_mutant_is_found_again_where_its_code_has_moved_and_is_gone_where_it_was_changed(tree, mutants):
    mutant = of(mutants, "ReplaceComparisonOperator_Gt_Lt")
    verdict = new_verdict(".", 1, mutant, Outcome(SURVIVED), "-    while a > b and True:\n+    while a < b and True:")

    (tree / "code_under_test.py").write_text(f"LIMIT = 1 > 2\n\n{CODE}")
    assert find_again(tree, verdict).line == mutant.line + 2
    (tree / "code_under_test.py").write_text(CODE.replace("a > b", "b < a"))
    assert find_again(tree, verdict) is None


def test_a_sample_stays_what_it_was_when_code_moves_and_goes_on_after_what_was_judged(tree):
    kept, code = tree / "mutants.samples", tree / "code_under_test.py"
    for name in ("test_it.py", "test_other.py"):
        (tree / name).unlink()
    chosen = list(find_chosen(tree, read_sample(tree, kept, ".", 5, 16), frozenset()))
    assert [name for name, _ in chosen] == [str(mutant) for _, mutant in chosen] and len(chosen) == 5

    code.write_text(f"LIMIT = 1 > 2\n\n{CODE}")
    first, *others = [name for name, _ in chosen]
    moved = list(find_chosen(tree, read_sample(tree, kept, ".", 5, 16), frozenset([first])))
    assert [name for name, _ in moved] == others
    assert [mutant.line for _, mutant in moved] == [mutant.line + 2 for _, mutant in chosen[1:]]

    code.write_text("def larger(a, b):\n    return max(a, b)\n")
    assert list(find_chosen(tree, read_sample(tree, kept, ".", 5, 16), frozenset())) == []


def test_a_folder_without_modules_is_refused_before_anything_is_learned(tmp_path, capsys):
    with pytest.raises(SystemExit) as refused:
        command.main(["nowhere", "--state", str(tmp_path / "mutants.json")])

    assert refused.value.code == 2
    assert "there is no module below nowhere" in capsys.readouterr().err


def test_both_shares_are_told_explained_ones_are_left_out_and_the_command_fails_below_85_of_100(tmp_path, monkeypatch):
    state, page = tmp_path / "mutants.json", tmp_path / "quality.md"
    page.write_text("# Quality\n")
    killed = {"folder": "worker", "mutant": "worker/a.py:1 X 0", "path": "worker/a.py", "verdict": KILLED, "change": ""}
    killed |= {"seed": 16, "noticed_by": ""}
    alive = killed | {"mutant": "worker/a.py:2 X 0", "verdict": SURVIVED, "change": "-a < 1\n+a < 2"}
    later, gone = alive | {"later": KILLED}, alive | {"later": "gone"}

    write_verdicts([killed] * 16 + [later] + [alive] * 3 + [gone], state)
    assert command.main(["worker", "--count", "0", "--state", str(state), "--write"], page) == 0
    assert "| `worker` | 16 | 21 | 16 | 0 | 1 | 17 | 1 | 0 | 3 | 0 | 76% | 85% |" in page.read_text()
    assert "+a < 2" in page.read_text()
    write_verdicts(read_verdicts(state)[1:], state)
    assert command.main(["worker", "--count", "0", "--state", str(state)], page) == 1
    monkeypatch.setattr("tools.mutants.page.read_explained", lambda: [("worker/a.py", "a < 2", "A reason.")])
    assert part_noticed([killed, alive]) == part_noticed_at_first([killed, alive]) == 1
    assert "a < 2" not in describe([killed, alive])
