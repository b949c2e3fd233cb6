"""A landing table cut into ranges of its clustered key, for readers side by side."""

from __future__ import annotations

from itertools import pairwise


def rowversion_predicates(first: bytes, last: bytes, parts: int) -> list[str]:
    """WHERE conditions for ``parts`` ranges that hold every row from ``first`` to ``last`` once.

    first, last: the smallest and largest RowVersion, 8 bytes each. Fewer ranges when there are
    fewer values. Rowversions count upwards as big-endian numbers (rowversion page).
    """
    low, high = int.from_bytes(first, "big"), int.from_bytes(last, "big") + 1
    parts = max(1, min(parts, high - low))
    edges = [low + (high - low) * n // parts for n in range(parts + 1)]
    return [
        f"RowVersion >= {_literal(start)} AND RowVersion < {_literal(end)}"
        for start, end in pairwise(edges)
    ]


def _literal(value: int) -> str:
    return f"0x{value:016X}"
