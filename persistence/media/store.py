"""What a media store does, wherever it keeps its files: in a folder, which all machines share, or in a bucket
(`s3.py`); and which one the settings name.
"""

import contextlib
import os
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from relayboard.base.private_files import make_folder, open_new
from relayboard.base.settings import SettingError, Settings

RECEIVED = "received"
UNFINISHED = ".part"
NODES = ".nodes"

NAME = "RELAYBOARD_MEDIA_URL"


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


class FolderStore(MediaStore):
    """Files under a `file://` URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise ValueError("not a file:// URL")
        self.folder = Path(unquote(parts.netloc + parts.path))

    @property
    def place(self) -> str:
        return f"the folder {self.folder}"

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        path = self._path(name)
        make_folder(path.parent)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}{UNFINISHED}")
        try:
            with open_new(temporary) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def receiving(self, file_uuid: str) -> Iterator[BinaryIO]:
        """Without a temporary name: a received file counts only when a row names it."""
        with open_new(self._path(f"{RECEIVED}/{file_uuid}")) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def open(self, name: str) -> StoredFile | None:
        path = self.open_path(name)
        try:
            stream = None if path is None else path.open("rb")
        except FileNotFoundError:
            return None
        if stream is None:
            return None
        status = os.fstat(stream.fileno())
        return StoredFile(stream, status.st_size, status.st_mtime)

    def open_path(self, name: str) -> Path | None:
        """The path of a stored file; None if there is none."""
        path = self._path(name)
        return path if path.is_file() else None

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def move(self, name: str, new_name: str) -> None:
        path = self._path(new_name)
        make_folder(path.parent)
        self._path(name).replace(path)

    def list_entries(self, folder: str) -> Iterator[tuple[str, float]]:
        path = self._path(folder)
        for each in sorted(path.iterdir()) if path.is_dir() else []:
            with contextlib.suppress(FileNotFoundError):
                yield each.name, each.stat().st_mtime

    def list_names(self, changed_since: float = 0.0) -> Iterator[str]:
        root = self.folder.resolve()
        for folder, below, files in os.walk(root):
            below[:] = sorted(each for each in below if not each.startswith("."))
            for each in files:
                path = Path(folder, each)
                if each.startswith(".") or each.endswith(UNFINISHED):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    if changed_since == 0.0 or path.stat().st_ctime >= changed_since:
                        yield path.relative_to(root).as_posix()

    def now(self) -> float:
        return time.time()

    def _path(self, name: str) -> Path:
        root = self.folder.resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise ValueError("a name outside the store")
        return path


def open_store(settings: Settings) -> MediaStore:
    """The folder or bucket of RELAYBOARD_MEDIA_URL; nothing is asked of it yet. Raises SettingError."""
    check_store_package(settings)
    if settings.media_url.startswith("file:"):
        return FolderStore(settings.media_url)
    from persistence.media.s3 import S3Store  # noqa: PLC0415  # only where files are in a bucket: it takes 40 MB

    return S3Store(settings)


def check_store_package(settings: Settings) -> None:
    """Raises SettingError if the settings name a bucket and the extra `s3` is not installed; imports nothing."""
    if settings.media_url.startswith("s3:") and find_spec("boto3") is None:
        reason = "the package for S3 is not installed; `pip install relayboard[s3]` does it"
        raise SettingError(f"{NAME} cannot be used: {reason}", NAME)
