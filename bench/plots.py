"""Plots as SVG: panels under each other, each with lines over the same kind of measure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP = 900, 210, 70, 190, 40
COLORS = ("#1f6fb2", "#c25b12", "#2e7d32", "#7b3fa0", "#a3202f")
MOST_DOTS = 10
"""A line of more points has none of them marked."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines by name, each of points (x, y); `marks` are the x that are named, the first and the last at the edges."""

    title: str
    unit: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    marks: Mapping[float, str]
    is_logarithmic: bool = False

    def place(self, x: float) -> float:
        """Where between the edges an x is, from 0 to 1."""
        scale = math.log if self.is_logarithmic else float
        first, last = scale(min(self.marks)), scale(max(self.marks))
        return (scale(x) - first) / (last - first) if last > first else 0.0


def draw(panels: Sequence[Panel], label: str) -> str:
    """`label` says what is seen, for those who cannot see it."""
    height = TOP + len(panels) * PANEL_HEIGHT
    parts = [_draw_panel(panel, TOP + number * PANEL_HEIGHT) for number, panel in enumerate(panels)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
        f' font-size="12" role="img" aria-label="{escape(label)}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n{"".join(parts)}</svg>\n'
    )


def _draw_panel(panel: Panel, top: int) -> str:
    height, width = PANEL_HEIGHT - 60, WIDTH - LEFT - RIGHT
    most = max((y for points in panel.lines.values() for _, y in points), default=1.0) or 1.0
    parts = [f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{escape(panel.title)}</text>\n']
    for share in (0.0, 0.5, 1.0):
        y = top + height * (1 - share)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + width}" y2="{y:.1f}" stroke="#d0d0d0"/>\n')
        shown = f"{most * share:,.0f} {panel.unit}" if most >= 10 else f"{most * share:.1f} {panel.unit}"
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{shown.strip()}</text>\n')
    for x, name in panel.marks.items():
        place = LEFT + width * panel.place(x)
        parts.append(f'<text x="{place:.1f}" y="{top + height + 16}" text-anchor="middle">{escape(name)}</text>\n')
    for number, name in enumerate(sorted(panel.lines)):
        color = COLORS[number % len(COLORS)]
        points = [(LEFT + width * panel.place(x), top + height * (1 - y / most)) for x, y in panel.lines[name]]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{color}" stroke-width="2"/>\n')
        if len(points) <= MOST_DOTS:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>\n' for x, y in points]
        y = top + 14 + 18 * number
        parts.append(f'<text x="{LEFT + width + 12}" y="{y}" fill="{color}">{escape(name)}</text>\n')
    return "".join(parts)
