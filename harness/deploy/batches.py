"""GO batches of a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_GO = re.compile(r"[ \t]*GO(?:[ \t]+(\d+))?[ \t]*(?:--.*)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Batch:
    """One batch: its text, the line its first statement is on, and how often to run it."""

    text: str
    line: int
    count: int = 1


def batches(text: str) -> Iterator[Batch]:
    """Batches of ``text`` that hold more than white space.

    Only rendered scripts come here, and these hold no GO line inside a comment or a literal
    (tests/render checks it); general scripts are cut by harness.tsql.
    """
    lines: list[str] = []
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        found = _GO.match(line.rstrip("\r"))
        if not found:
            lines.append(line)
            continue
        yield from _batch(lines, start, int(found.group(1) or 1))
        lines, start = [], number + 1
    yield from _batch(lines, start, 1)


def _batch(lines: list[str], start: int, count: int) -> Iterator[Batch]:
    """The batch of ``lines``, unless it is empty; its line skips leading blank lines."""
    blank = next((i for i, line in enumerate(lines) if line.strip()), None)
    if blank is not None:
        yield Batch("\n".join(lines), start + blank, count)
