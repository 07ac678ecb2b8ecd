"""One test for a rule of hundreds of cases. pytest takes longer for a test than such a rule takes for a case."""

import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

import pytest

Case = TypeVar("Case")


def holds_for_each(cases: Sequence[Case]) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Make a test of a rule, which asserts what is true of a case. All cases that break it are named, each with what is
    wrong and the line that says so.
    """

    def make_test(rule: Callable[[Case], None]) -> Callable[[], None]:
        @wraps(rule)
        def test() -> None:
            assert cases, "there is no case"
            broken = [f"{case}: {wrong}" for case in cases if (wrong := _fault(rule, case))]
            if broken:
                raise AssertionError(f"{len(broken)} of {len(cases)} cases:\n\n" + "\n\n".join(broken))

        del test.__wrapped__  # type: ignore[attr-defined]  # pytest would take the case for a fixture
        return test

    return make_test


def _fault(rule: Callable[[Case], None], case: Case) -> str:
    try:
        rule(case)
    except (Exception, pytest.fail.Exception) as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next(frame for frame in frames if frame.name == rule.__name__)
        return f"{type(error).__name__} in line {line.lineno}: {error}"
    return ""
