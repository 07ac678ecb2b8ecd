"""Where uploaded files lie: a folder, served by the API itself."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit


class MediaStore:
    """Files under `file://` URLs, by workspace and uuid; writing is atomic."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise ValueError("only file:// media stores are built in")
        self.folder = Path(unquote(parts.netloc + parts.path))

    def save(self, name: str, content: bytes) -> None:
        """Write a file under its place in the store, such as `<workspace uuid>/<media uuid>.png`."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(path.name + ".part")
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A file to write piece by piece; it takes its place when the block ends, else nothing is left of it."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""
        self._path(name).unlink(missing_ok=True)

    def open_path(self, name: str) -> Path | None:
        """The path of a stored file; None when there is none, or the name leads outside the store."""
        path = self._path(name)
        return path if path.is_file() else None

    def _path(self, name: str) -> Path:
        root = self.folder.resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise ValueError("a name outside the store")
        return path
