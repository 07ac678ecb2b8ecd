"""Jobs with the data of a workspace: imports and exports of contacts and other records, and requests of persons."""

from collections.abc import Callable

from persistence.data_jobs import list_data_workspaces, take_next
from persistence.media.opening import open_store
from persistence.performing import Performer
from worker.runtime import Runtime
from worker.turns import begin_turns


def begin_data(runtime: Runtime) -> Callable[[], bool]:
    """The step that performs the next job of the workspace whose turn it is."""
    performer = Performer(runtime.database, open_store(runtime.settings), runtime.stopping.is_set)

    def work(workspace_id: int) -> bool:
        held = runtime.database.write(lambda tx: take_next(tx, workspace_id))
        if held is not None:
            performer.perform(held)
        return held is not None

    return begin_turns(runtime, list_data_workspaces, work)
