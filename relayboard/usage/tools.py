"""How deliveries, the receiver of webhooks and the simulated phone are called."""

from pathlib import Path

import click

from relayboard.usage.parts import Action, Noun, OneOf, argument, flag, limit, option, text_or_file, this, workspace
from relayboard.usage.people import ID, IN
from relayboard.usage.values import (
    DELIVERY_STATUSES,
    LARGEST_NUMBER,
    LONGEST_SECONDS,
    PORT,
    SECONDS,
    SIGNATURES,
    WORKSPACE_EVENTS,
    Moment,
    Number,
    WholeNumber,
)

STATES = ("CHA", "DIS", "FUL", "NOT", "UNK")
POWER_SOURCES = ("AC", "USB", "WIR", "BAT")
CALL_KINDS = ("mo_call", "mo_miss", "mt_call", "mt_miss", "unk")
REPORTS = ("mt_sent", "mt_dlvd", "mt_fail", "mt_error")
SERVER = "--server http://127.0.0.1:8080"
NUMBER = "+250788000111"

SLOWEST_RECEIVER, FASTEST_RECEIVER = 0.01, 1000.0
"""Requests per second."""


RECEIVER = "UUID or name of a channel, or id of a resthook subscriber or a subscription"


def receiver() -> click.Option:
    return option("--receiver", RECEIVER, metavar="ID")


def this_receiver() -> OneOf:
    return this("receiver", "--receiver", RECEIVER, metavar="ID")


