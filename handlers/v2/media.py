"""`/api/v2/media.json`."""

import mimetypes

from handlers.answers import Answer, as_json
from handlers.calls import Call
from persistence.columns import new_uuid
from persistence.errors import InvalidInput
from persistence.media import add_media
from persistence.media_store import MediaStore

SIZE_LIMIT_BYTES = 25 * 1024 * 1024
IMAGES = {f"image/{kind}" for kind in ("apng", "avif", "gif", "jpeg", "png", "webp")}
FILENAME_LENGTH = 255


def upload_media(call: Call) -> Answer:
    workspace, upload = call.workspace, call.media
    assert upload is not None
    kind = upload.content_type
    if not (kind in IMAGES or kind.startswith(("audio/", "video/")) or kind == "application/pdf"):
        raise InvalidInput.on("file", "Only images, audio, video and PDF files are accepted.")
    if not upload.content:
        raise InvalidInput.on("file", "An empty file is not allowed.")
    if len(upload.content) > SIZE_LIMIT_BYTES:
        raise InvalidInput.on("file", "At most 25 MB.")
    uuid, filename = new_uuid(), upload.filename[-FILENAME_LENGTH:].replace("\x00", "") or "file"
    name = f"{workspace.uuid}/{uuid}{mimetypes.guess_extension(kind) or ''}"
    MediaStore(call.settings.media_url).save(name, upload.content)
    record = {"content_type": kind, "url": f"{call.root}/media/{name}", "filename": filename}
    add_media(call.tx, workspace.id, uuid, size=len(upload.content), **record)
    return as_json(201, {"uuid": uuid, **record, "size": len(upload.content)})
