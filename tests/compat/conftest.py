"""A running service, and workspaces on it, for clients that other people wrote."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from testbed.running import RunningService, forked_service
from testbed.tokens import make_token

PAGE_SIZE = 4


@dataclass(frozen=True, slots=True)
class Tenant:
    """A workspace on the running service, and the token of its administrator."""

    service: RunningService
    workspace: Workspace
    token: str

    @property
    def url(self) -> str:
        return self.service.url


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """API and worker processes on one database, which show four records a page."""
    folder = tmp_path_factory.mktemp("compat")
    with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder, PAGE_SIZE=str(PAGE_SIZE)) as running:
        yield running


@pytest.fixture(scope="session")
def open_tenant(service: RunningService) -> Callable[[], Tenant]:
    """Makes a workspace of its own."""

    def make() -> Tenant:
        with service.database.writing() as tx:
            country = {"country": "RW", "timezone": "Africa/Kigali", "languages": ("eng", "kin")}
            workspace = create_workspace(tx, "Riverside Health", **country)
        return Tenant(service, workspace, make_token(service.database, workspace, "administrator"))

    return make


@pytest.fixture
def tenant(open_tenant: Callable[[], Tenant]) -> Tenant:
    return open_tenant()
