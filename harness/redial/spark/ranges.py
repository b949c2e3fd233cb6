"""A landing table cut into ranges of its clustered key, for readers side by side."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise


def rowversion_predicates(first: bytes, last: bytes, parts: int) -> list[str]:
    """WHERE conditions for ``parts`` ranges that hold every row from ``first`` to ``last`` once.

    first, last: the smallest and largest RowVersion, 8 bytes each. Fewer ranges when there are
    fewer values. Rowversions count upwards as big-endian numbers (rowversion page).
    """
    low, high = mark_of(first), mark_of(last) + 1
    return [range_condition(start, end) for start, end in cut(low, high, parts)]


def cut(low: int, high: int, parts: int) -> list[tuple[int, int]]:
    """``low`` <= rv < ``high`` as at most ``parts`` ranges of one width, at least one."""
    parts = max(1, min(parts, high - low))
    edges = [low + (high - low) * n // parts for n in range(parts + 1)]
    return list(pairwise(edges))


def range_condition(start: int, end: int, column: str = "RowVersion") -> str:
    """The WHERE condition of one range; literals, so that it is a seek of the clustered key."""
    return f"{column} >= {mark_literal(start)} AND {column} < {mark_literal(end)}"


def mark_literal(value: int) -> str:
    """A rowversion as T-SQL writes it: eight bytes, big-endian."""
    return f"0x{value:016X}"


def mark_of(value: bytes | bytearray | memoryview) -> int:
    """A rowversion as the number it counts."""
    return int.from_bytes(bytes(value), "big")


def time_literal(moment: datetime) -> str:
    """A time without a zone as T-SQL takes it, whatever the session's language and date format."""
    return f"CONVERT(datetime2(7), N'{moment.replace(tzinfo=None).isoformat()}', 126)"
