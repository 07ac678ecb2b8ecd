"""Messages over SMPP while workers are killed: none is lost or doubled, and of which nobody knows, it says so."""

from pathlib import Path

from testbed.running import forked_service
from testbed.smpp_kills import play
from testbed.smsc import Reply, running_smsc

MESSAGES = 40


def test_a_killed_worker_loses_and_doubles_nothing(database_url: str, tmp_path: Path) -> None:
    with running_smsc() as smsc, forked_service(database_url, tmp_path) as service:
        smsc.respond = lambda _submit: Reply(seconds=0.02)

        figures = play(service, smsc, MESSAGES, kills=1)

    assert (figures.lost, figures.doubled, figures.unreported) == (0, 0, 0)
    assert (figures.received_lost, figures.received_doubled, figures.most_bound) == (0, 0, 1)
    assert figures.delivered + figures.uncertain >= MESSAGES
