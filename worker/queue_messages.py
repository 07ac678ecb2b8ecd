"""The messages in the queue: JSON that names a task of a fixed set, so that write access to the queue does not allow
running code."""

import json
import re
from datetime import datetime

from relayboard.base.tracing import MOST_CAUSES, TRACEPARENT, Causes
from worker.queue_drivers import Message, Serializer

RUN = "run_work"
SWEEP = "sweep_"
MODULE = "worker.app"
NAME = re.compile(r"(?:run_work|sweep_[a-z_]{1,32})\Z")
KIND = re.compile(r"[a-z_]{1,32}\Z")
ID = re.compile(r"[0-9a-f-]{1,64}\Z")


class NoMessage(ValueError):
    """The queue contains something that is not a message of this service; it is logged and dropped."""


class JsonMessages(Serializer):  # type: ignore[misc]  # huey has no types
    """Huey's serializer for `{"id", "task", "kind", "expires"}`: a wake-up names its job in `kind`, a sweep has
    `expires`. Traced requests add `causes`, which programs that do not know it leave unread.
    """

    def _serialize(self, message: Message) -> bytes:
        task = str(message.name).removeprefix(f"{MODULE}.")
        kind = message.args[0] if message.args else None
        expires = message.expires_resolved.isoformat() if message.expires_resolved else None
        told: dict[str, object] = {"id": message.id, "task": task, "kind": kind, "expires": expires}
        if message.args[1:] and message.args[1]:
            told["causes"] = message.args[1]
        return json.dumps(told).encode()

    def _deserialize(self, data: bytes) -> Message:
        """Raises NoMessage."""
        try:
            given = json.loads(bytes(data))
            task, kind = _text(given["task"], NAME), given["kind"]
            arguments = (_text(kind, KIND), _causes(given.get("causes", []))) if task == RUN else ()
            expires = datetime.fromisoformat(given["expires"]) if given["expires"] is not None else None
            message_id = _text(given["id"], ID)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NoMessage("the queue contains something that is not a message") from error
        return Message(
            id=message_id,
            name=f"{MODULE}.{task}",
            retries=0,
            retry_delay=0,
            args=arguments,
            kwargs={},
            expires=expires,
            expires_resolved=expires,
        )


def _causes(given: object) -> Causes:
    if not isinstance(given, list) or len(given) > MOST_CAUSES:
        raise ValueError
    return tuple(_text(each, TRACEPARENT) for each in given)


def _text(value: object, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.match(value):
        raise ValueError
    return value
