"""What a media store does, wherever it keeps its files: in a folder, which all machines share, or in a bucket
(`s3.py`); and which one the settings name.
"""

import contextlib
import os
import re
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from sqlalchemy import ColumnElement, Text, cast, delete, select

from persistence.database import Database, Transaction
from persistence.errors import LimitReached, NothingFound
from persistence.sql.columns import is_uuid, split
from persistence.statements import update
from persistence.tables.data_jobs import contact_import
from persistence.tables.messages import incoming_file, media, media_usage, message
from relayboard.base.private_files import make_folder, open_new
from relayboard.base.settings import SettingError, Settings

RECEIVED = "received"
UNFINISHED = ".part"
NODES = ".nodes"

NAME = "RELAYBOARD_MEDIA_URL"

UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE | re.ASCII)

RECEIVED_SECONDS = 3600.0
"""Uploads without a write for this long are abandoned: slower clients are disconnected."""


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


def add_media(
    tx: Transaction,
    workspace_id: int,
    uuid: str,
    *,
    content_type: str,
    filename: str,
    size: int,
    url: str,
    quota_bytes: int,
) -> None:
    """Record a file that is, or is about to be, in the media store. Raises LimitReached at the workspace's quota."""
    _occupy(tx, workspace_id, size, quota_bytes)
    values = {"content_type": content_type, "filename": filename, "size": size, "url": url}
    tx.insert(media, workspace_id=workspace_id, uuid=uuid, created_on=tx.now, **values)


def named_in(attachments: Iterable[Mapping[str, Any]]) -> list[str]:
    """The UUIDs of the uploaded files that attachments of a message name."""
    return [found[-1].lower() for each in attachments if (found := UUID.findall(each.get("url", "")))]


def note_former_owners(tx: Transaction, workspace_id: int, which: ColumnElement[bool]) -> None:
    """Keeps with files whose they were, before the messages that name them are emptied; those that are still at the
    provider are not fetched any more."""
    rows, waiting = message.c, incoming_file.c
    emptied = select(rows.id).where(rows.workspace_id == workspace_id, which)
    tx.execute(delete(incoming_file).where(waiting.workspace_id == workspace_id, waiting.message_id.in_(emptied)))
    named = rows.workspace_id == workspace_id, which, cast(rows.attachments, Text) != "[]"
    owners: dict[int, set[str]] = {}
    for contact_id, attachments in tx.execute(select(rows.contact_id, rows.attachments).where(*named)):
        owners.setdefault(contact_id, set()).update(named_in(attachments))
    for contact_id, uuids in sorted(owners.items()):
        for some in split(sorted(uuids)):
            theirs = (media.c.workspace_id == workspace_id) & media.c.uuid.in_(some)
            tx.execute(update(media).where(theirs).values(former_contact_id=contact_id))


def delete_media(tx: Transaction, workspace_id: int, uuid: str) -> str | None:
    """Delete the record of a file and free its space; returns its path in the store, None if the workspace has no
    such file."""
    if not is_uuid(uuid):
        return None
    mine = (media.c.workspace_id == workspace_id) & (media.c.uuid == uuid.lower())
    row = tx.execute(delete(media).where(mine).returning(media.c.size, media.c.url)).first()
    if row is None:
        return None
    size, url = row
    freed = update(media_usage).where(media_usage.c.workspace_id == workspace_id)
    tx.execute(freed.values(bytes=media_usage.c.bytes - size))
    return place_in_store(url)


