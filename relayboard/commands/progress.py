"""Progress bars of long work, on the stderr of a terminal and nowhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Called with how much is done, and how much there is to do (0 while nobody knows)."""


@contextmanager
def show_progress(what: str) -> Iterator[Progress]:
    """Without any report the bar only shows that work goes on, and for how long."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich import progress as rich  # noqa: PLC0415  # for people only
    from rich.console import Console  # noqa: PLC0415

    columns = (*rich.Progress.get_default_columns()[:2], rich.MofNCompleteColumn(), rich.TimeElapsedColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total or None)
