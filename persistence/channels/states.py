"""What kind of channel a row is, and when a phone counts as lost: conditions and limits that many modules need."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam

from persistence.channels.types import GATEWAYS, RELAYERS
from persistence.tables.channels import channel


def _listed(types: Sequence[str]) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, list(types), expanding=True, literal_execute=True)
    return channel.c.type.in_(listed)


IS_RELAYER, IS_GATEWAY = _listed(RELAYERS), _listed(GATEWAYS)
LOST_AFTER = timedelta(minutes=30)
