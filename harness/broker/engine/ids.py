"""Identifiers that commute: every session draws from its own stream.

Two orders of independent steps must reach the same state, so no identifier may depend on what other
sessions did in between. (seed, stream, n) fixes each one.
"""

from __future__ import annotations

from hashlib import blake2b


def stream_guid(seed: int, stream: str, n: int) -> str:
    """The n-th uniqueidentifier of a stream, as upper-case text; version bits like NEWID()'s."""
    text = blake2b(f"{seed}/{stream}/{n}".encode(), digest_size=16).hexdigest().upper()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89AB'[int(text[16], 16) & 3]}" \
           f"{text[17:20]}-{text[20:]}"


def short_hash(value: object, digits: int = 12) -> str:
    """A stable hexadecimal hash for lock descriptions, where the server prints one."""
    return blake2b(repr(value).encode(), digest_size=8).hexdigest()[:digits]
