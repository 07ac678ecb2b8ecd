"""The simulated phone: does what the published app does when it registers, syncs, receives and sends, signs what it
sends, and keeps its state in a file.
"""

import base64
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from relayboard.base.private_files import make_file
from relayboard.phone.wire import NoReply, Transport, WireReply
from relayboard.refusal import CommandFailed

COMMANDS_PER_SYNC = 50
MOST_TRIES = 10
RETRY_WAITS_MINUTES = (1, 1, 1, 5, 5, 15, 15, 30, 30)
GIVE_UP_MS = 86_400
WRONG_SIGNATURE = 1

NEW, HANDED_OVER, RETRY, SENT, DELIVERED, FAILED = "new", "handed_over", "retry", "sent", "delivered", "failed"
UNFINISHED = (NEW, HANDED_OVER)
REPORTED = {"mt_sent": SENT, "mt_dlvd": DELIVERED, "mt_fail": FAILED}

REGISTER_PATH = "/relayers/relayer/register/"


def now_in_milliseconds() -> int:
    return int(time.time() * 1000)


@dataclass(slots=True)
class HeldMessage:
    """An outgoing message that the phone got; `copies` counts how often its SMS really left the phone."""

    id: int
    phone: str
    text: str
    state: str = NEW
    tries: int = 0
    next_try_ms: int = 0
    handed_over_ms: int = 0
    copies: int = 0


@dataclass(slots=True)
class PhoneState:
    """Everything a phone keeps until its data is cleared."""

    device_uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    push_token: str = field(default_factory=lambda: f"tok-{uuid.uuid4().hex[:12]}")
    relayer_id: int | None = None
    secret: str | None = None
    claim_code: str | None = None
    workspace_id: int = -1
    country: str = "RW"
    device: str = "Simulated phone"
    os: str = "13"
    app_version: str = "2.1.0"
    power_level: int = 84
    power_status: str = "DIS"
    power_source: str = "BAT"
    network: str = "WIFI"
    is_paused: bool = False
    next_number: int = 3
    answers: int = 0
    queue: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[int, HeldMessage] = field(default_factory=dict)

    def ids_in(self, *states: str) -> list[int]:
        return [message.id for message in self.messages.values() if message.state in states]

    def forget_registration(self) -> None:
        self.relayer_id = self.secret = self.claim_code = None
        self.workspace_id = -1


