"""A media store in a bucket: one S3 server for all tests of this folder, a prefix of its bucket for each test, and
SQLite, because what a bucket does has nothing to do with the database.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from persistence.media.s3 import S3Store, client_of
from persistence.media.store import open_store
from relayboard.base.settings import Settings, load_settings
from testbed.tokens import SECRET_KEY

BUCKET = "media-of-tests"
OWN = {
    "RELAYBOARD_SECRET_KEY": SECRET_KEY,
    "RELAYBOARD_MEDIA_URL": f"s3://{BUCKET}",
    "RELAYBOARD_S3_REGION": "eu-central-1",
    "RELAYBOARD_S3_PATH_STYLE": "on",
    "RELAYBOARD_S3_ACCESS_KEY": "key-of-tests",
    "RELAYBOARD_S3_SECRET_KEY": "secret-of-tests",
}


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    client = client_of(load_settings({**OWN, "RELAYBOARD_S3_ENDPOINT": url}))
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    yield url
    server.stop()


@pytest.fixture
def database_url(sqlite_template: Path, tmp_path: Path) -> str:
    path = tmp_path / "relayboard.db"
    path.write_bytes(sqlite_template.read_bytes())
    return f"sqlite:///{path}"


@pytest.fixture
def settings(database_url: str, s3_server: str, tmp_path: Path) -> Settings:
    environment = {
        **OWN,
        "RELAYBOARD_S3_ENDPOINT": s3_server,
        "RELAYBOARD_MEDIA_URL": f"s3://{BUCKET}/{time.monotonic_ns()}/files",
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{tmp_path / 'queue.db'}",
        "RELAYBOARD_RATE_LIMIT": "1000000/hour",
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    return load_settings(environment)


@pytest.fixture
def bucket(settings: Settings) -> S3Store:
    store = open_store(settings)
    assert isinstance(store, S3Store)
    return store


@pytest.fixture
def changed(settings: Settings) -> Callable[..., S3Store]:
    """The store with other settings."""
    return lambda **changes: S3Store(replace(settings, **changes))
