"""The caller's bytes inside an envelope, for what has not been landed yet (F-146)."""

from __future__ import annotations

MARK = b"RDL1"
LENGTHS = 38
"""Where the four lengths of key, login, program and host stand, two bytes each."""


def caller_bytes(body: bytes | None) -> bytes | None:
    """``body`` without its envelope, or as it is where there is none; None stands for empty."""
    if body is None or body[:4] != MARK or len(body) < LENGTHS + 8:
        return body
    size = int.from_bytes(body[4:6], "big")
    lengths = sum(int.from_bytes(body[n : n + 2], "big") for n in range(LENGTHS, LENGTHS + 8, 2))
    if size != LENGTHS + 8 + lengths or len(body) < size:
        return body
    return body[size:] or None


def key_of(body: bytes | None) -> tuple[str, int] | None:
    """(key, its sequence) out of an envelope; None where there is none or it carries no key."""
    if body is None or caller_bytes(body) == body:
        return None
    length = int.from_bytes(body[LENGTHS : LENGTHS + 2], "big")
    number = int.from_bytes(body[22:30], "big")
    key = body[LENGTHS + 8 : LENGTHS + 8 + length].decode("utf-16-le", "replace")
    return (key, number) if key and number else None
