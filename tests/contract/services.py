"""A running service for many cases at once, on either database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from handlers.app import create_app
from persistence.database import Database
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.base.settings import load_settings
from testbed.databases import open_database
from testbed.servers import postgres_database
from testbed.tokens import SECRET_KEY, make_token
from tests.api import Api
from tests.clients import running_client


@dataclass
class Service:
    """Requests and the database behind them."""

    client: TestClient
    database: Database

    def new_workspace(self, name: str = "Riverside Health") -> Workspace:
        with self.database.writing() as tx:
            return create_workspace(tx, name, country="RW", timezone="Africa/Kigali", languages=("eng",))

    def api(self, workspace: Workspace) -> Api:
        """Requests of an administrator."""
        return Api(self.client, self.database, workspace, make_token(self.database, workspace, "administrator"))


@contextmanager
def database_url_for_many_tests(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of an empty, migrated database that outlives a single test; `kind` is sqlite or postgresql."""
    if kind == "sqlite":
        path = folder / "relayboard.db"
        path.write_bytes(request.getfixturevalue("sqlite_template").read_bytes())
        yield f"sqlite:///{path}"
        return
    template = request.getfixturevalue("postgres_template")
    with postgres_database(request.getfixturevalue("postgres_url"), template) as url:
        yield url


@contextmanager
def serve(url: str, folder: Path, page_size: int = 250, check_responses: bool = True) -> Iterator[Service]:
    """The service over this database, its answers checked against the contract."""
    environment = {
        "RELAYBOARD_DATABASE_URL": url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
        "RELAYBOARD_RATE_LIMIT": "1000000/hour",
        "RELAYBOARD_VISITOR_LIMIT": "1000000/hour",
        "RELAYBOARD_STREAM_SECONDS": "0.2",
        "RELAYBOARD_SYNC_HOLD_SECONDS": "0",
    }
    database = open_database(url)
    settings = replace(load_settings(environment), page_size=page_size)
    app: Any = create_app(settings, database=database, check_responses=check_responses)
    with running_client(app) as client:
        yield Service(client, database)
    database.close()
