"""Files in multipart requests: they are written to the media store while they arrive, and never kept in memory."""

import hashlib
import mimetypes
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from handlers.asgi.plain_responses import Refusal
from handlers.asgi.request_body import Body
from persistence.errors import InvalidInput, Refused

PART = b"file"
MOST_OTHER_PARTS = 10
SIZE_LIMIT_BYTES = 25 * 1024 * 1024
RETRY_AFTER_SECONDS = "5"
KIND = re.compile(
    r"image/(?:apng|avif|gif|hei[cf](?:-sequence)?|jpeg|png|webp)|(?:audio|video)/[a-z0-9+-]{1,64}|application/pdf"
)
ALSO = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}
"""Names that programs give to kinds which have another one."""
UNNAMED = ("", "application/octet-stream")
"""What browsers say of a kind that they do not know, as most do not know the pictures of phones."""
OF_PHONES = {".heic": "image/heic", ".heif": "image/heif"}
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
FILENAME_LENGTH = 255


@dataclass(slots=True)
class Upload:
    """One file of a multipart request, stored by the media store under `uuid`. `hash` is its SHA-256. A handler that
    keeps the file sets `place`, its path in the store after the commit.
    """

    uuid: str
    filename: str
    content_type: str
    size: int
    hash: str
    place: str | None = None


@dataclass(slots=True)
class UploadPlaces:
    """How many concurrent uploads this process allows, in total and for each workspace. Visitors of its sites take at
    most half of them: a few slow ones must not keep its people from theirs."""

    most: int
    most_of_workspace: int
    taken: Counter[int] = field(default_factory=Counter)
    of_visitors: Counter[int] = field(default_factory=Counter)

    @contextmanager
    def take(self, workspace_id: int, *, is_visitor: bool = False) -> Iterator[None]:
        """Counts an upload until the block ends. Raises Refusal: 429 if the workspace has too many, 503 if the process
        has."""
        retry = {"Retry-After": RETRY_AFTER_SECONDS}
        if is_visitor and self.of_visitors[workspace_id] >= max(1, self.most_of_workspace // 2):
            raise Refusal(429, "Too many visitors send files at the same time; try again.", retry)
        if self.taken[workspace_id] >= self.most_of_workspace:
            raise Refusal(
                429, f"At most {self.most_of_workspace} uploads of a workspace at the same time; try again.", retry
            )
        if self.taken.total() >= self.most:
            raise Refusal(503, "The service is receiving too many uploads; try again.", retry)
        self.taken[workspace_id] += 1
        self.of_visitors[workspace_id] += is_visitor
        try:
            yield
        finally:
            self.taken[workspace_id] -= 1
            self.of_visitors[workspace_id] -= is_visitor
            self.taken += Counter()  # removes workspaces without uploads
            self.of_visitors += Counter()


@asynccontextmanager
async def in_threads(writing: AbstractContextManager[BinaryIO]) -> AsyncIterator[BinaryIO]:
    """A file that another thread opens and closes, because a disk or a bucket may be slow."""
    file = await anyio.to_thread.run_sync(writing.__enter__)
    try:
        yield file
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(writing.__exit__, type(error), error, error.__traceback__)
        raise
    await anyio.to_thread.run_sync(writing.__exit__, None, None, None)


async def receive_upload(body: Body, content_type: bytes, file: BinaryIO, uuid: str) -> Upload:
    """The only file of a form, written to `file` while it arrives; of a file over 25 MiB at most one byte more is
    written. Raises InvalidInput if the part is missing, Refused if the body is not a multipart form, and what bodies
    raise.
    """
    try:
        form = FormReader(content_type, file)
        is_complete = False
        while not is_complete:
            message = await body.receive()
            is_complete = not message.get("more_body", False)
            await anyio.to_thread.run_sync(form.write, message.get("body", b""))
        return form.finish(uuid)
    except FormParserError as error:
        raise Refused("The request body is not a valid multipart form.") from error


def describe_upload(upload: Upload, workspace_uuid: str, root: str) -> dict[str, str]:
    """What a message shows of a file: `content_type`, `url`, which begins with `root`, and `filename`. Gives the upload
    its place in the store. Raises InvalidInput for a file that nobody shows.
    """
    kind = _kind_of(upload.content_type, upload.filename)
    if not KIND.fullmatch(kind):
        raise InvalidInput.on("file", "Only images, audio, video and PDF files are accepted.")
    if not upload.size:
        raise InvalidInput.on("file", "An empty file is not allowed.")
    if upload.size > SIZE_LIMIT_BYTES:
        raise InvalidInput.on("file", "At most 25 MiB.")
    filename = CONTROL_CHARACTERS.sub("", upload.filename)[-FILENAME_LENGTH:] or "file"
    upload.place = f"{workspace_uuid}/{upload.uuid}{_ending_of(kind)}"
    return {"content_type": kind, "url": f"{root}/media/{upload.place}", "filename": filename}


class FormReader:
    """Reads the part `file` of a form piece by piece and skips the other parts."""

    def __init__(self, content_type: bytes, file: BinaryIO) -> None:
        _, options = parse_options_header(content_type)
        if not options.get(b"boundary"):
            raise FormParserError("no boundary")
        self._parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._add_to_name,
                "on_header_value": self._add_to_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._begin_content,
                "on_part_data": self._add_content,
                "on_end": self._end,
            },
        )
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0
        self._headers: dict[bytes, bytes] = {}
        self._name = self._value = b""
        self._found: tuple[str, str] | None = None
        self._is_in_file = self._has_ended = False
        self._files = self._others = 0

    def write(self, data: bytes) -> None:
        """Raises FormParserError."""
        self._parser.write(data)

    def finish(self, uuid: str) -> Upload:
        """Returns the file after the last piece. Raises FormParserError, InvalidInput."""
        self._parser.finalize()
        if not self._has_ended:
            raise FormParserError("the form is incomplete")
        if self._found is None:
            raise InvalidInput.on(PART.decode(), "A value is required.", "required")
        filename, content_type = self._found
        return Upload(uuid, filename, content_type, self._size, self._digest.hexdigest())

    def _begin_part(self) -> None:
        self._headers, self._is_in_file = {}, False

    def _add_to_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def _begin_content(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        if b"name" not in options:
            raise FormParserError("a part without a name")
        is_file = b"filename" in options
        self._files += is_file
        self._others += not is_file
        if self._files > 1 or self._others > MOST_OTHER_PARTS:
            raise FormParserError("too many parts")
        self._is_in_file = is_file and options[b"name"] == PART
        if self._is_in_file:
            kind = self._headers.get(b"content-type", b"").decode("latin-1")
            self._found = _text(options[b"filename"]), kind.split(";")[0].strip(" \t").lower()

    def _add_content(self, data: bytes, start: int, end: int) -> None:
        if self._is_in_file and self._size <= SIZE_LIMIT_BYTES:
            piece = data[start : min(end, start + SIZE_LIMIT_BYTES + 1 - self._size)]
            self._file.write(piece)
            self._digest.update(piece)
            self._size += len(piece)

    def _end(self) -> None:
        self._has_ended = True


def _text(name: Any) -> str:
    raw: bytes = name
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _kind_of(named: str, filename: str) -> str:
    if named in UNNAMED:
        return OF_PHONES.get(PurePosixPath(filename.lower()).suffix, named)
    return ALSO.get(named, named)


def _ending_of(kind: str) -> str:
    ending = next((each for each, of in OF_PHONES.items() if kind.removesuffix("-sequence") == of), None)
    return ending or mimetypes.guess_extension(kind) or ""
