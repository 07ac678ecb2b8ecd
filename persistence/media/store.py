"""The store of uploaded files: a folder, served by the API itself."""

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from relayboard.base.private_files import make_folder, open_new

RECEIVED = "received"
UNFINISHED = ".part"
NODES = ".nodes"


class MediaStore:
    """Files under `file://` URLs, by workspace and uuid; writing is atomic."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise ValueError("only file:// media stores are built in")
        self.folder = Path(unquote(parts.netloc + parts.path))

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A file to write piece by piece; it gets its final name when the block ends without an exception, otherwise
        it is deleted."""
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
        """A file to write that is kept or deleted later, by `accept` or `discard`; it survives a power failure."""
        with open_new(self._path(f"{RECEIVED}/{file_uuid}")) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def accept(self, file_uuid: str, name: str) -> None:
        """Give a received file its final name."""
        path = self._path(name)
        make_folder(path.parent)
        self._path(f"{RECEIVED}/{file_uuid}").replace(path)

    def discard(self, file_uuid: str) -> None:
        """Delete a received file; does nothing if it was accepted or never existed."""
        self.remove(f"{RECEIVED}/{file_uuid}")

    def list_received(self, untouched_seconds: float) -> list[str]:
        """The received files without a write for this long, which killed processes left."""
        before = time.time() - untouched_seconds
        folder = self._path(RECEIVED)
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        return [each.name for each in files if each.stat().st_mtime < before]

    def remove(self, name: str) -> None:
        """Delete a file if it exists."""
        self._path(name).unlink(missing_ok=True)

    def list_names(self, changed_since: float = 0.0) -> Iterator[str]:
        """The names of all files, unordered, optionally only those added or changed since a time (in seconds, as
        `time.time`). Unfinished files and files whose names begin with a dot are left out.
        """
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

    def leave_node(self, host: str) -> None:
        """Lets other machines find that this one uses the same folder."""
        with self.writing(f"{NODES}/{host}") as file:
            file.write(host.encode())

    def list_nodes(self) -> list[str]:
        """The machines whose workers have used this folder."""
        folder = self._path(NODES)
        return sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []

    def open_path(self, name: str) -> Path | None:
        """The path of a stored file; None if there is none, or the name leads outside the store."""
        path = self._path(name)
        return path if path.is_file() else None

    def _path(self, name: str) -> Path:
        root = self.folder.resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise ValueError("a name outside the store")
        return path
