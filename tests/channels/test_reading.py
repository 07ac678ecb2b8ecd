"""Times of callbacks: all usual forms are read, and no impossible one stops a message."""

from datetime import UTC, datetime
from typing import Any

import pytest

from channels.calls import Media, Response, Unread
from channels.reading import linked_file, moment
from channels.types import TYPES
from tests.channels.test_cases import FILES

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
        "2026-03-01T14:00:00 02:00",
        "20260301120000",
        "20260301T120000Z",
        "Sun, 01 Mar 2026 14:00:00 +0200",
        "1 Mar 2026 12:00:00 GMT",
        "01.03.2026 14:00:00 +02:00",
    ],
)
def test_a_time_in_a_usual_form_is_read(value: Any) -> None:
    assert moment(value) == MOMENT


@pytest.mark.parametrize("value", ["21/03/2026 09:15", "21-03-2026 09:15", "21.03.2026, 09:15", "03/21/2026 09:15"])
def test_the_day_is_what_can_be_no_month(value: str) -> None:
    assert moment(value) == datetime(2026, 3, 21, 9, 15, tzinfo=UTC)


def test_with_full_stops_the_day_is_always_the_first() -> None:
    assert moment("03.04.2026 10:00") == datetime(2026, 4, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        0,
        -5,
        -(10**17),
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
        "03/04/2026 10:00",
        "2026-13-45",
        "31.02.2026",
        "0001-01-01",
        "20261399000000",
        "1e400",
        "21/03/2026 09:15:30 +99:99",
        "Sat, 99 Mar 2026 11:15:30 +0200",
    ],
)
def test_a_time_that_nobody_means_is_none(value: Any) -> None:
    assert moment(value) is None


BY_URL = ("instagram", "messenger", "twilio", "viber")
"""The types whose callbacks have URLs of files."""


@pytest.mark.parametrize("name", BY_URL)
@pytest.mark.parametrize("url", ["http://[", "http://a]/x.jpg", "https://[::1/x.jpg"])
def test_a_file_at_what_is_no_url_is_refused_when_it_is_fetched(name: str, url: str) -> None:
    fetch = TYPES[name].fetch
    assert fetch is not None

    for reference, responses in ((url, []), ("https://a.example.org/x", [Response(302, {"location": url})])):
        with pytest.raises(Unread, match="no URL"):
            fetch(Media("image/jpeg", reference=reference), FILES[name]["settings"], responses)


def test_a_message_is_not_lost_for_the_url_of_its_file() -> None:
    assert linked_file("http://[", "image/jpeg") == Media("image/jpeg", reference="http://[")
