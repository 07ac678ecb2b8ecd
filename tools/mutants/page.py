"""The section about mutants in docs/quality.md, and the survivors that have a reason."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.mutants.judging import KILLED, SURVIVED, TIMED_OUT, UNTESTED
from tools.mutants.learning import BUDGET_SECONDS

LEAST_PART = 0.85
EXPLAINED = Path(__file__).with_name("explained.txt")
TEXT = """
<!-- not run: tests/quality/test_mutants.py does it in small -->

    make mutants

changes the code in small ways, 500 of each of `flows/engine`, `persistence` and `worker`, and runs tests that should
notice. [Cosmic Ray](https://pypi.org/project/cosmic-ray/) makes the mutants; each place in the code has the same
chance. Its runner knows one command for all mutants, and mutmut follows no process that tests start. So a runner of our
own learns once which functions each test calls, on SQLite. A process that has collected all tests is forked for each
mutant, gives the function its changed code, and runs the tests that call it, those of the module's own file first and
then the quickest, as many as take {budget:.0f} seconds without the mutant. What ran at the import of a module is
imported anew, and functions that differ on PostgreSQL are shown to the nearest tests there as well. A test that fails
counts only if it passes without the mutant. The command fails if fewer than 85 of 100 are noticed. Mutants that change
nothing anybody can see have their reason in `tools/mutants/explained.txt` and are left out. Tests are written for what
a sample shows, so only another seed is a new measurement. Folders take turns, and a run that ends early has judged the
beginning of each sample, in whose order chance decides.

So far, of {wanted} in each folder:

| Folder | Seed | All | Noticed | By time | Live on | Without a test | Explained | Noticed of the others |
|---|---|---|---|---|---|---|---|---|
{rows}
{survivors}"""


def read_explained() -> list[tuple[str, str, str]]:
    """Path, a part of the changed line, and the reason."""
    lines = EXPLAINED.read_text(encoding="utf-8").splitlines()
    found = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [(path, part, reason) for path, part, reason in found]


def is_explained(change: str, path: str) -> bool:
    changed = "\n".join(line for line in change.splitlines() if line.startswith("+"))
    return any(where in ("*", path) and part in changed for where, part, _ in read_explained())


def part_noticed(verdicts: Sequence[dict[str, Any]]) -> float:
    counted = [each for each in verdicts if not _is_left_out(each)]
    return sum(each["verdict"] in (KILLED, TIMED_OUT) for each in counted) / max(1, len(counted))


def _is_left_out(verdict: dict[str, Any]) -> bool:
    return verdict["verdict"] not in (KILLED, TIMED_OUT) and is_explained(verdict["change"], verdict["path"])


def describe(verdicts: Sequence[dict[str, Any]], wanted: int = 500) -> str:
    samples = sorted({_sample_of(each) for each in verdicts})
    open_ones = [each for each in verdicts if each["verdict"] not in (KILLED, TIMED_OUT) and not _is_left_out(each)]
    changed = [f"{each['mutant']}\n{each['change']}" for each in open_ones]
    survivors = "\nWhat lives on:\n\n```text\n" + "\n\n".join(changed) + "\n```\n" if open_ones else ""
    rows = [_row(sample, [each for each in verdicts if _sample_of(each) == sample]) for sample in samples]
    return TEXT.format(wanted=wanted, budget=BUDGET_SECONDS, rows="\n".join(rows), survivors=survivors)


def _sample_of(verdict: dict[str, Any]) -> tuple[str, int]:
    return verdict["folder"], verdict["seed"]


def _row(sample: tuple[str, int], verdicts: Sequence[dict[str, Any]]) -> str:
    def count(*kinds: str) -> int:
        return sum(each["verdict"] in kinds for each in verdicts)

    numbers = [len(verdicts), count(KILLED, TIMED_OUT), count(TIMED_OUT), count(SURVIVED), count(UNTESTED)]
    numbers.append(sum(_is_left_out(each) for each in verdicts))
    folder, seed = sample
    return f"| `{folder}` | {seed} | {' | '.join(map(str, numbers))} | {part_noticed(verdicts):.0%} |"
