"""The section about mutants in docs/quality.md, and the survivors that have a reason."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tools.mutants.choosing import BUDGET_SECONDS, SECOND_BUDGET_SECONDS
from tools.mutants.judging import TIMED_OUT, UNTESTED
from tools.mutants.verdicts import Verdict, is_gone, is_noticed, was_noticed

LEAST_PART = 0.85
COLUMNS = (
    *("Folder", "Seed", "All", "Noticed at first", "By time", "Shown again", "Noticed now", "Code gone", "Explained"),
    *("Live on", "Without a test", "Share at first", "Share now"),
)
EXPLAINED = Path(__file__).with_name("explained.txt")
TEXT = """
<!-- not run: tests/quality/test_mutants.py does it in small -->

    make mutants

changes the code in small ways, 500 of each of `flows/engine`, `persistence` and `worker`, and runs tests that should
notice. [Cosmic Ray](https://pypi.org/project/cosmic-ray/) makes the mutants; each place in the code has the same
chance. Its runner knows one command for all mutants, and mutmut follows no process that tests start. So a runner of our
own learns which statements each test runs, on SQLite, and learns anew what changed files can change. A process that has
collected all tests is forked for each mutant, puts it in place, and runs the tests that run what it changes: one of
each way through the module before the next of that way, of these those of the module's own file first and then the
quickest, as many as take {budget:.0f} seconds without the mutant. What a fork cannot put in place is imported anew.
Tables, functions that tell databases apart or lock rows, and conditions that are joined in another way are shown to
tests on PostgreSQL as well. What no test runs in its own process is shown to the nearest files of tests, whose tests
start processes in the changed tree. A test that fails, or needs more than ten times its time, counts only if it passes
without the mutant. What no test of those files notices either stands under *without a test*. Mutants that change
nothing anybody can see have their reason in `tools/mutants/explained.txt` and are left out of the shares; `slots=True`
is changed nowhere, because what works with slots works without. Folders take turns, and a run that ends early has
judged the beginning of each sample, in whose order chance decides (with `--jobs 2`, of its two halves, which take every
second one). The next run goes on with the same sample, which a file beside the verdicts keeps: code that changes
meanwhile would lead to another one.

`python -m tools.mutants --again --write` shows those that live on to the tests of today, as many as take {again:.0f}
seconds, and `--mutant NAME` a single one. Tests are written for what a sample shows, so that only the share at the
first showing is a measure of the tests as they were, and only another seed is a new measurement. The command fails if
the share of now is less than 85 of 100.

Judged so far, of all seeds: {judged}.

{head}
{rows}

Each took {seconds:.1f} seconds of a processor. *Shown again* are those that lived on and were judged again so far; for
many of the others tests were written too. Those of *code gone* were mended or deleted because of the mutant. *Without a
test* are those of *live on* whose statement no test runs that judges.
{survivors}"""


def read_explained() -> list[tuple[str, str, str]]:
    """Path, a part of the changed line, and the reason."""
    lines = EXPLAINED.read_text(encoding="utf-8").splitlines()
    found = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [(path, part, reason) for path, part, reason in found]


def is_explained(change: str, path: str) -> bool:
    changed = "\n".join(line for line in change.splitlines() if line.startswith("+"))
    return any(where in ("*", path) and part in changed for where, part, _ in read_explained())


def is_left_out(verdict: Verdict) -> bool:
    """Whether a mutant lives on with good reason."""
    return not is_noticed(verdict) and not is_gone(verdict) and is_explained(verdict["change"], verdict["path"])


def lives_on(verdict: Verdict) -> bool:
    return not (is_noticed(verdict) or is_gone(verdict) or is_left_out(verdict))


def part_noticed(verdicts: Sequence[Verdict]) -> float:
    """The share of now."""
    counted = [each for each in verdicts if not is_left_out(each) and not is_gone(each)]
    return sum(map(is_noticed, counted)) / max(1, len(counted))


def part_noticed_at_first(verdicts: Sequence[Verdict]) -> float:
    counted = [each for each in verdicts if not is_left_out(each)]
    return sum(map(was_noticed, counted)) / max(1, len(counted))


def describe(verdicts: Sequence[Verdict]) -> str:
    samples = sorted({_sample_of(each) for each in verdicts})
    changed = [f"{each['mutant']}\n{each['change']}" for each in verdicts if lives_on(each)]
    survivors = "\nWhat lives on:\n\n```text\n" + "\n\n".join(changed) + "\n```\n" if changed else ""
    rows = [_row(sample, [each for each in verdicts if _sample_of(each) == sample]) for sample in samples]
    head = f"{_line(COLUMNS)}\n{'|---' * len(COLUMNS)}|"
    seconds = sum(each.get("seconds", 0.0) for each in verdicts) / max(1, len(verdicts))
    budgets = {"budget": BUDGET_SECONDS, "again": SECOND_BUDGET_SECONDS, "seconds": seconds}
    folders = sorted(Counter(each["folder"] for each in verdicts).items())
    judged = ", ".join(f"{count} of `{folder}`" for folder, count in folders)
    return TEXT.format(judged=judged, head=head, rows="\n".join(rows), survivors=survivors, **budgets)


def _sample_of(verdict: Verdict) -> tuple[str, int]:
    return verdict["folder"], verdict["seed"]


def _row(sample: tuple[str, int], verdicts: Sequence[Verdict]) -> str:
    living = [each for each in verdicts if lives_on(each)]
    numbers = [
        len(verdicts),
        sum(map(was_noticed, verdicts)),
        sum(each["verdict"] == TIMED_OUT for each in verdicts),
        sum("later" in each and not is_gone(each) for each in verdicts),
        sum(map(is_noticed, verdicts)),
        sum(map(is_gone, verdicts)),
        sum(map(is_left_out, verdicts)),
        len(living),
        sum(each["verdict"] == UNTESTED for each in living),
    ]
    shares = [f"{share:.0%}" for share in (part_noticed_at_first(verdicts), part_noticed(verdicts))]
    folder, seed = sample
    return _line([f"`{folder}`", seed, *numbers, *shares])


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
