"""A server that answers what a test tells it to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relayboard.phone.phone import Phone, PhoneState
from relayboard.phone.wire import NoReply, WireReply

CLAIM = {"cmd": "claim", "org_id": 17}
SECRET = "7KQ2M9XWPA4TDZ6RHB3NVE8YCJ5FGLUS" * 2
REGISTRATION = {"cmd": "reg", "relayer_id": 4021, "relayer_secret": SECRET, "relayer_claim_code": "K7QW3ZP9M"}


@dataclass(slots=True)
class ScriptedServer:
    """Replies in the order they were planned (None: the reply is lost), then empty lists; keeps the requests."""

    planned: list[WireReply | None] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def plan(self, *commands: dict[str, Any]) -> None:
        self.planned.append(WireReply(200, {"cmds": list(commands)}))

    def refuse(self, status: int, error_id: int) -> None:
        self.planned.append(WireReply(status, {"error_id": error_id, "error": "no", "cmds": []}))

    def lose(self) -> None:
        self.planned.append(None)

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply:
        self.requests.append((path, dict(query), body))
        reply = self.planned.pop(0) if self.planned else WireReply(200, {"cmds": []})
        if reply is None:
            raise NoReply("lost by the test")
        return reply

    def commands(self) -> list[dict[str, Any]]:
        """The commands of the last request after `fcm` and `status`."""
        sent: list[dict[str, Any]] = json.loads(self.requests[-1][2])["cmds"]
        return sent[2:]

    def status(self) -> dict[str, Any]:
        """The status command of the last request."""
        reported: dict[str, Any] = json.loads(self.requests[-1][2])["cmds"][1]
        return reported


class PhoneClock:
    """A clock of the phone, in milliseconds, that tests move."""

    def __init__(self) -> None:
        self.now_ms = 1767225600000

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)


def working_phone(server: ScriptedServer, clock: PhoneClock, *, is_lagging: bool = False) -> Phone:
    """A phone that was claimed long ago."""
    state = PhoneState(device_uuid="3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411", push_token="tok-A1", workspace_id=17)
    state.relayer_id, state.secret = 4021, SECRET
    return Phone(server, state, is_lagging=is_lagging, clock=clock)
