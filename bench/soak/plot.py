"""The plot of a soak run: a panel for each measure, time to the right."""

from collections.abc import Callable, Mapping, Sequence

from bench.plots import Panel
from bench.plots import draw as draw_panels
from bench.soak.samples import MEGABYTE, Sample

MOST_TABLES = 5


def draw(samples: Sequence[Sample]) -> str:
    largest = sorted(samples[-1].tables, key=lambda name: -samples[-1].tables[name])[:MOST_TABLES]
    measures: list[tuple[str, str, Callable[[Sample], Mapping[str, float]]]] = [
        ("Memory", "MB", lambda one: one.memory),
        ("Open files", "", lambda one: one.files),
        ("99 of 100 are quicker", "ms", lambda one: one.p99),
        ("Largest tables", "MB", lambda one: {name: one.tables.get(name, 0) / MEGABYTE for name in largest}),
        ("Time in which some process waited for a processor", "%", lambda one: {"waited": one.waited * 100}),
    ]
    last = samples[-1].minutes or 1.0
    marks = {last * share: f"{last * share:.4g} min" for share in (0.0, 0.5, 1.0)}
    panels = [Panel(title, unit, _find_lines(samples, read), marks) for title, unit, read in measures]
    return draw_panels(panels, "Memory, open files, waits and tables over time")


def _find_lines(
    samples: Sequence[Sample], read: Callable[[Sample], Mapping[str, float]]
) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in samples:
        for name, value in read(one).items():
            lines.setdefault(name, []).append((one.minutes, value))
    return lines
