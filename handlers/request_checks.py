"""Checks of a request's address and media type, before anything looks at what they mean."""

import re
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

from handlers.pages import header
from handlers.refusals import Refusal

URL_LIMIT_BYTES = 8192
BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
NOT_ASCII = re.compile(rb"[\x80-\xff]")
JSON_TYPE = re.compile(rb'application/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?;?\Z', re.IGNORECASE)
FORM_TYPE = re.compile(rb"multipart/form-data[ \t]*;", re.IGNORECASE)


def check_url(scope: MutableMapping[str, Any]) -> None:
    """Raises Refusal(400) for a URL that is too long, badly escaped, or decodes to something that is no text.

    Bytes beyond ASCII in the query, which some clients send as they are, become percent escapes.
    """
    raw_path = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query = scope.get("query_string", b"")
    if len(raw_path) + len(query) > URL_LIMIT_BYTES:
        raise Refusal(400, f"The URL is longer than {URL_LIMIT_BYTES} bytes.")
    for part in (raw_path, query):
        _check_escapes(part)
    if NOT_ASCII.search(query):
        scope["query_string"] = NOT_ASCII.sub(lambda found: b"%%%02X" % found.group()[0], query)


def _check_escapes(part: bytes) -> None:
    if BAD_ESCAPE.search(part):
        raise Refusal(400, "The URL is badly escaped.")
    decoded = unquote_to_bytes(part)
    if b"\x00" in decoded:
        raise Refusal(400, "NUL characters are not allowed.")
    try:
        decoded.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(400, "The URL is not valid UTF-8.") from error


def check_json_type(scope: MutableMapping[str, Any], *, has_body: bool) -> None:
    """Raises Refusal(415) for a body that is declared as something else than JSON in UTF-8.

    From here on the type stands there once and plainly, as later layers know it in this form only; a request without
    media type, or without body, counts as JSON.
    """
    content_type = header(scope, b"content-type")
    if has_body and content_type is not None and not JSON_TYPE.match(content_type.strip()):
        raise Refusal(415, "Send JSON.")
    others = [pair for pair in scope["headers"] if pair[0].lower() != b"content-type"]
    scope["headers"] = [*others, (b"content-type", b"application/json")]


def check_form_type(scope: MutableMapping[str, Any]) -> None:
    """Raises Refusal(415) for an upload that is no multipart form."""
    if not FORM_TYPE.match((header(scope, b"content-type") or b"").strip()):
        raise Refusal(415, "Send a multipart form.")
