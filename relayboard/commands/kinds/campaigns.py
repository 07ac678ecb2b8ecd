"""Campaigns."""

from persistence.campaigns.v2 import CAMPAIGNS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(CAMPAIGNS)
