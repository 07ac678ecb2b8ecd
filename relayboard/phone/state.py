"""The state of a phone between requests, and how it is stored in a file."""

import json
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from relayboard.base.private_files import make_file
from relayboard.refusal import CommandFailed

NEW, HANDED_OVER, RETRY, SENT, DELIVERED, FAILED = "new", "handed_over", "retry", "sent", "delivered", "failed"
UNFINISHED = (NEW, HANDED_OVER)


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
    queue: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[int, HeldMessage] = field(default_factory=dict)

    def ids_in(self, *states: str) -> list[int]:
        return [message.id for message in self.messages.values() if message.state in states]

    def forget_registration(self) -> None:
        self.relayer_id = self.secret = self.claim_code = None
        self.workspace_id = -1


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
