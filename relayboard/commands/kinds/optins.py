"""Opt-ins."""

from persistence.optins import OPTINS, create_optin, rename_optin
from relayboard.commands.kinds.kind import Kind, created, renamed

KIND = Kind(OPTINS, create=created(create_optin), change=renamed(rename_optin))
