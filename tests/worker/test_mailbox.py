"""What threads report to one that works them off in batches."""

import threading

from testbed.patience import PATIENCE_SECONDS
from worker.mailbox import Mailbox


def test_what_came_first_is_taken_first_and_no_more_than_asked_for() -> None:
    mailbox: Mailbox[int] = Mailbox()
    for number in range(5):
        mailbox.put(number)

    assert len(mailbox) == 5
    assert mailbox.take(3, enough=5, seconds=PATIENCE_SECONDS) == [0, 1, 2]
    assert mailbox.take(3, enough=0, seconds=PATIENCE_SECONDS) == [3, 4]
    assert mailbox.take(3, enough=0, seconds=PATIENCE_SECONDS) == []


def test_whoever_waits_goes_on_with_the_first_one_and_takes_with_enough() -> None:
    mailbox: Mailbox[int] = Mailbox()
    taken: list[list[int]] = []
    has_begun = threading.Event()

    def work() -> None:
        mailbox.wait(PATIENCE_SECONDS)
        has_begun.set()
        taken.append(mailbox.take(9, enough=3, seconds=PATIENCE_SECONDS))

    thread = threading.Thread(target=work)
    thread.start()
    mailbox.put(1)
    assert has_begun.wait(PATIENCE_SECONDS)
    mailbox.put(2)
    mailbox.put(3)
    thread.join(PATIENCE_SECONDS)
    assert taken == [[1, 2, 3]]


def test_when_the_time_is_over_there_is_what_there_is() -> None:
    mailbox: Mailbox[int] = Mailbox()
    mailbox.wait(0.01)
    mailbox.put(1)

    assert mailbox.take(9, enough=2, seconds=0.01) == [1]
