"""The header our procedures put before a body (F-146), made by hand for what tests put in place."""

from __future__ import annotations

from uuid import UUID

MOMENT = 1_700_000_000_000
"""When such a message was sent: milliseconds since 1970, UTC."""


def envelope(body: bytes, *, message_id: int = 0, key: str = "", sequence: int = 0) -> str:
    """A T-SQL literal of a body with its header; 0 and "" stand for none.

    >>> envelope(b"x")[:10]
    '0x52444c31'
    """
    name = key.encode("utf-16-le")
    header = (
        (46 + len(name)).to_bytes(2, "big")
        + UUID(int=message_id).bytes_le
        + sequence.to_bytes(8, "big")
        + MOMENT.to_bytes(8, "big")
        + len(name).to_bytes(2, "big")
        + bytes(6)
        + name
    )
    return "0x" + (b"RDL1" + header + body).hex()
