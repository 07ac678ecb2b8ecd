"""`relayboard phone`: a simulated relayer phone, one action per call or running by itself; its state is in a file."""

import argparse
import threading
from pathlib import Path
from typing import Any

from relayboard.commands.output import CommandFailed, print_json, read_country
from relayboard.commands.parser import Commands, seconds, whole_number
from relayboard.phone.phone import Phone
from relayboard.phone.state import PhoneState, load_state, save_state
from relayboard.phone.wire import HttpTransport, NoReply

STATES = ("CHA", "DIS", "FUL", "NOT", "UNK")
CALL_KINDS = ("mo_call", "mo_miss", "mt_call", "unk")


def register(commands: Commands) -> None:
    parser = commands.add_parser("phone", help="a simulated relayer phone, scriptable")
    parser.add_argument("--server", required=True, metavar="URL", help="for example http://127.0.0.1:8080")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path("var/phone.json"),
        metavar="FILE",
        help="file with the phone's state; default: var/phone.json",
    )
    parser.add_argument(
        "--lagging", action="store_true", help="behave like app 2.x, which handles each reply one sync later"
    )
    parser.add_argument("--country", help="country of the SIM of a new phone")
    parser.set_defaults(run=run_phone)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("register", help="register with the server; shows the claim code")
    actions.add_parser("sync", help="exchange commands with the server")
    actions.add_parser("show", help="show the state of the phone")
    receive = actions.add_parser("receive", help="an SMS arrives")
    receive.add_argument("number", help="who sends it")
    receive.add_argument("text", help="what it says")
    call = actions.add_parser("call", help="an entry of the call log")
    call.add_argument("kind", choices=CALL_KINDS, help="mo is incoming, mt outgoing; mo_miss was not answered")
    call.add_argument("number", help="who called or was called")
    call.add_argument("--seconds", type=whole_number(0), default=0, help="duration in seconds; default: 0")
    send = actions.add_parser("send", help="send all waiting messages")
    send.add_argument("--no-delivery", action="store_true", help="the network reports no delivery")
    send.add_argument("--fail", action="store_true", help="Android reports an error for each")
    battery = actions.add_parser("battery", help="the battery changes")
    battery.add_argument("level", type=whole_number(0, 100), help="per cent")
    battery.add_argument(
        "--status", default="DIS", choices=STATES, help="charging, discharging (default), full, not, unknown"
    )
    actions.add_parser("reset", help="the owner disconnects the phone")
    run = actions.add_parser(
        "run", help="sync repeatedly, send the messages of the server, report them sent and delivered"
    )
    run.add_argument("--every", type=seconds, default=2.0, metavar="SECONDS", help="default: 2")
    run.add_argument("--syncs", type=whole_number(1), metavar="N", help="end after so many syncs")


def run_phone(options: argparse.Namespace) -> None:
    state = load_state(options.state)
    if options.country:
        state.country = read_country(options.country)
    phone = Phone(HttpTransport(options.server), state, is_lagging=options.lagging)
    try:
        _act(phone, options)
    except NoReply as error:
        raise CommandFailed(f"no reply from {options.server}: {error}") from error
    finally:
        save_state(options.state, state)


def _act(phone: Phone, options: argparse.Namespace) -> None:
    if options.action == "run":
        _run(phone, options)
        return
    _change(phone, options)
    print_json(show(phone.state))


def _change(phone: Phone, options: argparse.Namespace) -> None:
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
    elif action == "battery":
        phone.battery(options.level, options.status)
    elif action == "reset":
        phone.reset()


def _run(phone: Phone, options: argparse.Namespace) -> None:
    pause = threading.Event()
    count = 0
    while options.syncs is None or count < options.syncs:
        count += 1
        try:
            phone.sync()
            sent = phone.send_waiting()
            if sent:
                phone.sync()
            print_json({"sync": count, "workspace_id": phone.state.workspace_id, "sent": sent})
        except NoReply as error:
            print_json({"sync": count, "error": str(error)})
        save_state(options.state, phone.state)
        if options.syncs is None or count < options.syncs:
            pause.wait(options.every)


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
