from datetime import UTC, datetime, timedelta
from uuid import UUID

from flows.environment import SystemClock


def test_the_present_is_aware_and_in_utc():
    assert SystemClock().now().tzinfo is UTC
    assert abs(datetime.now(UTC) - SystemClock().now()) < timedelta(minutes=1)


def test_chance_is_at_least_zero_and_less_than_one():
    assert all(0 <= SystemClock().random() < 1 for _ in range(100))


def test_every_identifier_is_a_new_uuid():
    made = {SystemClock().uuid() for _ in range(50)}

    assert len({UUID(text) for text in made}) == 50
