"""The Python reader of the header's bytes; anything else is taken as it is."""

from __future__ import annotations

import pytest

from redial.envelope import caller_bytes

KEY = "ab".encode("utf-16-le")
HEADER = b"RDL1" + (46 + 4).to_bytes(2, "big") + bytes(32) + b"\0\4\0\0\0\0\0\0" + KEY
NONSENSE = b"RDL1" + b"\xff" * 60


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (None, None),
        (b"", b""),
        (b"plain", b"plain"),
        (b"RDL1", b"RDL1"),
        (HEADER, None),
        (HEADER + b"x", b"x"),
        (HEADER[:49], HEADER[:49]),
        (NONSENSE, NONSENSE),
    ],
)
def test_only_a_whole_envelope_is_taken_off(body, found):
    assert caller_bytes(body) == found
