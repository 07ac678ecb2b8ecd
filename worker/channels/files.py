"""Fetches files of incoming messages from the providers, each step as the channel's type says, and puts them into the
media store. A file that is too large, empty or not there is given up at once, any other after some attempts.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from channels.calls import Media, Request, Response, Unread
from channels.types import TYPES
from persistence.channels.health import REFUSED_CALL, UNANSWERED, GatewayCall, record_calls
from persistence.channels.traces import describe_request
from persistence.database import Transaction
from persistence.errors import LimitReached
from persistence.leases import GIVEN_UP
from persistence.media.incoming import (
    MOST_ATTEMPTS,
    LeasedFile,
    forget_file,
    keep_file,
    lease_files,
    list_fetching_channels,
)
from persistence.media.store import MediaStore, StoreUnavailable, open_store, place_in_store
from worker.dispatcher import AfterCommit, Finished, Leased, LeasedQueue, ReceiverSlots, begin_dispatching, do_nothing
from worker.http.connections import SendFailed
from worker.http.safe_http import SafeHttp
from worker.runtime import Runtime

SIZE_LIMIT_BYTES = 25 * 1024 * 1024
"""As of uploads."""
SLOTS, FIRST_SLOTS, MOST_SLOTS = 8, 1, 3
"""Few: each holds a whole file in memory."""
STEP_SECONDS, MOST_STEPS = 30.0, 5
"""Together less than the first pause between attempts."""
FIRST_ERROR = 400
FINAL = (400, 404, 405, 410, 413, 414)
"""What a provider says of a file that it will never give."""
PAGES = ("text/", "application/json", "application/xhtml")
"""What comes instead of pictures and sounds, where a provider does not say no by the status."""
SHOWN = ("image/", "audio/", "video/")

logger = logging.getLogger("relayboard.worker")


class NotFetched(Exception):
    """Why a file did not come; `is_final` if it never will. `request` and `response` are the last ones."""

    def __init__(
        self, reason: str, request: Request | None = None, response: Response | None = None, *, is_final: bool = False
    ) -> None:
        super().__init__(reason)
        self.request, self.response, self.is_final = request, response, is_final


def begin_files(runtime: Runtime) -> Callable[[], bool]:
    """The step that wakes the dispatcher of files."""
    return begin_dispatching(runtime, file_queue(runtime), ReceiverSlots(SLOTS, first=FIRST_SLOTS, most=MOST_SLOTS))


def file_queue(runtime: Runtime) -> "FileQueue":
    """The queue of files, with an HTTP client for their size."""
    http = SafeHttp(
        allowed_networks=runtime.settings.webhook_allowed_networks,
        allowed_ports=runtime.settings.webhook_allowed_ports,
        total_timeout_seconds=STEP_SECONDS,
        response_limit_bytes=SIZE_LIMIT_BYTES + 1,
    )
    runtime.closing.callback(http.close)
    return FileQueue(_Fetcher(runtime, open_store(runtime.settings), http))


class FileQueue(LeasedQueue[LeasedFile, None]):
    """The queue of files; each channel is a receiver, so that a slow provider holds up nobody else's files. What
    becomes of a file is recorded by who fetches it: between its steps are those of the store."""

    name = "files"

    def __init__(self, fetcher: "_Fetcher") -> None:
        self._fetcher = fetcher

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {channel_id}" for workspace_id, channel_id in list_fetching_channels(tx)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[LeasedFile]:
        wanted = {_place(receiver): room for receiver, room in rooms.items()}
        return Leased([(f"{each.workspace_id} {each.channel_id}", each) for each in lease_files(tx, wanted)])

    def call(self, item: LeasedFile) -> tuple[None, bool]:
        return None, self._fetcher.fetch(item)

    def record(self, tx: Transaction, finished: Sequence[Finished[LeasedFile, None]]) -> AfterCommit:
        return do_nothing


def _place(receiver: str) -> tuple[int, int]:
    workspace_id, channel_id = map(int, receiver.split())
    return workspace_id, channel_id


@dataclass(frozen=True, slots=True)
class _Fetcher:
    runtime: Runtime
    store: MediaStore
    http: SafeHttp

    def fetch(self, leased: LeasedFile) -> bool:
        """Fetches a file, or goes on where the process before died: a file that is recorded has only to be placed.
        Returns whether the provider answered."""
        try:
            if not leased.is_stored:
                if leased.attempts > MOST_ATTEMPTS:
                    raise NotFetched(GIVEN_UP, is_final=True)
                if not self._keep(leased, self._download(leased)):
                    return True
            self._place(leased)
        except NotFetched as error:
            self._note(leased, error)
            return error.request is None or error.response is not None
        except StoreUnavailable as error:
            self._note(leased, NotFetched(f"The file store is not available: {error}"))
        return True

    def _download(self, leased: LeasedFile) -> bytes:
        kind = TYPES[leased.channel_type]
        if kind.fetch is None or leased.config is None:
            raise NotFetched("The channel was removed, or its settings cannot be decrypted.", is_final=True)
        media = Media(leased.content_type, reference=leased.reference)
        responses: list[Response] = []
        last: Request | None = None
        for _ in range(MOST_STEPS):
            if self.runtime.stopping.is_set():
                raise NotFetched("The worker stops.")
            try:
                request = kind.fetch(media, leased.config, responses)
            except Unread as error:
                raise NotFetched(str(error), last, responses[-1] if responses else None) from error
            if request is None:
                break
            last = request
            responses.append(self._ask(request))
        return _read_file(leased, last, responses)

    def _ask(self, request: Request) -> Response:
        """Raises NotFetched unless the response is whole and no error."""
        try:
            got = self.http.send(request.method, request.url, headers=request.headers, body=request.body)
        except SendFailed as error:
            raise NotFetched(error.sentence, request) from error
        response = Response(got.status, {name.lower(): value for name, value in got.headers.items()}, got.body)
        if got.status >= FIRST_ERROR:
            reason = f"The provider answered with status {got.status}."
            raise NotFetched(reason, request, response, is_final=got.status in FINAL)
        if len(got.body) > SIZE_LIMIT_BYTES:
            raise NotFetched("The file is larger than 25 MiB.", request, Response(got.status), is_final=True)
        if not got.is_complete:
            raise NotFetched("The connection ended before the file was whole.", request, Response(got.status))
        return response

    def _keep(self, leased: LeasedFile, content: bytes) -> bool:
        """Receives the file into the store and records it; false if nobody wants it any more."""
        self.store.discard(leased.uuid)  # what an attempt left that was killed
        with self.store.receiving(leased.uuid) as file:
            file.write(content)
        quota_bytes = self.runtime.settings.media_quota_bytes

        def keep(tx: Transaction) -> bool:
            return keep_file(tx, leased, leased.content_type, len(content), quota_bytes)

        try:
            is_kept = self.runtime.database.write(keep)
        except LimitReached as error:
            self.store.discard(leased.uuid)
            raise NotFetched(str(error), is_final=True) from error
        if not is_kept:
            self.store.discard(leased.uuid)
        return is_kept

    def _place(self, leased: LeasedFile) -> None:
        place = place_in_store(leased.url)
        try:
            self.store.accept(leased.uuid, place)
        except FileNotFoundError:
            if not self.store.has(place):
                logger.error("the received file %s is not in the store", leased.uuid)
        self.runtime.database.write(partial(forget_file, leased=leased))

    def _note(self, leased: LeasedFile, error: NotFetched) -> None:
        """The file is tried again when its lease ends, or given up with a trace for the owner of the channel."""
        is_final = error.is_final or leased.attempts >= MOST_ATTEMPTS
        ending = "given up" if is_final else "tried again later"
        logger.warning("a file of message %s is %s: %s", leased.message_id, ending, error)
        if is_final:
            self.runtime.database.write(partial(_give_up, leased=leased, error=error))


def _read_file(leased: LeasedFile, request: Request | None, responses: Sequence[Response]) -> bytes:
    response = responses[-1] if responses else Response(0)
    if not response.is_ok:
        raise NotFetched("The provider leads nowhere.", request, response)
    if not response.body:
        raise NotFetched("The file is empty.", request, response, is_final=True)
    given = response.headers.get("content-type", "").strip().lower()
    if leased.content_type.startswith(SHOWN) and given.startswith(PAGES):
        raise NotFetched(f"The provider gave {given} instead of {leased.content_type}.", request, response)
    return response.body


def _give_up(tx: Transaction, leased: LeasedFile, error: NotFetched) -> None:
    if not forget_file(tx, leased):
        return
    request, response = error.request or Request("GET", ""), error.response
    said = None if response is None else (response.status, response.body)
    described = describe_request(leased.channel_type, leased.config or {}, request, said, str(error))
    call = GatewayCall(
        workspace_id=leased.workspace_id,
        channel_id=leased.channel_id,
        contact_id=leased.contact_id,
        message_id=leased.message_id,
        part=0,
        outcome=UNANSWERED if response is None else REFUSED_CALL,
        duration_ms=0,
        **described,
    )
    record_calls(tx, [call])
