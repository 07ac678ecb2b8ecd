"""Collects cases from a folder of case files and finds the check that each is for."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.flows.corpora.deviations import DEVIATIONS, OTHER_CORPORA

Case = dict[str, Any]
Check = Callable[[Case, Case], None]
CHECK_MODULES = ("expressions", "environment", "queries", "engine", "migrations", "definitions")


@dataclass(frozen=True)
class CorpusCase:
    """One case of a file, with the fixtures that all cases of the file share."""

    corpus: str
    name: str
    case: Case
    fixtures: Case

    def __str__(self) -> str:
        return self.name

    @property
    def deviation(self) -> str:
        """Why we knowingly differ from this case; empty text if we do not."""
        return DEVIATIONS.get(self.corpus, {}).get(self.name, "")


def collect_cases(folder: Path) -> Iterator[CorpusCase]:
    """All cases of all files in a folder; equal names within a file are told apart by numbers."""
    contents = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    shared = _find_services(contents)
    for content in contents:
        corpus = content["corpus"]
        if corpus in OTHER_CORPORA:
            continue
        fixtures = {"services": shared, **(content.get("fixtures") or {})}
        seen: Counter[str] = Counter()
        for position, case in enumerate(content["cases"]):
            name = str(case.get("name") or case.get("description") or position)
            seen[name] += 1
            label = name if seen[name] == 1 else f"{name} ({seen[name]})"
            yield CorpusCase(corpus, label, case, fixtures)


def _find_services(contents: Sequence[Case]) -> Case:
    """What stands in for services in files that do not say: what the first file says that does."""
    told = ((content.get("fixtures") or {}).get("services") for content in contents)
    return next((services for services in told if services), {})


def find_check(corpus: str) -> Check:
    """The check for a kind of case file; fails for a kind that nobody checks."""
    for module_name in CHECK_MODULES:
        checks: dict[str, Check] = importlib.import_module(f"tests.flows.corpora.{module_name}").CHECKS
        if corpus in checks:
            return checks[corpus]
    raise AssertionError(f"there is no check for cases of {corpus}")


def run_case(case: CorpusCase) -> None:
    """Checks one case; fails if it does not hold, or if it holds although it is listed as a deviation."""
    check = find_check(case.corpus)
    if not case.deviation:
        check(case.case, case.fixtures)
        return
    try:
        check(case.case, case.fixtures)
    except (Exception, pytest.fail.Exception):
        return
    raise AssertionError(f"holds, but is listed as a deviation: {case.deviation}")
