"""Times as providers write them: all usual forms are read, and no impossible one stops a message."""

from datetime import UTC, datetime
from typing import Any

import pytest

from channels.moments import read_moment

NINE = datetime(2026, 3, 21, 9, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-21T09:15:30Z",
        "2026-03-21t09:15:30z",
        "2026-03-21T11:15:30+02:00",
        "2026-03-21T11:15:30 02:00",
        "2026-03-21 09:15:30",
        "20260321091530",
        "20260321T091530Z",
        "Sat, 21 Mar 2026 11:15:30 +0200",
        "21 Mar 2026 09:15:30 GMT",
        "1774084530",
        1774084530,
        "1774084530000",
        1774084530000.0,
        "21/03/2026 09:15:30",
        "21-03-2026 09:15:30",
        "21.03.2026 11:15:30 +02:00",
        "03/21/2026 09:15:30",
    ],
)
def test_a_time_in_any_usual_form_is_read(written: Any) -> None:
    assert read_moment(written) == NINE


def test_with_full_stops_the_day_is_always_the_first() -> None:
    assert read_moment("03.04.2026 10:00") == datetime(2026, 4, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        *("", "yesterday", "03/04/2026 10:00", "2026-13-45", "31.02.2026", "0001-01-01", "20261399000000", "9" * 400),
        *("1e400", "21/03/2026 09:15:30 +99:99", "Sat, 99 Mar 2026 11:15:30 +0200", None, True, {"at": 1}, -5),
    ],
)
def test_a_time_that_nobody_can_mean_is_none(written: Any) -> None:
    assert read_moment(written) is None
