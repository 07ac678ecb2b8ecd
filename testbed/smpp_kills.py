"""A channel at an SMS centre while its workers are killed: what became of each message, both ways."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from channels.smpp.coding import decode_gsm
from flows.urns import Urn
from persistence.channels.channels import create_gateway
from persistence.channels.settings import read_config
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.statements import update
from persistence.tables.channels import channel, channel_connection
from persistence.tables.messages import INCOMING, gateway_send, message
from persistence.workspaces.records import Workspace
from testbed.gateways import SECRET, states_of
from testbed.running import RunningService, wait_until
from testbed.smsc import Smsc

SETTLED = {"wired", "sent", "delivered", "failed"}


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of messages. `lost` ones were neither submitted nor say that nobody knows; `uncertain` ones say it;
    `unreported` ones had a receipt and are not delivered, without saying why. `doubled` were submitted twice."""

    submitted: int
    delivered: int
    uncertain: int
    lost: int
    doubled: int
    unreported: int
    received: int
    received_lost: int
    received_doubled: int
    most_bound: int


def add_smpp(database: Database, workspace: Workspace, smsc: Smsc, **config: Any) -> int:
    """A channel that is bound to this SMS centre; its id."""
    usual = read_config("smpp", {name: str(value) for name, value in smsc.settings.items()})
    options: dict[str, Any] = {"schemes": ["tel"], "country": "RW", "config": usual | config}
    with database.writing() as tx:
        uuid = create_gateway(tx, workspace.id, "smpp", name="SMSC", address="8080", secret=SECRET, **options)
        return int(tx.execute(select(channel.c.id).where(channel.c.uuid == uuid)).scalar_one())


def queue_texts(database: Database, workspace: Workspace, channel_id: int, count: int) -> dict[int, str]:
    """Messages with a text of its own each; the texts by id."""
    texts = [f"message {number}" for number in range(count)]
    with database.writing() as tx:
        urns = [Urn("tel", f"+25078{number:07}") for number in range(count)]
        owners = ensure_owners(tx, workspace.id, urns)
        drafts = [Draft(owners[urn.identity].contact_id, text) for urn, text in zip(urns, texts, strict=True)]
        return dict(zip(create_outgoing(tx, workspace.id, drafts, channel_id=channel_id), texts, strict=True))


def end_leases(database: Database) -> None:
    """Lets the time of all leases pass."""
    with database.writing() as tx:
        tx.execute(update(gateway_send).values(due_on=gateway_send.c.created_on))
        tx.execute(update(channel_connection).values(leased_until=None))


def play(service: RunningService, smsc: Smsc, messages: int, kills: int) -> Figures:
    """As many messages each way, with receipts, while the worker is killed so often."""
    database, smsc.receipts = service.database, "after"
    channel_id = add_smpp(database, service.workspace, smsc)
    texts = queue_texts(database, service.workspace, channel_id, messages)
    for number in range(messages):
        smsc.write_text(f"incoming {number}".encode(), f"25079{number % 50:07}")
    for kill in range(1, kills + 1):
        wait_until(lambda kill=kill: len(smsc.submitted) >= messages * kill // (kills + 1), "messages")  # type: ignore[misc]
        service.kill("worker")
        wait_until(lambda: smsc.bound == 0, "the end of the connection")
        end_leases(database)
        service.start("worker")
    wait_until(lambda: {status for status, _ in states_of(database, [*texts])} <= SETTLED, "all messages")
    wait_until(lambda: not smsc.waiting and len(_incoming(database)) >= messages, "what the SMS centre delivers")
    wait_until(lambda: not _unreported(database, texts, smsc), "the receipts")
    states = dict(zip(texts, states_of(database, [*texts]), strict=True))
    counts = Counter(decode_gsm(each.content) for each in smsc.submitted)
    received = Counter(_incoming(database))
    return Figures(
        submitted=len(smsc.submitted),
        delivered=sum(status == "delivered" for status, _ in states.values()),
        uncertain=sum(reason == "uncertain" for _, reason in states.values()),
        lost=sum(not counts[text] and states[each][1] != "uncertain" for each, text in texts.items()),
        doubled=sum(count > 1 for count in counts.values()),
        unreported=len(_unreported(database, texts, smsc)),
        received=received.total(),
        received_lost=sum(not received[f"incoming {number}"] for number in range(messages)),
        received_doubled=sum(count > 1 for count in received.values()),
        most_bound=smsc.most_bound,
    )


def _incoming(database: Database) -> list[str]:
    with database.reading() as tx:
        return [text for (text,) in tx.execute(select(message.c.text).where(message.c.direction == INCOMING))]


def _unreported(database: Database, texts: dict[int, str], smsc: Smsc) -> list[int]:
    """Messages with a receipt that are not delivered and do not say that nobody knows."""
    told = {decode_gsm(each.content) for each in list(smsc.accepted.values())}
    states = dict(zip(texts, states_of(database, [*texts]), strict=True))
    return [each for each, text in texts.items() if text in told and states[each] == ("wired", None)]
