"""Pictures of figures as inline SVG: no library, no font, the same bytes for the same figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

WIDE, HIGH = 480, 210
LEFT, RIGHT, TOP, BOTTOM = 62, 28, 30, 44
"""Margins; right of the last mark half of its text has room."""
STEPS = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000),
)
"""Seconds a bin is wide, or a mark from the next: what a clock shows."""
DAYS = 2 * 86_400
"""Of more seconds than these the marks are days."""
STYLE = """
:root{color-scheme:light dark;--text:#1b1f24;--back:#fff;--faint:#d5d9de;--quiet:#555d66;
--first:#0b62b4;--second:#a3480b;--good:#1a7337;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--text:#e6e9ec;--back:#15181c;--faint:#3a4047;
--quiet:#a9b1ba;--first:#6cb4ff;--second:#ffb070;--good:#6fd08c;--bad:#ff8a80}}
@media print{:root{--text:#000;--back:#fff;--faint:#bbb;--quiet:#333;--first:#0b62b4;
--second:#a3480b;--good:#1a7337;--bad:#b3261e}figure{break-inside:avoid}}
figure{margin:1rem 0;max-width:44rem}figcaption{font-weight:600}
svg{width:100%;height:auto;display:block}
svg text{fill:var(--text);font:11px system-ui,sans-serif}
svg .grid{stroke:var(--faint);stroke-width:1}svg .m{text-anchor:middle}svg .e{text-anchor:end}
svg .line{fill:none;stroke-width:2}svg .c0{stroke:var(--first)}svg .c1{stroke:var(--second)}
svg .bar{stroke:none;fill:var(--first)}svg .bar.c1{fill:var(--second)}svg .line.c1{stroke-dasharray:5 3}
"""
"""Of the page around: colours by light, dark and paper, and the pictures."""


@dataclass(frozen=True)
class Series:
    """One line, or bars."""

    name: str
    points: Sequence[tuple[float, float]]
    """x and y; x rises."""
    width: float = 0
    """Of a bar, in units of x; 0: a line."""


def step_of(seconds: float, most: int) -> int:
    """The smallest of STEPS of which no more than ``most`` are needed, or the largest."""
    return next((step for step in STEPS if seconds <= step * most), STEPS[-1])


def ticks(top: float) -> list[float]:
    """Whole numbers from 0 on, at equal distances, about five; the last is ``top`` or more."""
    rough = max(top / 4, 1)
    size = 10 ** math.floor(math.log10(rough))
    step = next(n * size for n in (1, 2, 5, 10) if n * size >= rough)
    return [n * step for n in range(max(1, math.ceil(top / step)) + 1)]


def moment(seconds: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time in UTC. seconds: since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime(form)


def time_marks(begin: float, end: float) -> list[tuple[float, str]]:
    """Where marks stand between two times, in seconds since 1970, and what they say (UTC)."""
    step = step_of(end - begin, 6)
    form = "%m-%d" if end - begin > DAYS else "%H:%M" if step >= 60 else "%H:%M:%S"
    first = math.ceil(begin / step)
    return [(n * step, moment(n * step, form)) for n in range(first, math.floor(end / step) + 1)]


def picture(
    title: str,
    said: str,
    series: Sequence[Series],
    begin: float,
    end: float,
    names: tuple[str, str],
    marks: Sequence[tuple[float, str]] | None = None,
) -> str:
    """A figure. said: what it shows, for who does not see it.

    begin, end: where the axis of x begins and ends. names: of the axes, x and y. marks: where on the
    axis of x, and what they say; None: x is seconds since 1970.
    """
    top = max((y for one in series for _, y in one.points), default=0)
    values = ticks(top)

    def x(value: float) -> str:
        share = (value - begin) / ((end - begin) or 1)
        return f"{LEFT + share * (WIDE - LEFT - RIGHT):.1f}"

    def y(value: float) -> str:
        return f"{HIGH - BOTTOM - value / values[-1] * (HIGH - TOP - BOTTOM):.1f}"

    parts = []
    for value in values:
        parts.append(f'<path class="grid" d="M{x(begin)} {y(value)}H{x(end)}"/>')
        parts.append(_text(f"{value:,.10g}", LEFT - 6, float(y(value)) + 4, "e"))
    for at, words in time_marks(begin, end) if marks is None else marks:
        parts.append(f'<path class="grid" d="M{x(at)} {y(0)}v4"/>')
        parts.append(_text(words, float(x(at)), HIGH - BOTTOM + 16, "m"))
    for number, one in enumerate(series):
        kind = "bar" if one.width else "line"
        if one.width:
            drawn = "".join(
                f"M{x(at)} {y(0)}V{y(high)}H{x(min(at + one.width * 0.9, end))}V{y(0)}Z"
                for at, high in one.points
                if high
            )
        else:
            drawn = "".join(
                f"{'L' if place else 'M'}{x(at)} {y(high)}"
                for place, (at, high) in enumerate(one.points)
            )
        parts.append(f'<path class="{kind} c{number}" d="{drawn}"/>')
        at = WIDE - RIGHT - 110 * (len(series) - number)
        parts.append(f'<path class="line c{number}" d="M{at} 10h18"/>')
        parts.append(_text(one.name, at + 23, 14))
    parts.append(_text(names[1], 4, 14))
    parts.append(_text(names[0], (LEFT + WIDE - RIGHT) / 2, HIGH - 8, "m"))
    spoken = escape(f"{title}. {said}")
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>\n"
        f'<svg role="img" viewBox="0 0 {WIDE} {HIGH}" aria-label="{spoken}">'
        f"{''.join(parts)}</svg></figure>\n"
    )


def _text(words: str, x: float, y: float, anchor: str = "") -> str:
    where = f' class="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{where}>{escape(words)}</text>'
