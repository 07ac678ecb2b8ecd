"""Versions of the definition format (flow format, versions and migrations)."""

import re
from typing import TypeAlias

from flows.definition.errors import DefinitionError
from flows.words import told

Version: TypeAlias = tuple[int, int, int]
OLDEST: Version = (13, 0, 0)
NEWEST: Version = (14, 4, 2)
VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?")


def newer_version(version: Version) -> str:
    """Why a version cannot be read that is newer than this program."""
    return f"version {write_version(version)} is newer than {write_version(NEWEST)}, the newest that is known here"


def read_version(text: object) -> Version:
    """A version string as numbers. Raises DefinitionError."""
    found = VERSION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise DefinitionError(f"{told(text)} is not a version such as 13.2.0", field="spec_version")
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def write_version(version: Version) -> str:
    """A version in the form of definitions, such as `13.6.1`."""
    return ".".join(str(number) for number in version)
