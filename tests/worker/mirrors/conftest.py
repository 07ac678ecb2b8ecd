"""An API under the real clock with small pages and room for many clients at once."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime

import pytest
from starlette.testclient import TestClient

from persistence.database import Database, utc_now
from persistence.workspaces.records import Workspace
from testbed.databases import open_database
from testbed.tokens import make_token
from tests.api import Api

PAGE_SIZE = 5
CLIENTS = 20


@pytest.fixture
def clock() -> Callable[[], datetime]:
    return utc_now


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = open_database(database_url, pool_size=CLIENTS)
    yield made
    made.close()


@pytest.fixture
def http(make_client: Callable[..., AbstractContextManager[TestClient]]) -> Iterator[TestClient]:
    with make_client(page_size=PAGE_SIZE) as client:
        yield client


@pytest.fixture
def api(http: TestClient, database: Database, workspace: Workspace) -> Api:
    return Api(http, database, workspace, make_token(database, workspace, "administrator"))
