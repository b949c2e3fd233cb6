"""Dead letters made by hand, for the tests of what operators do with them."""

from __future__ import annotations

from typing import Any

from .lab import Client, Lab

EVENT = "//redial/audit/event"
ONE, OTHER = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
COLUMNS = (
    "Side, ConversationHandle, ConversationId, MessageSequence, MessageType, Body, Code, Reason, "
    "AddedUtc"
)


def text(value: object) -> str:
    """A T-SQL constant."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, str):
        return "N'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(value)


def envelope(key: str, number: int, body: bytes) -> bytes:
    """A body with the header of ufn_ReadEnvelope: its key, and its number within it."""
    name = key.encode("utf-16-le")
    header = b"RDL1" + (46 + len(name)).to_bytes(2, "big") + bytes(16) + number.to_bytes(8, "big")
    return header + bytes(8) + len(name).to_bytes(2, "big") + bytes(6) + name + body


def letter(
    code: int | None = 547,
    reason: str | None = "refused",
    *,
    body: bytes | None = b"\x01",
    conversation: str = ONE,
    sequence: int = 0,
    kind: str | None = EVENT,
    side: str = "target",
    added: str = "2026-01-01T00:00:00",
) -> str:
    """A row for ``put``. added: UTC."""
    values: tuple[Any, ...] = (side, conversation, conversation, sequence, kind, body, code, reason)
    return f"({', '.join(text(value) for value in (*values, added))})"


def put(client: Client | Lab, *letters: str) -> None:
    """Insert them, numbered in their order."""
    for first in range(0, len(letters), 1000):
        rows = ", ".join(letters[first : first + 1000])
        (client.sa if isinstance(client, Lab) else client).execute(
            f"INSERT INTO audit.DeadLetter ({COLUMNS}) VALUES {rows};"
        )


def held(lab: Lab, which: int) -> Client:
    """Somebody who is at work on a letter, and has not committed."""
    client = Client(lab)
    client.execute(
        f"BEGIN TRANSACTION; UPDATE audit.DeadLetter SET Body = Body WHERE DeadLetterId = {which};"
    )
    return client


def unhandled(lab: Lab) -> list[int]:
    """Numbers of the letters nobody has handled."""
    rows = lab.rows(
        "SELECT DeadLetterId FROM audit.DeadLetter WHERE HandledUtc IS NULL ORDER BY 1;"
    )
    return [number for (number,) in rows]
