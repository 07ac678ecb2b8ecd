"""Reads the templates of gateways that list them, page by page."""

import logging
from collections.abc import Callable
from functools import partial

from channels.calls import Response, Settings, Unread
from channels.declaration import ChannelType, FoundTemplate
from channels.types import TYPES
from persistence.channels.traces import hide_secrets
from persistence.templates import (
    MOST_TEMPLATES,
    TemplateReading,
    lease_reading,
    note_failed_reading,
    store_reading,
)
from worker.http.connections import SendFailed
from worker.http.safe_http import SafeHttp
from worker.runtime import Runtime

PAGE_LIMIT_BYTES = 4 * 1024 * 1024
MOST_PAGES = 40
REASON_LENGTH = 500

logger = logging.getLogger("relayboard.worker")


class NotRead(Exception):
    """Why the templates of a channel could not be read, in words for its owner."""


def begin_templates(runtime: Runtime) -> Callable[[], bool]:
    """The step that reads the templates of one channel."""
    http = SafeHttp(
        allowed_networks=runtime.settings.webhook_allowed_networks,
        allowed_ports=runtime.settings.webhook_allowed_ports,
        total_timeout_seconds=runtime.settings.webhook_timeout_seconds,
        response_limit_bytes=PAGE_LIMIT_BYTES,
    )
    runtime.closing.callback(http.close)

    def step() -> bool:
        reading = runtime.database.write(lease_reading)
        if reading is None:
            return False
        try:
            found = read_all(http, reading)
        except NotRead as error:
            reason = hide_secrets(reading.channel_type, reading.config or {}, str(error))[:REASON_LENGTH]
            logger.warning("the templates of channel %s could not be read: %s", reading.channel_id, reason)
            runtime.database.write(partial(note_failed_reading, reading=reading, reason=reason))
        else:
            runtime.database.write(partial(store_reading, reading=reading, found=found))
        return True

    return step


def read_all(http: SafeHttp, reading: TemplateReading) -> list[FoundTemplate]:
    """All templates of a channel, at most so many. Raises NotRead: a part of them would let the others disappear."""
    kind = TYPES.get(reading.channel_type)
    if kind is None or reading.config is None:
        raise NotRead("The settings of the channel cannot be decrypted.")
    found: list[FoundTemplate] = []
    after, seen = "", set[str]()
    for _ in range(MOST_PAGES):
        page, after = _read_page(http, kind, reading.config, after)
        found += page
        if not after or after in seen or len(found) >= MOST_TEMPLATES:
            return found[:MOST_TEMPLATES]
        seen.add(after)
    raise NotRead(f"The provider has more than {MOST_PAGES} pages of templates.")


def _read_page(http: SafeHttp, kind: ChannelType, config: Settings, after: str) -> tuple[list[FoundTemplate], str]:
    if kind.templates is None or kind.read_templates is None:
        raise NotRead("Channels of this type have no templates.")
    request = kind.templates(config, after)
    try:
        got = http.send(request.method, request.url, headers=request.headers, body=request.body)
    except SendFailed as error:
        raise NotRead(error.sentence) from error
    response = Response(got.status, {name.lower(): value for name, value in got.headers.items()}, got.body)
    if not response.is_ok or not got.is_complete:
        raise NotRead(f"The provider answered with status {got.status}: {response.text[:200]}")
    try:
        page, following = kind.read_templates(response)
    except Unread as error:
        raise NotRead(str(error)) from error
    return list(page), following
