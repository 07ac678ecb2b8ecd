"""Contacts."""

from persistence.contacts.v2 import CONTACTS
from relayboard.commands.kinds.kind import Kind

KIND = Kind(CONTACTS)
