"""`relayboard phone`: a simulated relayer phone, one action per call or running by itself; its state is in a file."""

import threading
import uuid
from collections.abc import Callable
from contextlib import closing
from typing import Any

import orjson

from relayboard.commands.countries import read_country
from relayboard.commands.printing import print_json, print_line
from relayboard.phone.phone import Phone, PhoneState, load_state, now_in_milliseconds, save_state
from relayboard.phone.wire import HttpTransport, NoReply, PushListener
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options


def run_phone(options: Options) -> None:
    state = load_state(options.state)
    if options.country:
        state.country = read_country(options.country)

    def loses() -> bool:
        """Counts answers over all calls with this state, for most of them bring one or two."""
        state.answers += 1
        return options.lose_replies is not None and state.answers % options.lose_replies == 0

    transport = HttpTransport(options.server, shows=options.wire, loses=loses)
    offset_ms = 1000 * options.clock_offset
    phone = Phone(transport, state, is_lagging=options.lagging, clock=lambda: now_in_milliseconds() + offset_ms)
    try:
        _act(phone, options)
    except NoReply as error:
        raise CommandFailed(f"no reply from {error}") from error
    finally:
        save_state(options.state, state)


def _act(phone: Phone, options: Options) -> None:
    if options.action == "run":
        _run(phone, options)
        return
    _change(phone, options)
    print_json({**show(phone.state), "refused": phone.refused})


def _change(phone: Phone, options: Options) -> None:
    action = options.action
    if action == "register":
        phone.register()
    elif action == "sync":
        phone.sync()
    elif action == "receive":
        phone.receive_sms(options.number, options.text)
    elif action == "call":
        phone.log_call(options.kind, options.number, options.seconds)
    elif action == "send" and options.fail:
        for message_id in phone.state.ids_in("new", "retry"):
            phone.send_result(message_id, is_sent=False)
    elif action == "send":
        phone.send_waiting(is_delivered=not options.no_delivery)
    elif action == "report":
        phone.report(options.kind, options.message)
    elif action == "queue":
        phone.say(_read_command(options.command))
    elif action == "battery":
        phone.battery(options.level, options.status, options.source)
    elif action == "status":
        _change_status(phone.state, options)
    elif action == "reset":
        phone.reset()


def _change_status(state: PhoneState, options: Options) -> None:
    for name in ("network", "device", "os", "app_version"):
        given = getattr(options, name)
        if given is not None:
            setattr(state, name, given)


def _read_command(text: str) -> dict[str, Any]:
    """A command that is typed as JSON. Raises CommandFailed."""
    try:
        command = orjson.loads(text)
    except ValueError as error:
        raise CommandFailed("this is not JSON, or not in UTF-8") from error
    if not isinstance(command, dict) or not isinstance(command.get("cmd"), str):
        raise CommandFailed('a command is an object with a name, like {"cmd": "mo_sms"}')
    return command


def _run(phone: Phone, options: Options) -> None:
    if options.push_port is None:
        _sync_repeatedly(phone, options, _pause)
        return
    try:
        listener = PushListener(options.push_port)
    except OSError as error:
        raise CommandFailed(f"cannot listen on port {options.push_port}: {error.strerror}") from error
    with closing(listener):
        if not phone.state.push_token.startswith(listener.url):
            phone.state.push_token = listener.url + uuid.uuid4().hex
        _sync_repeatedly(phone, options, listener.wait)


def _pause(seconds: float) -> bool:
    return threading.Event().wait(seconds)


def _sync_repeatedly(phone: Phone, options: Options, wait: Callable[[float], bool]) -> None:
    """Syncs, and again after `wait`, which tells whether a push has ended it."""
    count, was_pushed = 0, False
    while options.syncs is None or count < options.syncs:
        count += 1
        told: dict[str, Any] = {"sync": count, **({"pushed": True} if was_pushed else {})}
        try:
            phone.sync()
            sent = phone.send_waiting()
            if sent:
                phone.sync()
            told |= {"workspace_id": phone.state.workspace_id, "sent": sent}
            print_line(told if phone.refused is None else {**told, "refused": phone.refused})
        except NoReply as error:
            print_line({**told, "error": str(error)})
        save_state(options.state, phone.state)
        if options.syncs is None or count < options.syncs:
            was_pushed = wait(options.every)


def show(state: PhoneState) -> dict[str, Any]:
    """The state of a phone, for people."""
    return {
        "relayer_id": state.relayer_id,
        "claim_code": state.claim_code,
        "workspace_id": None if state.workspace_id == -1 else state.workspace_id,
        "queued": len(state.queue),
        "messages": [
            {"id": message.id, "phone": message.phone, "text": message.text, "state": message.state}
            for message in state.messages.values()
        ],
    }
