"""What a media store does, wherever it keeps its files: a folder (`folder.py`) or a bucket (`s3.py`)."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

RECEIVED = "received"
UNFINISHED = ".part"
NODES = ".nodes"


class StoreUnavailable(Exception):
    """The media store does not answer or refuses; nothing was lost, and the same call may work later. The text is for
    operators: it names the store, but no secret.
    """


class RangeNotSatisfiable(Exception):
    """The file ends before the range that was asked for."""


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of an object without its content: size in bytes, entity tag, time (as `time.time`)."""

    size: int
    etag: str
    modified: float


@dataclass(frozen=True, slots=True)
class FetchedObject(Description):
    """An object, or a range of it, that is being read; `size` is that of the content of `stream`, `content_range` the
    header of a range."""

    stream: BinaryIO
    content_range: str | None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is being read: its content, its size in bytes, and when it was stored (as `time.time`)."""

    stream: BinaryIO
    size: int
    modified: float


class MediaStore(ABC):
    """Files by name, such as `<workspace uuid>/<media uuid>.png`; writing is atomic. All methods block, and raise
    StoreUnavailable if the files are on another machine that does not answer; ValueError for a name outside the store.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the files are, for people: `the folder /srv/media`."""

    @abstractmethod
    def writing(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """A file to write piece by piece; it exists under its name once the block ends without an exception, otherwise
        nothing is kept."""

    @abstractmethod
    def open(self, name: str) -> StoredFile | None:
        """A file to read, which the caller closes; None if there is none."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a file if it exists."""

    @abstractmethod
    def move(self, name: str, new_name: str) -> None:
        """Rename a file. Raises FileNotFoundError."""

    @abstractmethod
    def list_entries(self, folder: str) -> Iterator[tuple[str, float]]:
        """Name and time of each file directly in a folder, sorted by name."""

    @abstractmethod
    def list_names(self, changed_since: float = 0.0) -> Iterator[str]:
        """The names of all files, unordered, optionally only those added or changed since a time. Unfinished files and
        files whose names begin with a dot are left out.
        """

    @abstractmethod
    def now(self) -> float:
        """The time by the clock that dates the files (as `time.time`)."""

    def receiving(self, file_uuid: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """A file to write that is kept or deleted later, by `accept` or `discard`; it survives a power failure."""
        return self.writing(f"{RECEIVED}/{file_uuid}")

    def open_kept(self, file_uuid: str, name: str) -> StoredFile | None:
        """A file to read that a committed row names, also before `accept`: that comes after the commit, so a worker may
        be quicker, and if the process was killed in between it comes much later.
        """
        for place in (name, f"{RECEIVED}/{file_uuid}", name):  # it may be moved between two looks
            file = self.open(place)
            if file is not None:
                return file
        return None

    def accept(self, file_uuid: str, name: str) -> None:
        """Give a received file its final name. Raises FileNotFoundError."""
        self.move(f"{RECEIVED}/{file_uuid}", name)

    def discard(self, file_uuid: str) -> None:
        """Delete a received file; does nothing if it was accepted or never existed."""
        self.remove(f"{RECEIVED}/{file_uuid}")

    def list_received(self, untouched_seconds: float) -> list[str]:
        """The received files without a write for this long, which killed processes left."""
        before = self.now() - untouched_seconds
        return [name for name, modified in self.list_entries(RECEIVED) if modified < before]

    def leave_node(self, host: str) -> None:
        """Lets other machines find that this one uses the same store."""
        with self.writing(f"{NODES}/{host}") as file:
            file.write(host.encode())

    def list_nodes(self) -> list[str]:
        """The machines whose workers have used this store."""
        return [name for name, _ in self.list_entries(NODES)]

    def has(self, name: str) -> bool:
        """Whether a file exists."""
        file = self.open(name)
        if file is not None:
            file.stream.close()
        return file is not None


class ObjectStore(MediaStore):
    """A store on another machine."""

    @abstractmethod
    def fetch(self, name: str, byte_range: str | None = None) -> FetchedObject | None:
        """A file to read, or the range of it that a `Range` header names; None if there is none. Raises
        RangeNotSatisfiable.
        """

    @abstractmethod
    def describe(self, name: str) -> Description | None:
        """A file without its content; None if there is none."""
