"""`/api/v2/archives.json`."""

import orjson

from handlers.answers import ListAnswer
from handlers.asgi.store_responses import link_to_file
from handlers.request import Request
from persistence.archives.archives import ARCHIVES


def _with_link(request: Request, stored: str) -> str:
    record = orjson.loads(stored)
    location = record["download_url"]
    if location is not None:
        record["download_url"] = link_to_file(request.root, request.settings.secret_key, location, request.now)
    return orjson.dumps(record).decode()


list_archives = ListAnswer(ARCHIVES, show=_with_link)
