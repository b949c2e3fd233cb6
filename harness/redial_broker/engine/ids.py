"""Identifiers that commute: every session draws from its own stream.

Two orders of independent steps must reach the same state, so no identifier may depend on what other
sessions did in between. (seed, stream, n) fixes each one.
"""

from __future__ import annotations

from hashlib import blake2b


def stream_guid(seed: int, stream: str, n: int) -> str:
    """The n-th uniqueidentifier of a stream, as upper-case text; version bits like NEWID()'s."""
    text = blake2b(f"{seed}/{stream}/{n}".encode(), digest_size=16).hexdigest().upper()
    return (
        f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89AB'[int(text[16], 16) & 3]}"
        f"{text[17:20]}-{text[20:]}"
    )


class TransactionNumber(int):
    """What CURRENT_TRANSACTION_ID() shows: a session's number, then how many it has begun.

    How many that is depends on what the session did long ago, and nothing follows from it but
    whether two numbers are equal. So a state names the session only (``repr``): a row that holds
    the number of a transaction that is still open was written by it, and says so by its writer.
    """

    def __repr__(self) -> str:
        """As the state hash sees it, the same for every transaction of a session."""
        return f"a transaction of session {self >> 32}"

    def __str__(self) -> str:
        """As everybody else sees it: the number."""
        return int.__repr__(self)


def short_hash(value: object, digits: int = 12) -> str:
    """A stable hexadecimal hash for lock descriptions, where the server prints one."""
    return blake2b(repr(value).encode(), digest_size=8).hexdigest()[:digits]
