"""One test for a rule of hundreds of cases. pytest takes longer for a test than such a rule takes for a case."""

import inspect
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from itertools import product
from typing import Any, TypeVar

import pytest

from tests.thinned import DATABASES, TURNS, has_its_turn, is_asked_once, takes_turns

Case = TypeVar("Case")
Named = tuple[str, Mapping[str, Any]]
"""A case of a table: what it is called, and its values."""
TOGETHER, APART = "together", "apart"


def holds_for_each(cases: Sequence[Case]) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Make a test of a rule, which asserts what is true of a case. All cases that break it are named, each with what is
    wrong and the line that says so.
    """

    def make_test(rule: Callable[[Case], None]) -> Callable[[], None]:
        @wraps(rule)
        def test() -> None:
            _hold(rule, [(str(case), lambda case=case: rule(case)) for case in cases])

        del test.__wrapped__  # type: ignore[attr-defined]  # pytest would take the case for a fixture
        return test

    return make_test


def gather(collector: Any, name: str, obj: Any) -> Any:
    """The tests of a parametrized rule that takes nothing but its cases, or whose cases are marked `together` because
    none changes what they share: one test instead of one for each case. None for all others, and where somebody asks
    for a case by its name. Where cases take turns on the databases (`tests/thinned.py`), those of one test do too.
    """
    if not inspect.isfunction(obj) or not collector.istestfunction(obj, name):
        return None
    asked = (*collector.config.args, collector.config.getoption("keyword"))
    marks = list(getattr(obj, "pytestmark", []))
    tables = [mark for mark in marks if mark.name == "parametrize" and not mark.kwargs.get("indirect")]
    names = {mark.name for mark in marks}
    if not tables or APART in names or any("[" in argument for argument in asked) or asked[-1]:
        return None
    if hasattr(obj, "is_hypothesis_test"):
        return None
    signature = inspect.signature(obj)
    rows = [_list_rows(mark) for mark in tables]
    given = {argument for row in rows if row for _, values in row for argument in values}
    left = [part for part in signature.parameters.values() if part.name not in given]
    own = [part for part in left if part.name != "self"]
    if None in rows or (own and TOGETHER not in names):
        return None
    cases = [
        ("-".join(called for called, _ in row), {key: value for _, values in row for key, value in values.items()})
        for row in product(*(row for row in rows if row is not None))
    ]

    # Whoever chooses a database by a mark, also of the module or class, asks all of it.
    chosen = [*collector.iter_markers("parametrize"), *(mark for mark in marks if mark.name == "parametrize")]
    rule = f"{collector.nodeid}::{name}"
    is_table = takes_turns(rule, len(cases)) and not is_asked_once(rule)
    in_turn = TURNS and is_table and len(chosen) == len(tables)

    @wraps(obj)
    def test(*itself: Any, request: pytest.FixtureRequest, **fixtures: Any) -> None:
        given = fixtures | ({"request": request} if "request" in signature.parameters else {})
        params = request.node.callspec.params.values() if in_turn and hasattr(request.node, "callspec") else ()
        database = next((each for each in params if each in DATABASES), None)
        asked = [case for number, case in enumerate(cases) if database is None or has_its_turn(number, database)]
        _hold(obj, [(called, lambda values=values: obj(*itself, **given, **values)) for called, values in asked])

    # What pytest reads of a test: its fixtures, and its marks.
    asking: Any = test
    del asking.__wrapped__
    requested = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY)
    asking.__signature__ = signature.replace(parameters=[*(part for part in left if part.name != "request"), requested])
    asking.pytestmark = [mark for mark in marks if mark not in tables]
    setattr(collector.obj, name, test)
    return collector.ihook.pytest_pycollect_makeitem(collector=collector, name=name, obj=test)


def _list_rows(mark: pytest.Mark) -> list[Named] | None:
    """The cases of one table, named as pytest names them or by their values; None if pytest has to read it."""
    names, values = (*mark.args, *([mark.kwargs["argvalues"]] if "argvalues" in mark.kwargs else []))
    ids = mark.kwargs.get("ids")
    keys = [key.strip() for key in names.split(",")] if isinstance(names, str) else list(names)
    if set(mark.kwargs) - {"ids", "argvalues"} or not isinstance(values, Collection):
        return None
    rows: list[Named] = []
    for number, row in enumerate(values):
        called = None
        if isinstance(row, type(pytest.param())):
            if row.marks:
                return None
            called, row = row.id, row.values
        elif len(keys) == 1:
            row = (row,)
        if called is None and callable(ids):
            called = "-".join(str(ids(value) or repr(value)) for value in row)
        elif called is None:
            called = str([*ids][number]) if ids else "-".join(map(_show, row))
        rows.append((called, dict(zip(keys, row, strict=True))))
    return rows


def _show(value: Any) -> str:
    return repr(getattr(value, "__name__", value))[:200]


def _hold(rule: Callable[..., None], cases: Sequence[tuple[str, Callable[[], None]]]) -> None:
    assert cases, "there is no case"
    broken = [f"{called}: {wrong}" for called, case in cases if (wrong := _fault(rule, case))]
    if broken:
        raise AssertionError(f"{len(broken)} of {len(cases)} cases:\n\n" + "\n\n".join(broken))


def _fault(rule: Callable[..., None], case: Callable[[], None]) -> str:
    try:
        case()
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame for frame in frames if frame.name == rule.__name__), frames[-1])
        return f"{type(error).__name__} in line {line.lineno}: {error}"
    return ""
