"""The plot of a soak run as SVG: a panel for each measure, time to the right."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from bench.soak.samples import MEGABYTE, Sample

WIDTH, HEIGHT, PANEL_HEIGHT, LEFT, RIGHT, TOP = 900, 1090, 210, 70, 190, 40
COLORS = ("#1f6fb2", "#c25b12", "#2e7d32", "#7b3fa0", "#a3202f")
MOST_TABLES = 5

Panel = tuple[str, str, Callable[[Sample], Mapping[str, float]]]


def draw(samples: Sequence[Sample]) -> str:
    largest = sorted(samples[-1].tables, key=lambda name: -samples[-1].tables[name])[:MOST_TABLES]
    panels: list[Panel] = [
        ("Memory", "MB", lambda one: one.memory),
        ("Open files", "", lambda one: one.files),
        ("99 of 100 are quicker", "ms", lambda one: one.p99),
        ("Largest tables", "MB", lambda one: {name: one.tables.get(name, 0) / MEGABYTE for name in largest}),
        ("Time in which some process waited for a processor", "%", lambda one: {"waited": one.waited * 100}),
    ]
    parts = [_panel(samples, panel, TOP + number * PANEL_HEIGHT) for number, panel in enumerate(panels)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        f' font-size="12" role="img" aria-label="Memory, open files, waits and tables over time">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n{"".join(parts)}</svg>\n'
    )


def _panel(samples: Sequence[Sample], panel: Panel, top: int) -> str:
    title, unit, read = panel
    height, width = PANEL_HEIGHT - 60, WIDTH - LEFT - RIGHT
    values = [read(one) for one in samples]
    most = max((value for each in values for value in each.values()), default=1.0) or 1.0
    last = samples[-1].minutes or 1.0
    lines = [f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{escape(title)}</text>\n']
    for part in (0.0, 0.5, 1.0):
        y = top + height * (1 - part)
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + width}" y2="{y:.1f}" stroke="#d0d0d0"/>\n')
        shown = f"{most * part:,.0f} {unit}".strip() if most >= 10 else f"{most * part:.1f} {unit}".strip()
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>\n')
        x = LEFT + width * part
        lines.append(f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle">{last * part:.4g} min</text>\n')
    for number, name in enumerate(sorted({name for each in values for name in each})):
        color = COLORS[number % len(COLORS)]
        points = [
            f"{LEFT + width * one.minutes / last:.1f},{top + height * (1 - each[name] / most):.1f}"
            for one, each in zip(samples, values, strict=True)
            if name in each
        ]
        lines.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" stroke-width="2"/>\n')
        y = top + 14 + 18 * number
        lines.append(f'<text x="{LEFT + width + 12}" y="{y}" fill="{color}">{escape(name)}</text>\n')
    return "".join(lines)
