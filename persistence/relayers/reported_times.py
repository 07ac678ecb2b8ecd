"""How far the clocks of phones and gateways are believed."""

from datetime import datetime, timedelta

OLDEST = timedelta(days=365)
AHEAD = timedelta(minutes=15)
"""As far as a phone's clock may be off in a sync (relayer protocol, 7.3)."""


def believe(moment: datetime | None, now: datetime) -> datetime | None:
    """The moment, or None for one that no clock at work can have meant: of another year, or still to come.

    A phone whose clock was reset reports 1970, or the day its software was built.
    """
    return moment if moment is not None and now - OLDEST <= moment <= now + AHEAD else None
