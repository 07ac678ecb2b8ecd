"""The lines of archives."""

import gzip
from collections.abc import Iterator

from persistence.media.store import MediaStore


class ArchiveGone(Exception):
    """The media store does not have the file of an archive."""


def read_lines(store: MediaStore, location: str) -> Iterator[bytes]:
    """The records of an archive as JSON, each with its line end. Raises ArchiveGone."""
    stored = store.open(location)
    if stored is None:
        raise ArchiveGone(location)
    with stored.stream, gzip.open(stored.stream) as packed:
        yield from packed
