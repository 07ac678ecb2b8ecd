"""Values of contact fields: what a text is read as, and how it is stored."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from flows.clock import SystemClock
from flows.dates import parse_datetime
from flows.environment import Environment
from flows.numbers import NumberError, parse_decimal, render_decimal
from persistence.workspaces import Workspace

VALUE_LENGTH = 640
DATE_FORMATS = {"day_first": "DD-MM-YYYY", "month_first": "MM-DD-YYYY", "year_first": "YYYY-MM-DD"}


@dataclass(frozen=True, slots=True)
class FixedClock(SystemClock):
    """A clock that stands at the moment of a unit of work."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def random(self) -> Decimal:
        return SystemClock().random()


def environment_of(workspace: Workspace) -> Environment:
    """The formats, timezone, languages and country under which a workspace's texts are read."""
    return Environment(
        date_format=DATE_FORMATS[workspace.date_style],
        timezone=workspace.timezone,
        allowed_languages=workspace.languages,
        default_country=workspace.country,
        redaction_policy="urns" if workspace.is_anonymous else "none",
    )


def read_value(workspace: Workspace, text: str | None, now: datetime) -> dict[str, Any] | None:
    """What a field value is stored as: its text, and the number and the datetime it can be read as.

    None for an empty text, which clears the field. Numbers are plain decimal texts; datetimes are ISO 8601 in the
    workspace's timezone (contract reference, contact field values).
    """
    text = (text or "").strip()[:VALUE_LENGTH]
    if not text:
        return None
    stored = {"text": text}
    environment = environment_of(workspace)
    with contextlib.suppress(NumberError):
        stored["number"] = render_decimal(parse_decimal(text, environment.number_format))
    moment = parse_datetime(environment, FixedClock(now), text, fill_time=False)
    if moment is not None:
        stored["datetime"] = moment.astimezone(workspace.zone).isoformat()
    return stored
