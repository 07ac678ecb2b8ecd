"""What kind of channel a row is, and when a phone counts as lost: conditions and limits that many modules need."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam, case, func, null

from persistence.channels.types import GATEWAYS, RELAYERS
from persistence.tables.channels import channel


def _listed(types: Sequence[str]) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, list(types), expanding=True, literal_execute=True)
    return channel.c.type.in_(listed)


IS_RELAYER, IS_GATEWAY = _listed(RELAYERS), _listed(GATEWAYS)
LOST_AFTER = timedelta(minutes=30)

_REFUSED_SINCE = channel.c.refused_on > func.coalesce(channel.c.last_seen, channel.c.created_on)
IS_REFUSED = IS_RELAYER & channel.c.is_active & _REFUSED_SINCE
REFUSED: tuple[ColumnElement[datetime | None], ColumnElement[str | None]] = (
    case((_REFUSED_SINCE, channel.c.refused_on), else_=null()),
    case((_REFUSED_SINCE, channel.c.refused_reason), else_=null()),
)
"""When a phone was refused last, and why, if no sync succeeded since."""
