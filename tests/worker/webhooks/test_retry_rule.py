from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.webhooks.dispatcher import Decision, Verdict, decide

NOW = datetime(2026, 3, 2, 8, 10, tzinfo=UTC)
DELAYS = (10, 120, 900)


def after(attempt=1, status=500, chance=0.5, delays=DELAYS, **more):
    return decide(attempt=attempt, status=status, now=NOW, chance=chance, delays_seconds=delays, **more)


def wait_seconds(decision):
    assert decision.verdict is Verdict.RETRY
    return (decision.retry_at - NOW).total_seconds()


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_accepts(status):
    assert after(status=status) == Decision(Verdict.DELIVERED)


@pytest.mark.parametrize(
    "status", [400, 500, 101, 199, 300, 301, 308, 401, 404, 408, 410, 429, 502, 503, 504, 599, None]
)
def test_everything_else_is_tried_again(status):
    assert wait_seconds(after(status=status)) == 10


def test_there_are_four_attempts_with_growing_delays():
    assert [wait_seconds(after(attempt)) for attempt in (1, 2, 3)] == [10, 120, 900]
    assert after(4) == Decision(Verdict.FAILED)


def test_settings_may_shorten_the_series_but_not_prolong_it():
    assert after(2, delays=(10,)) == Decision(Verdict.FAILED)
    assert after(1, delays=()) == Decision(Verdict.FAILED)
    assert after(4, delays=(1, 1, 1, 1, 1)) == Decision(Verdict.FAILED)


def test_chance_moves_a_delay_by_up_to_a_fifth():
    assert wait_seconds(after(chance=0.0)) == pytest.approx(8)
    assert wait_seconds(after(chance=0.999999)) == pytest.approx(12, abs=0.001)


def test_a_subscriber_that_is_gone_is_not_called_again():
    assert after(status=410, is_subscriber=True) == Decision(Verdict.GONE)
    assert [wait_seconds(after(status=status, is_subscriber=True)) for status in (409, 411, None)] == [10, 10, 10]


class TestRetryAfter:
    @pytest.mark.parametrize("status", [429, 503])
    def test_it_is_kept_for_429_and_503(self, status):
        assert wait_seconds(after(status=status, retry_after=" 60 ", chance=0.0)) == 60

    def test_chance_moves_it_to_later_by_up_to_a_fifth(self):
        assert wait_seconds(after(status=503, retry_after="60", chance=0.5)) == pytest.approx(66)

    @pytest.mark.parametrize("status", [428, 430, 500, 502, 504])
    def test_it_is_not_read_for_other_answers(self, status):
        assert wait_seconds(after(status=status, retry_after="60")) == 10

    @pytest.mark.parametrize("zone", ["GMT", "+0000", "-0000"])
    def test_it_may_be_a_date(self, zone):
        assert wait_seconds(after(status=503, retry_after=f"Mon, 02 Mar 2026 08:12:00 {zone}", chance=0.0)) == 120

    @pytest.mark.parametrize(("value", "seconds"), [("0", 1), ("9" * 5000, 3600), ("Mon, 02 Mar 2020 08:12:00 GMT", 1)])
    def test_it_is_kept_within_bounds(self, value, seconds):
        assert wait_seconds(after(status=429, retry_after=value, chance=0.0)) == seconds

    @pytest.mark.parametrize(
        "value",
        [
            *("", "soon", "-5", "1.5", "٣", "99 Foo 2026 00:00:00 GMT", None),
            *(f"Mon, 02 Mar {'9' * 20} 08:12:00 GMT", f"Mon, 02 Mar 2026 08:12:00 +{'9' * 20}"),
        ],
    )
    def test_what_cannot_be_read_is_ignored(self, value):
        assert wait_seconds(after(status=503, retry_after=value)) == 10

    def test_it_does_not_add_attempts(self):
        assert after(4, status=429, retry_after="60") == Decision(Verdict.FAILED)


@given(
    attempt=st.integers(1, 6),
    status=st.none() | st.integers(100, 599),
    chance=st.floats(0, 1, exclude_max=True),
    value=st.none() | st.text(max_size=40),
)
def test_a_retry_always_lies_between_now_and_the_longest_wait(attempt, status, chance, value):
    decision = after(attempt, status, chance, retry_after=value)

    assert (decision.verdict is Verdict.RETRY) == (decision.retry_at is not None)
    if decision.retry_at is not None:
        assert timedelta(0) < decision.retry_at - NOW <= timedelta(seconds=3600 * 1.2)
        assert attempt <= 3
