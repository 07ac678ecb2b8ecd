"""Finding the members of new query groups."""

from collections.abc import Callable

from persistence.group_evaluation import evaluate_group, lease_group
from worker.services import Services


def begin_groups(services: Services) -> Callable[[], bool]:
    """The step that evaluates one query group."""

    def step() -> bool:
        leased = services.database.write(lease_group)
        if leased is None:
            return False
        services.database.write(lambda tx: evaluate_group(tx, leased))
        return True

    return step
