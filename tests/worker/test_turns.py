import contextlib
import threading

import worker.fairness
from testbed.patience import PATIENCE_SECONDS
from worker.fairness import Turns


def test_whoever_was_served_longest_ago_comes_next():
    turns, served = Turns(), []

    def work(workspace_id):
        served.append(workspace_id)
        return True

    for _ in range(5):
        turns.serve([1, 2, 3], work)

    assert served == [1, 2, 3, 1, 2]


def test_one_who_begins_to_have_work_does_not_wait_for_another_who_always_has():
    turns, served = Turns(), []

    def work(workspace_id):
        served.append(workspace_id)
        return True

    for due in ([1], [1], [1, 2], [1, 2]):
        turns.serve(due, work)

    assert served == [1, 1, 2, 1]


def test_a_workspace_with_nothing_to_do_gives_its_turn_to_the_next():
    turns, asked = Turns(), []

    assert turns.serve([1, 2], lambda workspace_id: asked.append(workspace_id) or workspace_id == 2)
    assert asked == [1, 2]
    assert not turns.serve([1], lambda _: False)


def test_a_workspace_that_another_thread_serves_is_left_to_it_and_looked_at_once_more():
    turns, begun, go_on, results = Turns(), threading.Event(), threading.Event(), []

    def work(_workspace_id):
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return False

    thread = threading.Thread(target=lambda: results.append(turns.serve([1], work)))
    thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    asked = []
    other = turns.serve([1, 2], lambda workspace_id: asked.append(workspace_id) or False)
    go_on.set()
    thread.join(PATIENCE_SECONDS)

    assert (other, asked) == (False, [2])
    assert results == [True], "the thread looks again at what the other one came for"
    assert not turns.serve([1], lambda _: False), "and once only"


def test_who_was_served_too_long_ago_to_be_remembered_comes_before_all_who_were(monkeypatch):
    monkeypatch.setattr(worker.fairness, "REMEMBERED", 2)
    turns, served = Turns(), []

    def work(workspace_id):
        served.append(workspace_id)
        return True

    for due in ([2], [3], [4], [3, 5], [2, 6]):
        turns.serve(due, work)

    assert served == [2, 3, 4, 5, 2]


def test_a_workspace_whose_work_meets_an_error_has_had_its_turn():
    turns, served = Turns(), []

    def work(workspace_id):
        served.append(workspace_id)
        if workspace_id == 1:
            raise ValueError
        return True

    for _ in range(4):
        with contextlib.suppress(ValueError):
            turns.serve([1, 2], work)

    assert served == [1, 2, 1, 2]
