"""`/api/v2/media.json`."""

import mimetypes
import re
from pathlib import PurePosixPath

from handlers.answers import Answer, as_json
from handlers.asgi.uploads import SIZE_LIMIT_BYTES
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.media.store import add_media

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


def upload_media(request: Request) -> Answer:
    workspace, upload = request.workspace, request.media
    assert upload is not None
    kind = _kind_of(upload.content_type, upload.filename)
    if not KIND.fullmatch(kind):
        raise InvalidInput.on("file", "Only images, audio, video and PDF files are accepted.")
    if not upload.size:
        raise InvalidInput.on("file", "An empty file is not allowed.")
    if upload.size > SIZE_LIMIT_BYTES:
        raise InvalidInput.on("file", "At most 25 MiB.")
    filename = CONTROL_CHARACTERS.sub("", upload.filename)[-FILENAME_LENGTH:] or "file"
    upload.place = f"{workspace.uuid}/{upload.uuid}{_ending_of(kind)}"
    record = {"content_type": kind, "url": f"{request.stored_root}/media/{upload.place}", "filename": filename}
    quota_bytes = request.settings.media_quota_bytes
    add_media(request.tx, workspace.id, upload.uuid, size=upload.size, quota_bytes=quota_bytes, **record)
    return as_json(201, {"uuid": upload.uuid, **record, "size": upload.size})


def _kind_of(named: str, filename: str) -> str:
    if named in UNNAMED:
        return OF_PHONES.get(PurePosixPath(filename.lower()).suffix, named)
    return ALSO.get(named, named)


def _ending_of(kind: str) -> str:
    ending = next((each for each, of in OF_PHONES.items() if kind.removesuffix("-sequence") == of), None)
    return ending or mimetypes.guess_extension(kind) or ""