def list_media(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """The files of a workspace, newest first."""
    columns = (media.c.uuid, media.c.content_type, media.c.filename, media.c.size, media.c.url, media.c.created_on)
    rows = tx.execute(select(*columns).where(media.c.workspace_id == workspace_id).order_by(media.c.id.desc()))
    return [{str(name): value for name, value in row.items()} for row in rows.mappings()]


def read_usage(tx: Transaction, workspace_id: int) -> int:
    """The bytes that the files of a workspace use together."""
    used = select(media_usage.c.bytes).where(media_usage.c.workspace_id == workspace_id)
    return tx.execute(used).scalar() or 0


def place_in_store(url: str) -> str:
    """The path of a file in the media store, with which its URL ends."""
    return url.rpartition("/media/")[2]


def finish_received(database: Database, store: MediaStore) -> None:
    """Clean up after killed processes: a file whose row was committed gets its final name, others are deleted."""
    for part in store.list_received(RECEIVED_SECONDS):
        settle_received(database, store, part)


def settle_received(database: Database, store: MediaStore, part: str) -> None:
    """Gives a received file its final name if its row was committed, and deletes it otherwise."""
    with database.reading() as tx:
        url = tx.execute(select(media.c.url).where(media.c.uuid == part)).scalar()
        place = find_import_file(tx, part) if url is None else place_in_store(url)
    if place is None:
        store.discard(part)
    else:
        store.accept(part, place)


def place_of_import(file_uuid: str) -> str:
    """The path in the media store of a file of contacts that was uploaded; nobody can download it."""
    return f"uploads/{file_uuid}"


def find_import_file(tx: Transaction, file_uuid: str) -> str | None:
    """The path of the file of an import that was uploaded with this UUID."""
    named = select(contact_import.c.source).where(contact_import.c.source == place_of_import(file_uuid))
    return tx.execute(named.limit(1)).scalar()


@dataclass(frozen=True, slots=True)
class MediaFile:
    """An uploaded file: its UUID, and the `content_type` and `url` that messages contain."""

    uuid: str
    content_type: str
    url: str

    @property
    def attachment(self) -> dict[str, str]:
        return {"content_type": self.content_type, "url": self.url}


def find_media(tx: Transaction, workspace_id: int, references: Iterable[str]) -> dict[str, MediaFile]:
    """Uploaded files of the workspace by reference; one statement, unknown references are left out. A reference is a
    media UUID, or `type:url` whose URL contains the UUID.
    """
    uuids = {reference: _uuids_in(reference) for reference in references}
    wanted = {uuid for found in uuids.values() for uuid in found}
    if not wanted:
        return {}
    statement = select(media.c.uuid, media.c.content_type, media.c.url)
    rows = tx.execute(statement.where(media.c.workspace_id == workspace_id, media.c.uuid.in_(wanted)))
    known = {uuid: MediaFile(uuid, content_type, url) for uuid, content_type, url in rows}
    named = {name: [known[uuid] for uuid in found if uuid in known] for name, found in uuids.items()}
    return {name: files[0] for name, files in named.items() if files}


def find_attachments(
    tx: Transaction, workspace_id: int, references: Sequence[str], *, field: str = "attachments"
) -> list[dict[str, str]]:
    """The attachments of messages for references (see `find_media`). Raises InvalidInput for the first unknown
    reference.
    """
    known = find_media(tx, workspace_id, references)
    for index, reference in enumerate(references):
        if reference not in known:
            raise NothingFound(field, reference, index)
    return [known[reference].attachment for reference in references]


def _occupy(tx: Transaction, workspace_id: int, size: int, quota_bytes: int) -> None:
    """Counts and compares in one statement, so that concurrent uploads cannot exceed the quota."""
    tx.execute(tx.upsert(media_usage).values(workspace_id=workspace_id, bytes=0).on_conflict_do_nothing())
    used = media_usage.c
    has_room = (used.workspace_id == workspace_id) & (used.bytes + size <= quota_bytes)
    if tx.execute(update(media_usage).where(has_room).values(bytes=used.bytes + size)).rowcount == 0:
        raise LimitReached(
            f"The files of a workspace may occupy {quota_bytes} bytes; there is no space left for this file."
        )


def _uuids_in(reference: str) -> list[str]:
    """All UUIDs of a reference, the last one first: in URLs the file comes after its workspace."""
    return [found.lower() for found in UUID.findall(reference)][::-1]
