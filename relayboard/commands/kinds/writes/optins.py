"""Opt-ins."""

from persistence.optins import create_optin, rename_optin
from relayboard.commands.kinds.kind import Writes, created, renamed

WRITES = Writes(create=created(create_optin), change=renamed(rename_optin))
