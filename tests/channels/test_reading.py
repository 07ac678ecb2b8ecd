"""Which times of callbacks are read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from channels.reading import moment

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECONDS = int(MOMENT.timestamp())


@pytest.mark.parametrize(
    "value",
    [
        SECONDS,
        str(SECONDS),
        float(SECONDS),
        SECONDS * 1000,
        SECONDS * 10**6,
        str(SECONDS * 10**9),
        "2026-03-01 12:00:00",
        "2026-03-01T12:00:00Z",
        "2026-03-01t14:00:00+02:00",
        " 2026-03-01T12:00:00.000+0000 ",
    ],
)
def test_a_time_in_a_usual_form_is_read(value: Any) -> None:
    assert moment(value) == MOMENT


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        0,
        -5,
        True,
        12,
        "yesterday",
        "1970-01-01 00:00:00",
        "9999-12-31T23:59:59-12:00",
        "2026-02-30",
        10**40,
        "9" * 400,
        float("nan"),
        float("inf"),
        {},
        [SECONDS],
        "²",
    ],
)
def test_a_time_that_nobody_means_is_none(value: Any) -> None:
    assert moment(value) is None
