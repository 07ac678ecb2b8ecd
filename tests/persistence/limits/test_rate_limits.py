"""Registrations of phones per IP address."""

from datetime import timedelta

import pytest

from persistence.database import Database
from persistence.limits.rate_limits import Origin, TooManyRegistrations, count_registration


def test_the_time_until_the_next_registration_is_rounded_up(database: Database) -> None:
    origin = Origin("192.0.2.1", 1, timedelta(seconds=60))
    with database.writing() as tx:
        count_registration(tx, origin)
        with pytest.raises(TooManyRegistrations) as refused:
            count_registration(tx, origin)

    assert refused.value.retry_after_seconds == 61
