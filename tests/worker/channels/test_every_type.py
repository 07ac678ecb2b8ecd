"""What holds for every channel type whose provider is called by HTTP, over the real service: API and worker process,
and a local server that plays all providers. Each rule is asked on both databases, and each type on one of them. What
a provider says and hears is in the section `play` of the type's `cases.yaml`: a new type needs only that. Its `ways`
say what differs where a type has another way to speak with its provider. Presets are played beside them where it
matters how their providers fail.

In its texts {provider} stands for the URL of the provider's API, {callback} for the channel's callback URL, {to} and
{digits} for the person's address with and without a plus, {text} for a text, {id} for the provider's id of a message,
{message} and {uuid} for ours.

Types with a transport of their own have the same rules in files of their own, because their providers are other servers
and say yes, later and no in other words: `test_smpp.py`, `test_email.py` and `test_mailboxes.py`, kills in
`tests/faults/`; webchat, which calls nobody, in `tests/channels/webchat/`.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import func, select, update

from channels import calls
from channels.calls import Request
from channels.presets import TYPE, list_presets
from channels.signatures import hmac_base64, hmac_hex
from channels.types import GATEWAYS, TYPES
from flows.urns import Urn
from persistence.channels.channels import create_gateway
from persistence.channels.settings import callback_path
from persistence.contacts.urns import ensure_owners
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.channels import channel, gateway_call
from persistence.tables.contacts import contact
from persistence.tables.messages import INCOMING, gateway_send, message
from testbed.gateways import states_of
from testbed.kept_databases import KeptDatabases
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.channels.test_cases import FILES, PLAY, Case, body_of, is_as_written
from tests.channels.test_signatures import token_of
from tests.preset_providers import PROVIDERS
from tests.thinned import DATABASES, EVERY_CASE, FEW
from tests.worker.receivers import Received, Receiver, Reply, receiving

BASE = "https://relayboard.example.org"
SECRET = "secret-of-the-channel-in-tests"
PICTURE = b"\xff\xd8\xff\xe0 a picture"
DOWN: Case = {"status": 503, "text": "Service Unavailable"}
ATTEMPTS = 3
TYPES_PLAYED = [name for name in GATEWAYS if TYPES[name].transport == "http"]
PLAYS: dict[str, Case] = {
    f"{name} {way}".strip(): FILES[name][PLAY] | changes
    for name in TYPES_PLAYED
    if PLAY in FILES[name]
    for way, changes in {"": {}, **FILES[name][PLAY].get("ways", {})}.items()
}
"""What is played of each type, and of each further way in which it speaks with its provider."""
PLAYED = list(PLAYS)
PRESETS = list_presets()
NUMBERS = count(1)


def have(part: str) -> list[str]:
    return [name for name in PLAYED if part in PLAYS[name]]


class Account:
    """A channel of a type, and its account at the provider, whose server answers what `answer` says."""

    def __init__(self, service: RunningService, server: Receiver, name: str) -> None:
        self.service, self.name, self.play = service, name, self.play_of(name)
        number, self.kind = next(NUMBERS), TYPE if name in PRESETS else name.partition(" ")[0]
        self.key = f"{name.partition(' ')[0]}-{number}"
        self.to = self.play["to"].replace("{n}", f"{number:04}")
        self.provider = f"http://127.0.0.1:{server.port}/{self.key}"
        self.received: list[Received] = []
        self.answer: Case = self.play["takes"]
        self.released = threading.Event()
        self.released.set()
        self.scheme = self.play.get("scheme", "tel")
        self.path = ""
        made = self.create()
        with service.database.reading() as tx:
            self.id = tx.execute(select(channel.c.id).where(channel.c.uuid == made)).scalar_one()

    def play_of(self, name: str) -> Case:
        return PLAYS[name]

    def create(self) -> str:
        """The UUID of the new channel."""
        kind, service = self.kind, self.service
        own = {"api_url": "{provider}"} if any(each.name == "api_url" for each in TYPES[kind].settings) else {}
        self.settings = self.fill(FILES[kind].get("settings", {}) | own | self.play.get("settings", {}))
        with service.database.writing() as tx:
            values = {"name": self.key, "address": self.play["address"], "country": "RW", "schemes": [self.scheme]}
            made = create_gateway(tx, service.workspace.id, kind, **values, config=self.settings, secret=SECRET)
        self.path = callback_path(kind, made, SECRET)
        return made

    def fill(self, value: Any, **words: object) -> Any:
        """What a play says, with what the words in braces stand for."""
        if isinstance(value, dict):
            return {name: self.fill(each, **words) for name, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each, **words) for each in value]
        if isinstance(value, str):
            known = {"provider": self.provider, "callback": BASE + self.path, **words}
            known |= {"to": self.to, "digits": self.to.lstrip("+")}
            for name, each in known.items():
                value = value.replace(f"{{{name}}}", str(each))
        return value

    def respond(self, request: Received) -> Reply:
        """As the provider: to a message, to the steps before a file, and for the file itself."""
        path = request.path.removeprefix(f"/{self.key}")
        step = self.play.get("steps", {}).get(path.partition("?")[0])
        if step is not None:
            return self._reply(step)
        if "/file" in path:
            return Reply(200, PICTURE, {"Content-Type": "image/jpeg"})
        if f"{self.provider}{path}" != self.fill(self.play["request"]["url"]):
            return Reply(404)
        return self.take(request)

    def take(self, request: Received) -> Reply:
        """As the provider: to a message."""
        self.received.append(request)
        self.released.wait(PATIENCE_SECONDS)
        return self._reply(self.answer, id=f"{self.key}-{len(self.received)}")

    def _reply(self, given: Case, **words: object) -> Reply:
        filled = self.fill(given, **words)
        return Reply(filled.get("status", 200), body_of(filled), filled.get("headers", {}))

    def send(self, text: str) -> int:
        """Queues a message to the person of the play, who has written first where only answers are taken; its id."""
        if TYPES[self.kind].carries.window_hours:
            assert self.call("received", id="first", text="Hello").status_code == 200
        urn = Urn(self.scheme, self.to)
        with self.service.database.writing() as tx:
            owner = ensure_owners(tx, self.service.workspace.id, [urn])[urn.identity]
            drafts = [Draft(owner.contact_id, text)]
            return create_outgoing(tx, self.service.workspace.id, drafts, channel_id=self.id)[0]

    def call(self, part: str, *, secret: str = SECRET, is_signed: bool = True, **words: object) -> requests.Response:
        """As the provider: calls the service with what the play has under this name."""
        given = self.fill(self.play[part], **words)
        path = self.path.replace(SECRET, secret) + (f"{given['action']}/" if given.get("action") else "")
        body, kinds = body_of(given), {"json": calls.JSON_TYPE, "form": calls.FORM_TYPE}
        headers = {"Content-Type": next(kind for form, kind in kinds.items() if form in given)}
        signature = self._sign(BASE + path, body, given.get("form", {})) if "signature" in self.play else {}
        headers |= {name: value if is_signed else value[:-1] + "#" for name, value in signature.items()}
        return requests.post(self.service.url + path, data=body, headers=headers, timeout=PATIENCE_SECONDS)

    def _sign(self, url: str, body: bytes, form: Mapping[str, str]) -> dict[str, str]:
        rule = self.play["signature"]
        if "value" in rule:
            return {rule["header"]: rule["value"]}
        secret = str(self.settings[rule["secret"]]) if rule["secret"] else SECRET
        if rule.get("of") == "hash in a token":
            claims = {"iat": int(datetime.now(UTC).timestamp()), "payload_hash": sha256(body).hexdigest()}
            made = token_of(claims, secret)
        else:
            in_order = "".join(name + value for name, value in sorted(form.items()))
            known = {"body": body, "url and form": (url + in_order).encode()}
            of = rule.get("of", "body")
            made = (hmac_base64 if rule.get("as") == "base64" else hmac_hex)(
                secret, known.get(of, of.encode()), rule.get("digest", "sha256")
            )
        return {rule["header"]: rule.get("before", "") + made}

    def stored(self) -> list[Any]:
        """The incoming messages of the channel: urn, text, attachments."""
        columns = (message.c.urn, message.c.text, message.c.attachments)
        mine = (message.c.channel_id == self.id) & (message.c.direction == INCOMING)
        with self.service.database.reading() as tx:
            return [tuple(row) for row in tx.execute(select(*columns).where(mine).order_by(message.c.id))]


class PresetAccount(Account):
    """A channel of a preset. What is said of its messages and reports is tested where presets are played one by one
    (`tests/acceptance/test_presets.py`)."""

    def play_of(self, name: str) -> Case:
        self.preset = PROVIDERS[name]()
        reply = self.preset.reply
        takes = {"status": reply.status, "text": reply.body.decode(), "headers": reply.headers}
        return {"to": "+25078812{n}", "takes": takes, "limits": {"status": 429, "headers": {"Retry-After": "600"}}}

    def create(self) -> str:
        fields = {"url": self.provider, **self.preset.fields}
        new = {"preset": self.name, "fields": fields, "name": self.key, "address": "8181", "country": "RW"}
        return str(self.service.post("/api/v2/channel_settings.json", new)["uuid"])

    def respond(self, request: Received) -> Reply:
        return self.take(request)


class World:
    """A service and the server of all providers."""

    def __init__(self, service: RunningService, server: Receiver) -> None:
        self.service, self.server = service, server
        self.accounts: dict[str, Account] = {}
        server.respond = lambda request: self.accounts[request.path.split("/")[1]].respond(request)

    def open(self, names: Sequence[str]) -> list[Account]:
        """A new channel of each of these types and presets whose turn it is on this database."""
        if len(names) >= FEW and not EVERY_CASE:
            names = names[DATABASES.index(self.service.database.engine.dialect.name) :: len(DATABASES)]
        made = [(PresetAccount if name in PRESETS else Account)(self.service, self.server, name) for name in names]
        self.accounts |= {each.key: each for each in made}
        return made

    def states(self, sent: Mapping[str, int]) -> dict[str, Any]:
        return dict(zip(sent, states_of(self.service.database, list(sent.values())), strict=True))

    def wait_for(self, sent: Mapping[str, int], *states: tuple[str, str | None]) -> None:
        """Until the message of each type has one of these states."""
        try:
            wait_until(lambda: set(self.states(sent).values()) <= set(states), f"messages to be {states}")
        except AssertionError as error:
            others = {name: each for name, each in self.states(sent).items() if each not in states}
            raise AssertionError(f"{error}: {others}") from error

    def wait_for_attempts(self, accounts: Sequence[Account], number: int) -> None:
        """Until so many attempts of each account are recorded, with what followed from them."""
        rows = gateway_call.c
        mine = rows.channel_id.in_([each.id for each in accounts]) & (rows.direction == "out")
        counted = select(rows.channel_id, func.count()).where(mine).group_by(rows.channel_id)

        def are_recorded() -> bool:
            with self.service.database.reading() as tx:
                return dict(tx.execute(counted).tuples().all()) == {each.id: number for each in accounts}

        wait_until(are_recorded, f"attempt {number}")

    def details(self, sent: Mapping[str, int]) -> dict[str, str | None]:
        """What the providers said of these messages."""
        rows = message.c
        with self.service.database.reading() as tx:
            known = dict(
                tx.execute(select(rows.id, rows.failed_detail).where(rows.id.in_(sent.values()))).tuples().all()
            )
        return {name: known[number] for name, number in sent.items()}

    def let_pauses_pass(self) -> None:
        """What waits for its next attempt is due, and no channel is left alone any more."""
        waits, rows = gateway_send.c.due_on > gateway_send.c.created_on, channel.c
        due = update(gateway_send).where(waits).values(due_on=gateway_send.c.created_on)
        goes_on = update(channel).where(rows.paused_until.is_not(None)).values(paused_until=None)
        self.service.database.write(lambda tx: tx.execute(due).rowcount)
        self.service.database.write(lambda tx: tx.execute(goes_on).rowcount)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("every_type")
    if request.param == "sqlite":
        path = folder / "relayboard.db"
        path.write_bytes(sqlite_template.read_bytes())
        with receiving() as server, forked_service(f"sqlite:///{path}", folder, BASE_URL=BASE) as service:
            yield World(service, server)
        return
    kept: KeptDatabases = request.getfixturevalue("kept_databases")
    with kept.lend() as url, receiving() as server, forked_service(url, folder, BASE_URL=BASE) as service:
        yield World(service, server)


def test_every_type_has_a_play() -> None:
    assert [name for name in TYPES_PLAYED if PLAY not in FILES[name]] == []


def test_a_message_arrives_as_written_and_a_status_names_it_by_the_id_of_the_provider(world: World) -> None:
    """A status of a message of nobody changes nothing."""
    accounts = world.open(PLAYED)
    sent = {each.name: each.send(f"Good morning from {each.name}") for each in accounts}

    world.wait_for(sent, ("wired", None))

    with world.service.database.reading() as tx:
        uuids = dict(tx.execute(select(message.c.id, message.c.uuid)).tuples().all())
    for account in accounts:
        words = {"message": sent[account.name], "uuid": uuids[sent[account.name]]}
        (got,) = account.received
        wanted = account.fill(account.play["request"], text=f"Good morning from {account.name}", **words)
        is_as_written(Request("POST", f"http://{got.headers['host']}{got.path}", got.headers, got.body), wanted)

    told = [each for each in accounts if "status" in each.play]
    for account in told:
        account.call("status", id="of-somebody-else", message=2**31 - 1)
    assert set(world.states(sent).values()) == {("wired", None)}
    for account in told:
        said = account.call("status", id=f"{account.key}-1", message=sent[account.name])
        assert (account.name, said.status_code) == (account.name, 200)
    states = world.states({each.name: sent[each.name] for each in told})
    assert {name: state for name, (state, _) in states.items()} == {
        each.name: each.play.get("becomes", "delivered") for each in told
    }


def test_an_incoming_message_is_stored_once_however_often_it_is_told(world: World) -> None:
    accounts = world.open(PLAYED)

    for account in accounts:
        told = [account.call("received", id="in-1", text="Yes & no = ü 👍").status_code for _ in range(2)]
        assert (account.name, told) == (account.name, [200, 200])

    wanted = {each.name: [(f"{each.scheme}:{each.to}", "Yes & no = ü 👍", [])] for each in accounts}
    assert {each.name: each.stored() for each in accounts} == wanted

    numbered = [each for each in accounts if "{id}" in str(each.play["received"])]
    for account in numbered:
        account.call("received", id="in-2", text="Yes & no = ü 👍")
    assert {each.name: each.stored() for each in numbered} == {each.name: 2 * wanted[each.name] for each in numbered}


def test_a_message_that_failed_says_what_its_provider_says(world: World) -> None:
    accounts = world.open(have("fails"))
    sent = {each.name: each.send("Good morning") for each in accounts}
    world.wait_for(sent, ("wired", None))

    for account in accounts:
        account.call("fails", id=f"{account.key}-1", message=sent[account.name])

    assert {name: state for name, (state, _) in world.states(sent).items()} == dict.fromkeys(sent, "failed")
    assert world.details(sent) == {each.name: each.play["detail"] for each in accounts}


def test_what_is_signed_wrong_is_refused_and_not_stored(world: World) -> None:
    signed, every = world.open(have("signature")), world.open(PLAYED)
    accounts = [*signed, *every]

    answers = {each.name: each.call("received", is_signed=False, id="in-1", text="Hi").status_code for each in signed}
    assert answers == {each.name: 403 for each in signed}
    guessed = [each.call("received", secret="x" * 30, id="in-1", text="Hi").status_code for each in accounts]
    assert set(guessed) == {401}

    assert [each.name for each in accounts if each.stored()] == []


def test_an_incoming_file_is_fetched_and_kept(world: World) -> None:
    accounts = world.open(have("file"))

    for account in accounts:
        assert account.call("file", id="in-1").status_code == 200, account.name

    for account in accounts:
        ((_, text, (file,)),) = account.stored()
        assert (account.name, text, file["content_type"]) == (account.name, "", "image/jpeg")
        url = world.service.url + file["url"].removeprefix(BASE)

        def is_there(url: str = url) -> bool:
            return requests.get(url, timeout=PATIENCE_SECONDS).status_code == 200

        wait_until(is_there, f"the file of {account.name}")
        assert requests.get(url, timeout=PATIENCE_SECONDS).content == PICTURE


def test_a_provider_that_is_down_is_asked_again_and_then_the_message_fails_with_its_reason(world: World) -> None:
    accounts = world.open([*PLAYED, *PRESETS])
    for account in accounts:
        account.answer = DOWN
    sent = {each.name: each.send("Good morning") for each in accounts}

    for attempt in range(1, ATTEMPTS + 1):
        world.wait_for_attempts(accounts, attempt)
        world.wait_for(sent, ("errored", None) if attempt < ATTEMPTS else ("failed", "gateway_failed"))
        world.let_pauses_pass()

    assert [name for name, said in world.details(sent).items() if "503" not in (said or "")] == []
    rows = gateway_call.c
    with world.service.database.reading() as tx:
        for account in accounts:
            kept = tx.execute(
                select(rows.outcome, rows.status, rows.answer).where(
                    rows.channel_id == account.id, rows.direction == "out"
                )
            )
            assert kept.tuples().all() == [("refused", 503, DOWN["text"])] * ATTEMPTS


def test_a_slow_provider_holds_up_no_other_channel(world: World) -> None:
    slow, quick = world.open(PLAYED), world.open(PLAYED)
    for account in slow:
        account.released.clear()
    held = {each.name: each.send("Good morning") for each in slow}
    wait_until(lambda: all(each.received for each in slow), "the slow ones to be asked")

    sent = {each.name: each.send("Good evening") for each in quick}
    world.wait_for(sent, ("wired", None))

    assert set(world.states(held).values()) == {("queued", None)}
    for account in slow:
        account.released.set()
    world.wait_for(held, ("wired", None))


def test_a_refusal_is_final(world: World) -> None:
    accounts = world.open(have("refuses"))
    for account in accounts:
        account.answer = account.play["refuses"]
    sent = {each.name: each.send("Good morning") for each in accounts}

    world.wait_for(
        sent, *((("failed", reason)) for reason in ("gateway_failed", "contact_inactive", "gateway_refused"))
    )

    assert {each.name: len(each.received) for each in accounts} == {each.name: 1 for each in accounts}
    assert [name for name, said in world.details(sent).items() if not said] == []


def test_a_limit_holds_back_all_messages_of_the_channel_until_it_ends(world: World) -> None:
    accounts = world.open([*have("limits"), *PRESETS])
    for account in accounts:
        account.answer = account.play["limits"]
    first = {each.name: each.send("Good morning") for each in accounts}
    world.wait_for_attempts(accounts, 1)
    world.wait_for(first, ("errored", None), ("queued", None))
    second = {each.name: each.send("Good evening") for each in accounts}
    other = world.open(PLAYED)
    world.wait_for({each.name: each.send("Good night") for each in other}, ("wired", None))

    assert {each.name: len(each.received) for each in accounts} == {each.name: 1 for each in accounts}
    for account in accounts:
        account.answer = account.play["takes"]
    world.let_pauses_pass()
    world.wait_for(first, ("wired", None))
    world.wait_for(second, ("wired", None))


def test_whoever_has_stopped_is_stopped(world: World) -> None:
    accounts = world.open([name for name in have("refuses") if PLAYS[name].get("has_stopped")])
    for account in accounts:
        account.answer = account.play["refuses"]
        account.send("Good morning")
    wait_until(lambda: all(each.received for each in accounts), "the provider to be asked")

    def stopped() -> set[str]:
        with world.service.database.reading() as tx:
            found = tx.execute(
                select(message.c.channel_id)
                .join(contact, contact.c.id == message.c.contact_id)
                .where(contact.c.status == "stopped")
            )
            return set(found.scalars())

    wait_until(lambda: {each.id for each in accounts} <= stopped(), "the persons to be stopped")
