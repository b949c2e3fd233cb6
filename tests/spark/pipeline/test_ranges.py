"""Ranges of a landing table hold every row once."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from redial.spark.ranges import rowversion_predicates

VALUES = st.integers(0, 2**63)


@given(VALUES, st.integers(0, 1_000), st.integers(1, 8), st.data())
def test_every_rowversion_from_first_to_last_is_in_exactly_one_range(low, size, parts, data):
    first, last = low.to_bytes(8, "big"), (low + size).to_bytes(8, "big")
    ranges = [
        tuple(int(edge, 16) for edge in re.findall(r"0x([0-9A-F]{16})", text))
        for text in rowversion_predicates(first, last, parts)
    ]
    value = data.draw(st.integers(low, low + size))
    assert sum(start <= value < end for start, end in ranges) == 1
    assert len(ranges) == min(parts, size + 1)


def test_a_range_is_a_seek_of_the_clustered_key():
    (predicate,) = rowversion_predicates(bytes(8), bytes(7) + b"\x01", 1)
    assert predicate == ("RowVersion >= 0x0000000000000000 AND RowVersion < 0x0000000000000002")