WEBHOOK = Noun(
    "webhook",
    "receivers of events, and a small one that prints and verifies them",
    Action(
        "list",
        "webhooks.run_list_receivers",
        "channels' delivery URLs, resthook subscribers and subscriptions, with their settings and their health",
        workspace(),
        limit(),
        examples=(IN,),
    ),
    Action(
        "subscribe",
        "webhooks.run_subscribe",
        "send events of the workspace to a URL from now on; the secret that signs them is shown once",
        workspace(),
        text_or_file("--url", "where they go", required=True, metavar="URL"),
        option("--event", "repeat", choices=WORKSPACE_EVENTS, several=True, required=True),
        examples=(f"{IN} --url https://example.org/events --event contact.created --event ticket.opened",),
    ),
    Action(
        "unsubscribe",
        "webhooks.run_unsubscribe",
        "end a subscription",
        workspace(),
        argument("subscription", "its id, as `relayboard webhook list` names it", kind=WholeNumber(1), metavar="ID"),
        destroys="the subscription {subscription} ends, and what waits for it is given up",
        examples=(f"{IN} 8 --yes",),
    ),
    Action(
        "set",
        "webhooks.run_set",
        "change settings of a receiver",
        workspace(),
        this_receiver(),
        OneOf(
            option(
                "--retry-delay",
                "seconds before a retry; repeat, once for each retry, at most three days together",
                kind=Number(1, LONGEST_SECONDS),
                several=True,
                metavar="SECONDS",
            ),
            flag("--default-retries", "the retries of the service"),
        ),
        OneOf(
            option(
                "--requests-per-second",
                "over all workers",
                kind=Number(SLOWEST_RECEIVER, FASTEST_RECEIVER),
                metavar="N",
            ),
            flag("--no-limit", "as many requests as it takes"),
        ),
        option("--format", "channel events as a form, or with the same names as JSON", choices=("form", "json")),
        option("--signature", "with a shared secret, or with a private key", choices=SIGNATURES),
        text_or_file("--url", "where the events of a channel or a subscription go", metavar="URL"),
        option(
            "--event",
            "all that a subscription gets from now on; repeat",
            choices=WORKSPACE_EVENTS,
            several=True,
        ),
        OneOf(flag("--on", "send it events"), flag("--off", "send it no more events, and give up what waits")),
        examples=(
            f"{IN} {ID} --requests-per-second 10 --retry-delay 5 --retry-delay 300 --retry-delay 3600",
            f"{IN} 7 --signature ed25519",
            f"{IN} {ID} --format json",
        ),
    ),
    Action(
        "secret",
        "webhooks.run_secret",
        "give a receiver a new secret or key, which is shown; for a day requests are also signed with the old one",
        workspace(),
        this_receiver(),
        examples=(f"{IN} {ID}",),
    ),
    Action(
        "listen",
        "webhooks.run_listen",
        "print each event as a line of JSON until interrupted",
        option("--port", "0 for any free port; default: 8090", kind=PORT, default=8090),
        option(
            "--secret-file",
            "check signatures with the secret (whsec_...) in this file; - reads it from standard input",
            metavar="FILE",
        ),
        option("--reply", "answer each incoming message with this text", metavar="TEXT"),
        examples=("--port 8090 --reply 'We are open from 8 to 12'",),
        is_table=False,
        secret_from="use --secret-file",
    ),
)
DELIVERY = Noun(
    "delivery",
    "deliveries of events to webhooks: list them, send them again",
    Action(
        "list",
        "webhooks.run_list_deliveries",
        "the newest deliveries with their attempts, and the total number",
        workspace(),
        option("--status", "only these", choices=DELIVERY_STATUSES),
        option("--channel", "only those of this channel", metavar="UUID"),
        receiver(),
        option("--event", "only events of this type, such as mo_sms"),
        option("--contact", "only those about this contact", metavar="UUID"),
        option("--since", "made at this time or later", kind=Moment(is_utc=True), metavar="TIME"),
        option("--until", "made at this time or earlier", kind=Moment(is_utc=True), metavar="TIME"),
        limit(),
        examples=(f"{IN} --status failed --limit 5",),
    ),
    Action(
        "resend",
        "webhooks.run_resend",
        "send a finished delivery, or all that failed since a time, again",
        workspace(),
        OneOf(
            *this("delivery", "--delivery", "as `relayboard delivery list` names it").params,
            option("--failed-since", "for example 2026-03-02T08:00:00Z", kind=Moment(is_utc=True), metavar="TIME"),
            required=True,
        ),
        receiver(),
        examples=(f"{IN} {ID}", f"{IN} --failed-since 2026-03-02T08:00:00Z"),
    ),
    Action(
        "test",
        "webhooks.run_test",
        "send an event of the type `test` to a receiver",
        workspace(),
        OneOf(
            option("--channel", "the channel whose receiver is tested", metavar="UUID"),
            receiver(),
            required=True,
        ),
        examples=(f"{IN} --channel {ID}",),
    ),
    Action(
        "show",
        "webhooks.run_show",
        "one delivery with its body and its attempts",
        workspace(),
        this("delivery", "--delivery", "as `relayboard delivery list` names it"),
        examples=(f"{IN} {ID}",),
    ),
    Action(
        "ledger",
        "webhooks.run_ledger",
        "how many deliveries were made, and how many of them are delivered, failed and pending",
        workspace(),
        examples=(IN,),
    ),
)
PHONE = Noun(
    "phone",
    "a simulated relayer phone, scriptable",
    Action("register", "phone.run_phone", "register with the server; shows the claim code", examples=(SERVER,)),
    Action("sync", "phone.run_phone", "exchange commands with the server", examples=(SERVER,)),
    Action("show", "phone.run_phone", "show the state of the phone", examples=(SERVER,)),
    Action(
        "receive",
        "phone.run_phone",
        "an SMS arrives",
        argument("number", "who sends it"),
        argument("text", "what it says"),
        examples=(f"{SERVER} {NUMBER} 'Is the clinic open?'",),
    ),
    Action(
        "call",
        "phone.run_phone",
        "an entry of the call log",
        argument(
            "kind", "mo is incoming, mt outgoing; miss was not answered; unk is anything else", choices=CALL_KINDS
        ),
        argument("number", "who called or was called"),
        option("--seconds", "duration in seconds; default: 0", kind=WholeNumber(0), default=0),
        examples=(f"{SERVER} --seconds 30 mo_call {NUMBER}",),
    ),
    Action(
        "send",
        "phone.run_phone",
        "send all waiting messages",
        flag("--no-delivery", "the network reports no delivery"),
        flag("--fail", "Android reports an error for each"),
        examples=(SERVER,),
    ),
    Action(
        "report",
        "phone.run_phone",
        "say the fate of one message, which need not be the phone's",
        argument("kind", "sent, delivered, given up, or not sent: the server offers it again", choices=REPORTS),
        argument("message", "its id, as mt_bcast names it", metavar="ID", kind=WholeNumber(1)),
        examples=(f"{SERVER} mt_fail 90311",),
    ),
    Action(
        "queue",
        "phone.run_phone",
        "queue any command for the next sync",
        argument("command", "with the fields of the relayer protocol; it gets a p_id of its own", metavar="JSON"),
        examples=(f'{SERVER} \'{{"cmd": "signal", "dbm": -71}}\'',),
    ),
    Action(
        "battery",
        "phone.run_phone",
        "the battery changes",
        argument("level", "per cent", kind=WholeNumber(0, 100)),
        option("--status", "charging, discharging (default), full, not, unknown", choices=STATES, default="DIS"),
        option("--source", "mains, USB, wireless, battery (default)", choices=POWER_SOURCES, default="BAT"),
        examples=(f"{SERVER} 80 --status CHA --source AC",),
    ),
    Action(
        "status",
        "phone.run_phone",
        "what the phone says of itself changes",
        option("--network", "WIFI, NONE or the mobile network, such as LTE"),
        option("--device", "its model"),
        option("--os", "the release of its operating system"),
        option("--app-version", "the version of its app"),
        examples=(f"{SERVER} --network LTE --device SM-A135F",),
    ),
    Action("reset", "phone.run_phone", "the owner disconnects the phone", examples=(SERVER,)),
    Action(
        "run",
        "phone.run_phone",
        "sync repeatedly, send the messages of the server, report them sent and delivered",
        option("--every", "default: 2", kind=SECONDS, default=2.0, metavar="SECONDS"),
        option("--syncs", "end after so many syncs", kind=WholeNumber(1), metavar="N"),
        option(
            "--push-port",
            "take pushes on this port of 127.0.0.1 and sync at once; the server must be allowed to call it "
            "(RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8)",
            kind=WholeNumber(0, 65535),
            metavar="PORT",
        ),
        examples=(f"{SERVER} --every 5", f"{SERVER} --every 600 --push-port 8099"),
        is_table=False,
    ),
    shared=(
        option("--server", "for example http://127.0.0.1:8080", required=True, metavar="URL"),
        option(
            "--state",
            "file with the phone's state; default: var/phone.json",
            kind=click.Path(path_type=Path),
            default=Path("var/phone.json"),
            metavar="FILE",
        ),
        flag("--lagging", "behave like app 2.x, which handles each reply one sync later"),
        option("--country", "country of the SIM of a new phone"),
        flag("--wire", "print requests and answers to stderr as they go over the wire, the secret masked"),
        option(
            "--clock-offset",
            "the phone's clock is so much ahead, or behind if negative; default: 0",
            kind=WholeNumber(-LARGEST_NUMBER),
            default=0,
            metavar="SECONDS",
        ),
        option(
            "--lose-replies",
            "lose every Nth answer after the server has sent it, counted over all calls with this state",
            kind=WholeNumber(1),
            metavar="N",
        ),
    ),
)
ALL = (DELIVERY, WEBHOOK, PHONE)
