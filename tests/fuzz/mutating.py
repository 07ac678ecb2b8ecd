"""A round of the second generator: requests made of valid ones by spoiling them, straight to the application."""

import asyncio
import logging
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import yaml
from sqlalchemy import select
from starlette.types import ASGIApp

from handlers.app import create_app
from handlers.asgi.request_body import COOKIE
from openapi.bundle import operations
from persistence.database import Database
from persistence.relayers.relayers import claim_phone
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tokens import create_token
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import load_settings
from relayboard.phone.phone import sign_body
from testbed.running import RunningService
from testbed.tokens import SECRET_KEY
from tests.accounts import PASSWORD, QUICK, add_person
from tests.clients import running_application
from tests.contract.documents import Operation, document
from tests.fuzz.answers import Answer, Described, shown
from tests.fuzz.asks import Ask, Writer
from tests.fuzz.calling import call
from tests.fuzz.contracts import PATHS, gateway_contract
from tests.fuzz.memory import Memory
from tests.fuzz.mutations import mutate
from worker.app import make_wake

LANES = 4
"""Requests at the same time."""
SPOILED, SIGNED, CLAIMED = 0.8, 0.9, 0.8
"""How many requests are spoiled, how many of a phone are signed, and how many of these are of a claimed one."""
TOKENS_LAST = 1000
"""After so many requests the fuzzer has perhaps deleted its own tokens, and gets new ones."""
MOST_FOUND = 30
ROLES = ("administrator", "administrator", "administrator", "administrator", "editor", "viewer", "agent", "surveyor")
WEIGHTS = {"get": 3, "post": 5, "delete": 1}
SELDOM = ("/stream",)
"""Operations that wait for something."""


@dataclass
class Found:
    """What a round counted. `found` has a text for each kind of finding; `kinds` tells them apart."""

    requests: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)
    kinds: set[tuple[str, str]] = field(default_factory=set)

    def add(self, ask: Ask, problem: str, answer: Answer | None, number: int) -> None:
        kind = (str(ask.operation), problem.partition(":")[0])
        if kind not in self.kinds and len(self.found) < MOST_FOUND:
            self.kinds.add(kind)
            self.found.append(f"{ask.operation}, request {number}: {problem}\n  {shown(ask, answer)}")


@dataclass
class Contract:
    """One of the contracts with its operations as a fuzzer needs them."""

    writer: Writer
    described: Described
    choices: Sequence[Operation]
    weights: Sequence[int]

    @classmethod
    def of(cls, name: str, service: RunningService, folder: Path, memory: Memory) -> "Contract":
        if name == "gateway":
            shape = yaml.safe_load(gateway_contract(service, folder).read_text(encoding="utf-8"))
        else:
            shape = document(f"{name}/openapi.yaml")
        found = [Operation(f"{name}/openapi.yaml", *each) for each in operations(shape)]
        weights = [1 if each.path in SELDOM else 10 * WEIGHTS.get(each.method, 1) for each in found]
        writer = Writer(shape, PATHS[name], [()], memory)
        return cls(writer, Described(shape, PATHS[name], found), found, weights)


