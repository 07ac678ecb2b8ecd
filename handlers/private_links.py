"""Records with a file that only those who see the record may download: its path becomes a signed URL."""

from collections.abc import Callable

import orjson

from handlers.asgi.stored_files import link_to_file
from handlers.request import Request


def with_link(name: str) -> Callable[[Request, str], str]:
    """Shows a record with the signed URL of the file whose path is its property `name`."""

    def show(request: Request, stored: str) -> str:
        record = orjson.loads(stored)
        location = record[name]
        if location is not None:
            record[name] = link_to_file(request.root, request.settings.secret_key, location, request.now)
        return orjson.dumps(record).decode()

    return show
