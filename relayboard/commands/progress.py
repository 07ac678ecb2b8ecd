"""Progress bars of long work, on the stderr of a terminal and nowhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from relayboard.base.progress import listening, report

Note = Callable[[int, int], None]


@contextmanager
def show_progress(what: str) -> Iterator[Note]:
    """Shows what work within the block reports (`relayboard.base.progress`), with the time that is left. Without any
    report the bar only shows that work goes on, and for how long. Gives a function that reports how much of this is
    done.
    """
    note: Note = partial(report, what)
    if not sys.stderr.isatty():
        yield note
        return
    from rich import progress as rich  # for people only
    from rich.console import Console  # see above

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.TextColumn("{task.fields[amount]}"),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None, amount="")
        shown = what

        def show(about: str, done: int, total: int) -> None:
            nonlocal shown
            if about != shown:  # the pace of other work says nothing about this one
                bars.reset(task, total=None)
                shown = about
            amount = f"{done:,}/{total:,}" if total else f"{done:,}"
            bars.update(task, description=about, completed=done, total=total or None, amount=amount)

        with listening(show):
            yield note