@dataclass
class Mutating:
    """A round: where it asks, and what it has found so far."""

    app: ASGIApp
    database: Database
    workspace: Workspace
    contract: Contract
    memory: Memory
    seed: int
    count: int
    found: Found = field(default_factory=Found)
    number: int = 0

    async def run(self) -> Found:
        async with running_application(self.app):
            await self._get_rights()  # a lane that did not wait for them would ask without any
            async with asyncio.TaskGroup() as lanes:
                for _ in range(LANES):
                    lanes.create_task(self._ask_on())
        return self.found

    async def _ask_on(self) -> None:
        while self.number < self.count and len(self.found.found) < MOST_FOUND:
            number, self.number = self.number, self.number + 1
            if number and number % TOKENS_LAST == 0:
                await self._get_rights()
            await self._ask(number, random.Random(f"{self.seed}:{number}"))

    async def _ask(self, number: int, chance: random.Random) -> None:
        operation = chance.choices(self.contract.choices, self.contract.weights)[0]
        ask = self.contract.writer.write(operation, chance)
        phone = self._choose_phone(ask, chance)
        if phone is not None:
            ask = addressed(ask, phone[0])
        if chance.random() < SPOILED:
            ask = mutate(ask, chance, self.memory)
        if phone is not None:
            ask = signed(ask, phone[1])
        self.found.requests["spoiled" if not ask.is_whole else "whole"] += 1
        try:
            answer = await call(self.app, ask, chance)
        except Exception as error:
            self.found.add(ask, f"{type(error).__name__}: {error}"[:500], None, number)
            return
        self.found.statuses[str(answer.status) if answer else "left"] += 1
        if answer is not None:
            for problem in self.contract.described.problems(ask, answer):
                self.found.add(ask, problem, answer, number)
            self._note(ask, answer)

    def _note(self, ask: Ask, answer: Answer) -> None:
        if answer.status in (200, 201) and answer.content_type == "application/json" and ask.method != "DELETE":
            try:
                self.memory.note(ask, orjson.loads(answer.text))
            except ValueError:
                return  # a page of the console, which the contract does not have

    def _choose_phone(self, ask: Ask, chance: random.Random) -> tuple[int, str] | None:
        """The phone that makes a sync: one that registered before; most of them belong to the workspace."""
        phones = self.memory.phones
        if not ask.operation.path.startswith("/sync/") or not phones or chance.random() > SIGNED:
            return None
        relayer, secret = chance.choice(list(phones.items()))
        if chance.random() < CLAIMED:
            self._claim(relayer)
        return relayer, secret

    def _claim(self, relayer: int) -> None:
        """Makes a phone one of the workspace, if it waits for that."""
        with self.database.writing() as tx:
            code = tx.execute(select(channel.c.claim_code).where(channel.c.id == relayer)).scalar_one_or_none()
            if code is not None:
                claim_phone(tx, self.workspace, code, f"+250788{relayer:06}", None)

    async def _get_rights(self) -> None:
        """New tokens of all roles, and a browser in which somebody is signed in."""
        if self.contract.writer.prefix not in (PATHS["v1"], PATHS["v2"]):
            return
        tokens = [self._new_token(role) for role in ROLES]
        rights: list[list[tuple[str, str]]] = [[("authorization", f"Token {token}")] for token in tokens]
        self.contract.writer.rights = [*rights, *await self._sign_in()]

    def _new_token(self, role: str) -> str:
        """A token of a new user: requests may have changed the roles of the others."""
        email = f"{new_uuid()}@example.org"
        with self.database.writing() as tx:
            add_member(tx, self.workspace.id, email, role)
            user_id = find_member(tx, self.workspace.id, email)
            assert user_id is not None
            return create_token(tx, self.workspace.id, user_id, SECRET_KEY)

    async def _sign_in(self) -> list[list[tuple[str, str]]]:
        email = f"{new_uuid()}@example.org"
        add_person(self.database, self.workspace, email, "administrator")
        origin = ("origin", "http://testserver")
        body = orjson.dumps({"email": email, "password": PASSWORD})
        sessions, account = (
            next(
                Operation("v2/openapi.yaml", *each)
                for each in operations(document("v2/openapi.yaml"))
                if each[0] == path
            )
            for path in ("/sessions.json", "/account.json")
        )
        headers = [origin, ("content-type", "application/json")]
        signed = await call(
            self.app, Ask(sessions, "POST", "/api/v2/sessions.json", (), headers, None, body), Patient()
        )
        if signed is None or signed.status != 201:
            return []
        session = re.search(rf"{COOKIE}=[^;]+", signed.headers["set-cookie"])
        assert session is not None
        cookie = ("cookie", session[0])
        shown_account = await call(
            self.app, Ask(account, "GET", "/api/v2/account.json", (), [origin, cookie]), Patient()
        )
        assert shown_account is not None
        token = orjson.loads(shown_account.text)["csrf_token"]
        return [[origin, cookie, ("x-csrf-token", token)]] * 2


def addressed(ask: Ask, relayer: int) -> Ask:
    """A sync with the id of this phone."""
    place = ask.path.rstrip("/").rsplit("/", 1)[-1]
    return replace(ask, path=ask.path.replace(place, str(relayer), 1))


def signed(ask: Ask, secret: str) -> Ask:
    """A sync as the phone with this secret signs it just now, whatever was spoiled in it."""
    ts = str(int(time.time()))
    others = [pair for pair in ask.query if pair[0] not in ("ts", "signature")]
    return replace(ask, query=[*others, ("ts", ts), ("signature", sign_body(secret, ts, ask.body))])


class Patient(random.Random):
    """Never leaves early."""

    def random(self) -> float:
        return 0.5


class ErrorsLogged(logging.Handler):
    """Notes what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        kind = str(record.exc_info[1])[:150] if record.exc_info else record.getMessage()[:150]
        if len(self.found) < MOST_FOUND:
            self.found.setdefault(kind, logging.Formatter().format(record)[-3000:])


@contextmanager
def noting_errors() -> Iterator[ErrorsLogged]:
    handler = ErrorsLogged()
    logging.getLogger().addHandler(handler)
    try:
        yield handler
    finally:
        logging.getLogger().removeHandler(handler)


def run_mutating(service: RunningService, contract: str, folder: Path, seed: int, count: int) -> Found:
    """`count` requests to the application over the database of a service whose worker runs."""
    settings = replace(load_settings(service.environment), sync_hold_seconds=0.0)
    memory = Memory()
    with noting_errors() as errors:
        app: Any = create_app(settings, database=service.database, wake=make_wake(settings), passwords=QUICK)
        made = Contract.of(contract, service, folder, memory)
        round_ = Mutating(app, service.database, service.workspace, made, memory, seed, count)
        found = asyncio.run(round_.run())
    found.found += [f"logged: {text}" for text in errors.found.values()]
    return found
