"""The servers of benchmarks are set up as those of people who follow docs/scaling.md, and wait for the disk."""

import pytest
from sqlalchemy import create_engine, text

from testbed import servers
from testbed.servers import ADVISED, postgres_server


@pytest.mark.benchmark  # only benchmarks ask for one
def test_a_durable_server_waits_for_the_disk_and_has_the_advised_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_POSTGRES_URL", raising=False)
    monkeypatch.setattr(servers, "USED_SEGMENTS", 2)  # a used log is for measuring, and takes gigabytes
    waits = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}

    with postgres_server(is_durable=True) as url:
        engine = create_engine(url)
        with engine.connect() as connection:
            found = {name: connection.execute(text(f"SHOW {name}")).scalar_one() for name in (*waits, *ADVISED)}
        engine.dispose()

    assert found == waits | ADVISED
