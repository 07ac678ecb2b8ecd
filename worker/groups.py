"""Finding the members of query groups that are new, or whose query reads what has changed."""

from collections.abc import Callable
from functools import partial

from persistence.group_evaluation import LeasedGroup, evaluate_some, lease_group, renew_group
from worker.services import Services


def begin_groups(services: Services) -> Callable[[], bool]:
    """The step that evaluates one query group, a portion of contacts at a time."""

    def step() -> bool:
        leased = services.database.write(lease_group)
        if leased is None:
            return False
        _evaluate(services, leased)
        return True

    return step


def _evaluate(services: Services, leased: LeasedGroup) -> None:
    held: LeasedGroup | None = leased
    last_id: int | None = 0
    while held is not None and last_id is not None:
        last_id = services.database.write(partial(evaluate_some, leased=held, after_id=last_id))
        if last_id is not None:
            held = services.database.write(partial(renew_group, leased=held))
