"""Window frames: which rows of its partition each row's value is worked out over.

Source: "OVER clause" page, ROWS and RANGE. RANGE knows only UNBOUNDED and CURRENT ROW (4194); rows
equal in the order belong to a RANGE frame together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError

Span = tuple[int, int]
Spans = Callable[[list[Any]], list[Span]]
"""order keys of a partition's rows -> per row (first, one behind the last) of its frame."""

_PLACES = {
    "UNBOUNDED PRECEDING": 0,
    "PRECEDING": 1,
    "CURRENT ROW": 2,
    "FOLLOWING": 3,
    "UNBOUNDED FOLLOWING": 4,
}
_CURRENT = ("CURRENT ROW", None)


def compile_frame(over: ast.Over) -> Spans:
    """The frame of an OVER clause. Raises 10756, 4193, 4194.

    Without a frame it is RANGE UNBOUNDED PRECEDING when there is an ORDER BY, else the partition.
    """
    frame = over.frame
    if frame is None:
        return _running if over.order else _whole
    if not over.order:
        raise SqlError(10756, aborts="scope")
    start, finish = frame.start, frame.finish or _CURRENT
    places = _PLACES[start[0]], _PLACES[finish[0]]
    if places[0] > places[1] or places[0] == 4 or places[1] == 0:
        raise SqlError(
            4193, f"{frame.unit} BETWEEN {_shown(start)} AND {_shown(finish)}", aborts="scope"
        )
    if frame.unit == "RANGE":
        if {"PRECEDING", "FOLLOWING"} & {start[0], finish[0]}:
            raise SqlError(4194, aborts="scope")
        return _range(start[0], finish[0])
    low, high = _offset(start), _offset(finish)

    def spans(keys: list[Any]) -> list[Span]:
        last = len(keys)
        return [
            (
                0 if low is None else min(max(i + low, 0), last),
                last if high is None else min(max(i + high + 1, 0), last),
            )
            for i in range(last)
        ]

    return spans


def _shown(bound: tuple[str, Any]) -> str:
    return bound[0] if bound[1] is None else f"{bound[1].value} {bound[0]}"


def _offset(bound: tuple[str, Any]) -> int | None:
    """Rows from the current one; None for an end of the partition."""
    kind, count = bound
    if kind.startswith("UNBOUNDED"):
        return None
    if kind == "CURRENT ROW":
        return 0
    return -int(count.value) if kind == "PRECEDING" else int(count.value)


def _whole(keys: list[Any]) -> list[Span]:
    return [(0, len(keys))] * len(keys)


def _peers(keys: list[Any]) -> list[Span]:
    """Per row, the rows equal to it in the order."""
    spans: list[Span] = []
    start = 0
    for number in range(1, len(keys) + 1):
        if number == len(keys) or keys[number] != keys[start]:
            spans += [(start, number)] * (number - start)
            start = number
    return spans


def _running(keys: list[Any]) -> list[Span]:
    return [(0, last) for _, last in _peers(keys)]


def _range(start: str, finish: str) -> Spans:
    def spans(keys: list[Any]) -> list[Span]:
        return [
            (first if start == "CURRENT ROW" else 0, last if finish == "CURRENT ROW" else len(keys))
            for first, last in _peers(keys)
        ]

    return spans
