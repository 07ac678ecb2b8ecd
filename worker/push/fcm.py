"""Firebase Cloud Messaging by its HTTP API, version 1: the operator's service account, its access tokens, and what the
answers mean.

Tokens come from the package `google-auth`, whose requests go through our own HTTP client. They are kept in the process
and renewed some minutes before they end.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from relayboard.base.settings import Settings
from worker.http.connections import SendFailed, read_retry_after
from worker.http.safe_http import HttpResponse, SafeHttp

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials

SCOPES = ("https://www.googleapis.com/auth/firebase.messaging",)
PAUSE = timedelta(minutes=5)
"""How long nothing is sent after an answer that only the operator can mend."""
BUSY_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
TIME_TO_LIVE = "600s"
"""By then the phone has come by itself."""
MESSAGE: dict[str, Any] = {
    "data": {"msg": "sync"},
    "android": {"priority": "HIGH", "collapse_key": "sync", "ttl": TIME_TO_LIVE},
}
DRY_TOKEN = "relayboard-doctor"


class AccountUnusable(Exception):
    """The service account does not get us in: its key cannot be read, or Google refuses it. The message says why."""


class Unavailable(Exception):
    """Google cannot be asked now. `again_on` is when it can, if that is known."""

    def __init__(self, sentence: str, again_on: datetime | None = None) -> None:
        super().__init__(sentence)
        self.again_on = again_on


class TokenUnknown(Exception):
    """Firebase does not know this token: the app was removed, or the token is of another project."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response in the form that google-auth reads."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class FcmAccount:
    """The service account of the settings, for many threads. What only the operator can mend, and a server that is
    busy, pauses it for all."""

    def __init__(self, account: str, url: str, http: SafeHttp, clock: Callable[[], datetime]) -> None:
        self._account: dict[str, Any] = json.loads(account)
        self._http, self._clock = http, clock
        self._url = f"{url}/v1/projects/{quote(self._account['project_id'], safe='')}/messages:send"
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None
        self.paused_until: datetime | None = None

    def is_paused(self, now: datetime) -> bool:
        return self.paused_until is not None and now < self.paused_until

    def push(self, token: str) -> None:
        """Asks the phone with this token to sync. Raises TokenUnknown, AccountUnusable, Unavailable."""
        try:
            self.send({**MESSAGE, "token": token})
        except AccountUnusable:
            self._pause(self._clock() + PAUSE)
            raise
        except Unavailable as error:
            if error.again_on is not None:
                self._pause(error.again_on)
            raise

    def try_out(self) -> None:
        """Has Firebase check a message without sending it; raises as `push` does, but for the token, which nobody
        has."""
        try:
            self.send({**MESSAGE, "token": DRY_TOKEN}, is_dry=True)
        except TokenUnknown:
            return

    def send(self, message: Mapping[str, Any], *, is_dry: bool = False) -> None:
        body = orjson.dumps({"message": message, **({"validate_only": True} if is_dry else {})})
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token()}"}
        try:
            answer = self._http.send("POST", self._url, headers=headers, body=body)
        except SendFailed as error:
            raise Unavailable(str(error)) from error
        self._judge(answer)

    def _judge(self, answer: HttpResponse) -> None:
        if 200 <= answer.status < 300:
            return
        words, sentence = _read_error(answer)
        if answer.status == 429 or answer.status >= 500:
            now = self._clock()
            asked = read_retry_after(answer.headers.get("Retry-After"), now)
            pause = BUSY_PAUSE if asked is None else timedelta(seconds=max(asked, 0.0))
            raise Unavailable(sentence, now + min(pause, LONGEST_PAUSE))
        is_unknown = answer.status == 404 and "UNREGISTERED" in words
        is_invalid = answer.status == 400 and "INVALID_ARGUMENT" in words
        if is_unknown or is_invalid or "SENDER_ID_MISMATCH" in words:
            raise TokenUnknown(sentence)
        if answer.status == 401:
            with self._lock:
                self._credentials = None
        raise AccountUnusable(sentence)

    def _pause(self, until: datetime) -> None:
        self.paused_until = until if self.paused_until is None else max(self.paused_until, until)

    def _token(self) -> str:
        from google.auth.exceptions import GoogleAuthError, RefreshError  # noqa: PLC0415  # few services push

        with self._lock:
            if self._credentials is None:
                self._credentials = self._open()
            try:
                if not self._credentials.valid:
                    self._credentials.refresh(self._ask)  # type: ignore[no-untyped-call]
            except RefreshError as error:
                sentence = f"Google gives no access token: {_first_line(error)}"
                if error.retryable:
                    raise Unavailable(sentence, self._clock() + BUSY_PAUSE) from error
                raise AccountUnusable(sentence) from error
            except (GoogleAuthError, SendFailed) as error:
                raise Unavailable(_first_line(error), self._clock() + BUSY_PAUSE) from error
            return str(self._credentials.token)

    def _open(self) -> "Credentials":
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415  # see above
        from google.oauth2.service_account import Credentials  # noqa: PLC0415  # see above

        try:
            return Credentials.from_service_account_info(self._account, scopes=SCOPES)  # type: ignore[no-untyped-call, no-any-return]
        except (GoogleAuthError, ValueError) as error:
            raise AccountUnusable("the private key of the service account cannot be read") from error

    def _ask(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_options: object,
    ) -> _Answer:
        """The transport of google-auth."""
        answer = self._http.send(method, url, headers=headers or {}, body=body)
        return _Answer(answer.status, answer.headers, answer.body)


def open_account(settings: Settings, http: SafeHttp, clock: Callable[[], datetime]) -> FcmAccount | None:
    """The service account, if there is one."""
    return FcmAccount(settings.fcm_account, settings.fcm_url, http, clock) if settings.fcm_account else None


def _read_error(answer: HttpResponse) -> tuple[set[str], str]:
    """The words for an error, and a sentence about it."""
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        document = None
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        return set(), f"Firebase answered with status {answer.status}"
    details = error.get("details")
    codes = [each.get("errorCode") for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    words = {str(each) for each in (error.get("status"), *codes) if each}
    said = " ".join(str(error.get("message") or "").split())[:200]
    return words, f"Firebase answered with status {answer.status}{f' ({said})' if said else ''}"


def _first_line(error: Exception) -> str:
    """What google-auth or the client says; the first argument, because others repeat it as data."""
    return " ".join(str(error.args[0] if error.args else error).split())[:200]
