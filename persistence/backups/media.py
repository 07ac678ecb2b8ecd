"""Uploaded files and archives in a backup: a TAR stream, file after file."""

import shutil
import tarfile
import time
from collections.abc import Iterator

from persistence.backups.errors import BackupError
from persistence.backups.files import PIECE_BYTES, BackupReader, BackupWriter
from persistence.media.store import MediaStore

FIRST, LATER = "media.tar", "media-later.tar"
SLACK_SECONDS = 5.0


class MediaPasses:
    """Files are copied before the database, and files added meanwhile after it. So each file that the rows of a backup
    name is included: files that were deleted meanwhile are in the first part.
    """

    def __init__(self, store: MediaStore, writer: BackupWriter) -> None:
        self._store = store
        self._writer = writer
        self._since = time.time() - SLACK_SECONDS
        self._taken: set[str] = set()

    def take_first(self) -> None:
        self._take(FIRST, 0.0)

    def take_later(self) -> None:
        self._take(LATER, self._since)

    def _take(self, part: str, since: float) -> None:
        manifest = self._writer.manifest
        with self._writer.member(part, compress=False) as stream, tarfile.open(fileobj=stream, mode="w|") as tar:  # type: ignore[call-overload]
            for name in self._store.list_names(since):
                if name in self._taken:
                    continue
                path = self._store.open_path(name)
                try:
                    file = None if path is None else path.open("rb")
                except FileNotFoundError:
                    file = None
                if file is None:  # deleted since it was listed
                    continue
                with file:
                    info = tar.gettarinfo(arcname=name, fileobj=file)
                    tar.addfile(_without_owner(info), file)
                tar.members.clear()  # it would remember every file
                if info.mtime >= self._since:  # young enough to be listed again
                    self._taken.add(name)
                manifest.media_files += 1
                manifest.media_bytes += info.size


def _without_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def put_back(reader: BackupReader, store: MediaStore) -> None:
    """Writes all files into an empty store; files of the second part are the same or new."""
    for part in (FIRST, LATER):
        with reader.member(part) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for name, file in _files_of(tar):
                if store.open_path(name) is None:
                    with store.writing(name) as placed:
                        shutil.copyfileobj(file, placed, PIECE_BYTES)


def _files_of(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.ExFileObject]]:
    for info in tar:
        file = tar.extractfile(info)
        if file is None or not info.isreg():
            raise BackupError(f"the backup holds {info.name}, which is no file")
        yield info.name, file  # type: ignore[misc]
        tar.members.clear()  # type: ignore[attr-defined]


def take_away(store: MediaStore) -> None:
    """Deletes the files again after a failure; the store was empty before."""
    for name in store.list_names():
        store.remove(name)


def check_store_empty(store: MediaStore) -> None:
    """Raises BackupError if there are files."""
    if next(store.list_names(), None) is not None:
        raise BackupError(f"the media folder {store.folder} holds files: restore into an empty one")
