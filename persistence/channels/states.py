"""What kind of channel a row is, and when a phone counts as lost: conditions and limits that many modules need."""

from datetime import timedelta

from persistence.channels.types import GATEWAYS, RELAYERS
from persistence.tables.channels import channel

IS_RELAYER = channel.c.type.in_(RELAYERS)
IS_GATEWAY = channel.c.type.in_(GATEWAYS)
LOST_AFTER = timedelta(minutes=30)
