"""`/api/v2/media.json`."""

from handlers.answers import Answer, as_json
from handlers.asgi.uploads import describe_upload
from handlers.request import Request
from persistence.media.store import add_media


def upload_media(request: Request) -> Answer:
    workspace, upload = request.workspace, request.media
    assert upload is not None
    record = describe_upload(upload, workspace.uuid, request.stored_root)
    quota_bytes = request.settings.media_quota_bytes
    add_media(request.tx, workspace.id, upload.uuid, size=upload.size, quota_bytes=quota_bytes, **record)
    return as_json(201, {"uuid": upload.uuid, **record, "size": upload.size})
