"""What became of mutants, as a file keeps it: at their first showing, and later, with tests written for those that
lived on.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tools.mutants.judging import NOTICED, Outcome
from tools.mutants.sampling import Mutant, changed_lines, find_mutants, mutate

GONE = "gone"
"""Of a mutant whose code was mended or deleted after it had lived on."""
Verdict = dict[str, Any]


def read_verdicts(path: Path) -> list[Verdict]:
    found: list[Verdict] = json.loads(path.read_text()) if path.exists() else []
    return found


def write_verdicts(verdicts: Iterable[Verdict], path: Path) -> None:
    """Whole, for whoever reads them meanwhile."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(list(verdicts), indent=1))
    unfinished.replace(path)


def new_verdict(folder: str, seed: int, mutant: Mutant, outcome: Outcome, change: str) -> Verdict:
    about = {"folder": folder, "seed": seed, "mutant": str(mutant), "path": mutant.path, "change": change}
    found = {"verdict": outcome.verdict, "noticed_by": outcome.failed if outcome.is_noticed else ""}
    return about | found | {"seconds": round(outcome.seconds, 2)}


def add_later(verdict: Verdict, later: str, noticed_by: str = "") -> None:
    verdict["later"], verdict["later_by"] = later, noticed_by


def was_noticed(verdict: Mapping[str, Any]) -> bool:
    """At its first showing."""
    return verdict["verdict"] in NOTICED


def is_noticed(verdict: Mapping[str, Any]) -> bool:
    return was_noticed(verdict) or verdict.get("later") in NOTICED


def is_gone(verdict: Mapping[str, Any]) -> bool:
    return verdict.get("later") == GONE


def find_again(tree: Path, verdict: Mapping[str, Any]) -> Mutant | None:
    """The mutant in code that may have changed: the nearest one that makes the same change. None if there is none."""
    place, operator, _ = verdict["mutant"].split(" ")
    path, _, line = place.rpartition(":")
    if not (tree / path).exists():
        return None
    source = (tree / path).read_text(encoding="utf-8")
    lines = source.splitlines()
    removed = {each[1:] for each in verdict["change"].splitlines() if each.startswith("-")}
    alike = [
        each
        for each in find_mutants(tree, [path])
        if each.operator == f"core/{operator}"
        and lines[each.line - 1] in removed
        and changed_lines(source, mutate(source, each)) == verdict["change"]
    ]
    return min(alike, key=lambda each: abs(each.line - int(line)), default=None)


def find_named(tree: Path, name: str) -> Mutant | None:
    """The mutant that is called so."""
    path = name.partition(":")[0]
    found = find_mutants(tree, [path]) if (tree / path).is_file() else ()
    return next((each for each in found if str(each) == name), None)
