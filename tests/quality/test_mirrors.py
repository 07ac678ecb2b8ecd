"""`python -m bench.mirrors` in small."""

from pathlib import Path

import pytest

from bench.mirrors import PAUSES, Mirror, compare, run
from testbed.running import forked_service

SECONDS = 5.0


@pytest.mark.benchmark  # what it meets by chance tests/worker/mirrors meets change by change
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # tests/worker/mirrors meets both
def test_clients_that_follow_the_page_about_polling_end_with_equal_copies(database_url: str, tmp_path: Path) -> None:
    with forked_service(database_url, tmp_path) as service:
        writers, mirrors, faults = run(service, SECONDS / 60, 0.2)

        assert faults == []
        assert set(mirrors) == set(PAUSES)
        assert all(mirror.got["deletions"] and mirror.got["messages"] for mirror in mirrors.values())
        assert writers.did["contacts deleted"] and writers.did["contacts renamed"]

        blind = Mirror(mirrors["quick"].client, {"contacts": {}})
        assert compare(blind), "a copy that misses everything is told"