class Phone:
    """One phone. In classic mode (app 1.9) a reply is performed at once. In lagging mode (app 2.x) each sync performs
    the reply to the one before, first requests and refused ones are sent twice, and error bodies are not read.
    """

    def __init__(
        self,
        transport: Transport,
        state: PhoneState | None = None,
        *,
        is_lagging: bool = False,
        clock: Callable[[], int] = now_in_milliseconds,
    ) -> None:
        self.transport = transport
        self.state = state or PhoneState()
        self.is_lagging = is_lagging
        self.clock = clock
        self.last_reply: WireReply | None = None
        self.refused: str | None = None
        self._uploaded: dict[int, dict[str, Any]] = {}

    # Requests

    def register(self) -> None:
        """Register with the server; nothing is cleared until the reply says so."""
        body = write_body(self._identity())
        self._exchange(lambda: self.transport.post(REGISTER_PATH, {}, body))

    def sync(self, *, force: bool = True) -> None:
        """Upload up to 50 queued commands and perform the commands in the reply; registers first if necessary. Raises
        NoReply if the reply is lost.
        """
        if self.state.is_paused or (not force and not self.state.queue and self.state.workspace_id != -1):
            return
        if self.state.relayer_id is None or self.state.secret is None:
            self.register()
            return
        queued = self.state.queue[:COMMANDS_PER_SYNC]
        body = write_body([*self._identity(), *queued])
        path = f"/relayers/relayer/sync/{self.state.relayer_id}/"
        ts = str(self.clock() // 1000)
        query = {"ts": ts, "signature": sign_body(self.state.secret, ts, body)}
        self._uploaded = {command["p_id"]: command for command in queued}
        self._exchange(lambda: self.transport.post(path, query, body))

    def _identity(self) -> list[dict[str, Any]]:
        state = self.state
        return [
            {"cmd": "fcm", "fcm_id": state.push_token, "uuid": state.device_uuid, "p_id": 1},
            {
                "cmd": "status",
                "p_src": state.power_source,
                "p_lvl": state.power_level,
                "p_sts": state.power_status,
                "net": state.network,
                "pending": state.ids_in(NEW, HANDED_OVER),
                "retry": state.ids_in(RETRY),
                "org_id": state.workspace_id,
                "cc": state.country,
                "dev": state.device,
                "os": state.os,
                "app_version": state.app_version,
                "p_id": 2,
            },
        ]

    def _exchange(self, request: Callable[[], WireReply]) -> None:
        if not self.is_lagging:
            self._carry_out(self._request_twice(request))
            return
        previous = self.last_reply
        self._request_lagging(request)
        if previous is None:
            # No reply is known yet: the app fails, and sends the same request once more.
            previous = self.last_reply
            self._request_lagging(request)
        if previous is not None:
            self._carry_out(previous)

    def _request_twice(self, request: Callable[[], WireReply]) -> WireReply:
        """The reply to a request, which is sent again if the first reply is lost; raises NoReply if both are lost."""
        try:
            return self._ask(request)
        except NoReply:
            return self._ask(request)

    def _ask(self, request: Callable[[], WireReply]) -> WireReply:
        reply = request()
        self.refused = reply.refusal
        return reply

    def _request_lagging(self, request: Callable[[], WireReply]) -> None:
        """Send a request, twice if it is refused. Only the body of a 2xx reply is read; if the reply is lost, the last
        one stays."""
        for _ in range(2):
            try:
                reply = self._ask(request)
            except NoReply:
                return
            if 200 <= reply.status < 300:
                self.last_reply = reply
                return
            if reply.status not in (401, 403):
                return

    # Replies

    def _carry_out(self, reply: WireReply) -> None:
        error_id = reply.document.get("error_id", -1)
        if error_id != -1:
            if error_id == WRONG_SIGNATURE:
                self.state.forget_registration()
            return
        for command in reply.document.get("cmds", []):
            handler = getattr(self, f"_on_{command.get('cmd')}", None)
            if handler is not None:
                handler(command)

    def _on_reg(self, command: dict[str, Any]) -> None:
        self.state.relayer_id = command["relayer_id"]
        self.state.secret = command["relayer_secret"]
        self.state.claim_code = command["relayer_claim_code"]
        self.state.workspace_id = -1

    def _on_claim(self, command: dict[str, Any]) -> None:
        self.state.workspace_id = command["org_id"]

    def _on_rel(self, _command: dict[str, Any]) -> None:
        self.state.forget_registration()
        self.state.queue.clear()

    def _on_ack(self, command: dict[str, Any]) -> None:
        done = self._uploaded.pop(command.get("p_id", -1), None)
        if done is not None:
            self.state.queue = [queued for queued in self.state.queue if queued["p_id"] != done["p_id"]]
            if done["cmd"] == "reset":
                self._on_rel(command)

    def _on_mt_bcast(self, command: dict[str, Any]) -> None:
        for recipient in command["to"]:
            known = self.state.messages.get(recipient["id"])
            if known is None:
                held = HeldMessage(recipient["id"], recipient["phone"], command["msg"])
                self.state.messages[held.id] = held
            elif known.state in (SENT, DELIVERED):
                self._report("mt_sent", known.id)
                if known.state == DELIVERED:
                    self._report("mt_dlvd", known.id)
            elif known.state == FAILED:
                known.state, known.tries = NEW, 0

    # What happens on the phone

    def receive_sms(self, number: str, text: str, at_ms: int | None = None) -> None:
        """An SMS arrives; it is relayed only if the phone knows that it is claimed."""
        if self.state.workspace_id != -1:
            self._enqueue({"cmd": "mo_sms", "phone": number, "ts": self._moment(at_ms), "msg": text})

    def log_call(self, kind: str, number: str, seconds: int = 0, at_ms: int | None = None) -> None:
        """An entry of the call log: `mo_call`, `mo_miss`, `mt_call`, or `unk`; `mt_miss` is for other apps."""
        if self.state.workspace_id != -1:
            moment = self._moment(at_ms)
            self._enqueue({"cmd": "call", "phone": number, "type": kind, "ts": moment, "dur": seconds})

    def send_result(self, message_id: int, *, is_sent: bool = True, at_ms: int | None = None) -> None:
        """Android reports the result of sending an SMS; after ten errors it is failed."""
        message = self.state.messages[message_id]
        if is_sent:
            message.copies += 1
            message.state = SENT
            self._report("mt_sent", message_id, at_ms)
            return
        message.tries += 1
        if message.tries >= MOST_TRIES:
            message.state = FAILED
            self._report("mt_fail", message_id, at_ms)
        else:
            message.state = RETRY
            message.next_try_ms = self.clock() + RETRY_WAITS_MINUTES[message.tries - 1] * 60_000

    def delivery(self, message_id: int, at_ms: int | None = None) -> None:
        """The network reports that an SMS was delivered."""
        self.state.messages[message_id].state = DELIVERED
        self._report("mt_dlvd", message_id, at_ms)

    def report(self, name: str, message_id: int) -> None:
        """Say the fate of a message, which this phone may not have. After an `mt_error` the phone forgets it, as an app
        does that leaves the next try to the server.
        """
        held = self.state.messages.get(message_id)
        if held is not None and name in REPORTED:
            held.state = REPORTED[name]
        elif held is not None:
            del self.state.messages[message_id]
        self._report(name, message_id)

    def say(self, command: Mapping[str, Any]) -> None:
        """Any command, which goes with the next sync under a number of its own."""
        self._enqueue(dict(command))

    def run_sender(self) -> list[int]:
        """Pass all due messages to Android; returns the ids of all that wait for a result. A message without a result
        for 86.4 seconds counts as sent, as in the published app.
        """
        now_ms = self.clock()
        for message in self.state.messages.values():
            if message.state == NEW or (message.state == RETRY and message.next_try_ms <= now_ms):
                message.state, message.handed_over_ms = HANDED_OVER, now_ms
            elif message.state == HANDED_OVER and now_ms - message.handed_over_ms > GIVE_UP_MS:
                message.state = SENT
                self._report("mt_sent", message.id)
        return self.state.ids_in(HANDED_OVER)

    def send_waiting(self, *, is_delivered: bool = True) -> list[int]:
        """Send all waiting messages successfully; returns their ids."""
        due = self.run_sender()
        for message_id in due:
            self.send_result(message_id)
            if is_delivered:
                self.delivery(message_id)
        return due

    def battery(self, level: int, status: str = "DIS", source: str = "BAT") -> None:
        self.state.power_level, self.state.power_status, self.state.power_source = level, status, source

    def connect(self, network: str) -> None:
        self.state.network = network

    def reset(self) -> None:
        """The owner disconnects the phone: its queue is deleted, and the server is told."""
        self.state.queue.clear()
        self._enqueue({"cmd": "reset"})

    def pause(self, *, is_paused: bool = True) -> None:
        self.state.is_paused = is_paused

    def restart(self) -> None:
        """The app restarts and has forgotten the last reply it got."""
        self.last_reply = None
        self._uploaded = {}

    def _report(self, name: str, message_id: int, at_ms: int | None = None) -> None:
        self._enqueue({"cmd": name, "msg_id": message_id, "ts": self._moment(at_ms)})

    def _enqueue(self, command: dict[str, Any]) -> None:
        self.state.queue.append({**command, "p_id": self.state.next_number})
        self.state.next_number += 1

    def _moment(self, at_ms: int | None) -> int:
        return self.clock() if at_ms is None else at_ms


def load_state(path: Path) -> PhoneState:
    """The state in a file; a new phone if there is no file. Raises CommandFailed."""
    if not path.exists():
        return PhoneState()
    try:
        document = json.loads(path.read_text())
        messages = {int(key): HeldMessage(**value) for key, value in document.pop("messages").items()}
        return PhoneState(**document, messages=messages)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CommandFailed(f"{path} is not the state of a phone: delete it or give another --state") from error


def save_state(path: Path, state: PhoneState) -> None:
    """Write the state; if the process dies meanwhile, the file keeps the old state."""
    temporary = path.with_name(path.name + ".part")
    make_file(temporary)  # it contains a secret
    temporary.write_text(json.dumps(asdict(state)))
    temporary.replace(path)


def write_body(commands: Sequence[Mapping[str, Any]]) -> bytes:
    """The body of a request: keys without a value are left out, as Android's JSON writer does."""
    kept = [{name: value for name, value in command.items() if value is not None} for command in commands]
    text = json.dumps({"cmds": kept}, ensure_ascii=False, separators=(",", ":"))
    return text.replace("/", "\\/").encode("utf-8")


def sign_body(secret: str, ts: str, body: bytes) -> str:
    """HMAC-SHA256 over the body, keyed with secret and ts, in URL-safe base64 with padding."""
    digest = hmac.new(f"{secret}{ts}".encode(), body, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode()
