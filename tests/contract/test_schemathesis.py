"""Whatever the contract allows or forbids is sent to the application, and every answer is as the contract says."""

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import negative_data_rejection

from handlers.app import create_app
from openapi.bundle import published
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.workspaces import create_workspace
from relayboard.settings import load_settings
from tests.api import KEYS, SECRET_KEY, make_token
from tests.contract.fuzz import EXAMPLES
from tests.factories import fill_workspace

SEED = 20260302
EXAMPLES_PER_OPERATION = int(os.environ.get(EXAMPLES, "15"))

CHECKS: dict[str, Any] = {
    # Rules a schema cannot express (a reference that must exist, a taken name, a system record, a full workspace,
    # fields that go together) refuse what the schema allows.
    "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "401", "403", "404", "409"]},
}


@cache
def template() -> tuple[Path, str]:
    """The database of a small workspace, and an administrator's token."""
    path = Path(tempfile.mkdtemp(prefix="fuzz")) / "template.db"
    database = Database(f"sqlite:///{path}", keys=KEYS)
    upgrade(database.engine)
    with database.writing() as tx:
        workspace = create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali")
    fill_workspace(database, workspace)
    token = make_token(database, workspace, "administrator")
    database.close()
    return path, token


@cache
def application() -> tuple[Any, Database]:
    """The whole service over a copy of that database; clear the cache for a fresh copy."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    (folder / "relayboard.db").write_bytes(template()[0].read_bytes())
    environment = {
        "RELAYBOARD_DATABASE_URL": f"sqlite:///{folder / 'relayboard.db'}",
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
        "RELAYBOARD_RATE_LIMIT": "100000000/hour",
        "RELAYBOARD_REGISTRATION_LIMIT": "100000000/hour",
    }
    database = Database(environment["RELAYBOARD_DATABASE_URL"], keys=KEYS)
    app: Any = create_app(load_settings(environment), database=database)
    return app, database


async def _lazy_app(scope: Any, receive: Any, send: Any) -> None:
    await application()[0](scope, receive, send)


def load(generation: str) -> Any:
    generated = {"mode": "all", "max-examples": EXAMPLES_PER_OPERATION}
    config = SchemathesisConfig.from_dict({"seed": SEED, "generation": generated, "checks": CHECKS})
    schema = schemathesis.openapi.from_dict(published(generation), config=config)
    schema.app = _lazy_app

    @schema.auth()
    class Token:
        def get(self, _case: Any, _context: Any) -> str:
            return template()[1]

        def set(self, case: Any, data: str, _context: Any) -> None:
            case.headers["Authorization"] = f"Token {data}"

    return schema


def begin_afresh(_walk: Any) -> None:
    """Every walk begins with the same records: one that is walked again must get the same answers."""
    application()[1].close()
    application.cache_clear()


def is_repeating(value: Any) -> bool:
    """By a written rule a value that is given several times counts once, also against the length of its list."""
    return isinstance(value, list) and len({str(item) for item in value}) < len(value)


def follows_a_lenient_rule(case: Any) -> bool:
    """By a written rule an empty query value counts as absent, so what the schema forbids is answered as if left out.

    The same holds for a list of which only empty values are left.
    """
    values = list((case.query or {}).values())
    return any(
        value in ("", None) or is_repeating(value) or value == [] or (isinstance(value, list) and "" in value)
        for value in values
    )


def check(case: Any) -> None:
    excluded = [negative_data_rejection] if follows_a_lenient_rule(case) else []
    case.call_and_validate(excluded_checks=excluded)


v1, v2, relay = load("v1"), load("v2"), load("relay")
quietly = settings(
    max_examples=EXAMPLES_PER_OPERATION, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(autouse=True)
def seed_is_shown() -> None:
    print(f"seed {SEED}, {EXAMPLES_PER_OPERATION} examples per operation")  # noqa: T201 - shown when a test fails


@v1.parametrize()
@quietly
def test_generation_1_answers_as_its_contract_says(case: Any) -> None:
    check(case)


@v2.parametrize()
@quietly
def test_generation_2_answers_as_its_contract_says(case: Any) -> None:
    check(case)


@relay.parametrize()
@quietly
def test_the_phones_endpoints_answer_as_their_contract_says(case: Any) -> None:
    # By a written rule phones are read leniently: one that is refused repeats the same request for ever.
    case.call_and_validate(excluded_checks=[negative_data_rejection])


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_what_one_operation_creates_the_linked_ones_find(generation: str) -> None:
    """The stateful phase: operations follow each other along the links of the contract."""
    machine = {"v1": v1, "v2": v2}[generation].as_state_machine()
    machine.setup = begin_afresh
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES_PER_OPERATION,
            stateful_step_count=8,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
