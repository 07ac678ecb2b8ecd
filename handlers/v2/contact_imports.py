"""`/api/v2/contact_imports.json`."""

import re

from handlers.answers import Answer, ListAnswer, created_record, with_link
from handlers.asgi.uploads import SIZE_LIMIT_BYTES
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.imports.contact_imports import CONTACT_IMPORTS, create_import
from persistence.media.media import place_of_import

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")

list_contact_imports = ListAnswer(CONTACT_IMPORTS, show=with_link("rejects_url"))


def upload_contact_import(request: Request) -> Answer:
    upload = request.media
    assert upload is not None
    if not upload.size:
        raise InvalidInput.on("file", "An empty file is not allowed.")
    if upload.size > SIZE_LIMIT_BYTES:
        raise InvalidInput.on("file", "At most 25 MiB.")
    upload.place = place_of_import(upload.uuid)
    filename = CONTROL_CHARACTERS.sub("", upload.filename) or "file"
    made = create_import(request.tx, request.workspace, filename, upload.place, request.credentials.user_id)
    return created_record(request, CONTACT_IMPORTS, made)
