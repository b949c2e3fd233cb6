"""Where our messages lie: landed, on their way, set aside; and what the header of one says.

Tables that only some installations have count where they are there: ``SentMessage`` (sent and not
yet landed) and ``SkippedNumber`` (numbers of repeats that exactly_once has dropped). So does what a
queue with RETENTION = ON keeps of what was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.errors import SqlError
from redial_lab.explore.message_accounts import Places
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import DATABASE, EVENT, bare, rows, undelivered

if TYPE_CHECKING:
    from redial_lab.explore.queries import Row

Number = tuple[str, int]
"""A key and a message's number within it."""


def optional_rows(world: World, table: str, *columns: str) -> list[Row]:
    """Rows of a table of the configuration; none where the installation has no such table."""
    try:
        found = world.instance.server.database(DATABASE).resolve("audit", table)
    except SqlError:
        found = None
    return [] if found is None else rows(world, table, *columns)


def number_of(body: bytes | None) -> Number | None:
    """What the header before a body says (F-146); None without a number."""
    if not body or body[:4] != b"RDL1":
        return None
    number, size = int.from_bytes(body[22:30], "big"), int.from_bytes(body[38:40], "big")
    return (body[46 : 46 + size].decode("utf-16-le"), number) if number else None


def _in_queues(world: World) -> dict[tuple[str, int], bytes | None]:
    """(conversation, sequence) -> body of the user messages in the queues and on their way there,
    header and all.
    """
    found: dict[tuple[str, int], bytes | None] = {}
    for endpoint in world.instance.server.database(DATABASE).broker.endpoints.values():
        found |= {
            (endpoint.conversation_id, message[1]): message[3]
            for status, message, _ in endpoint.inbox.stored()
            if status == 1 and message[2].name == EVENT
        }
        found |= {
            (endpoint.conversation_id, sequence): row[2]
            for sequence, row in endpoint.pending.items()
            if row[1].name == EVENT
        }
    return found


def _kept_only(world: World) -> list[bytes]:
    """Bodies of what the sender's side keeps (SentMessage, RETENTION) and is nowhere else: in no
    queue, not landed, not set aside. Told by dialog and body: numbers can come out of step.
    """
    elsewhere = {(dialog, bare(body or b"")) for (dialog, _), body in _in_queues(world).items()}
    for table in ("Landing", "DeadLetter"):
        elsewhere |= {
            (dialog, bare(body or b""))
            for dialog, body in rows(world, table, "ConversationId", "Body")
        }
    kept = optional_rows(world, "SentMessage", "ConversationId", "MessageType", "Body")
    return [
        body
        for dialog, kind, body in kept + _retained(world)
        if body and kind == EVENT and (dialog, bare(body)) not in elsewhere
    ]


def _retained(world: World) -> list[Row]:
    """(conversation, type, body) of what was sent and a queue retains, status 3."""
    endpoints = world.instance.server.database(DATABASE).broker.endpoints.values()
    return [
        (endpoint.conversation_id, message[2].name, message[3])
        for endpoint in endpoints
        if endpoint.is_initiator
        for status, message, _ in endpoint.inbox.stored()
        if status == 3
    ]


def _bodies(world: World, table: str) -> list[str]:
    """Bodies (hexadecimal) of the user messages in one of our tables."""
    return [
        bare(body).hex().upper()
        for kind, body in rows(world, table, "MessageType", "Body")
        if body and kind == EVENT
    ]


def _pending(world: World) -> list[str]:
    return undelivered(world) + [bare(body).hex().upper() for body in _kept_only(world)]


def numbers_elsewhere(world: World) -> set[Number]:
    """Numbers of keys that have not landed and are accounted for: of messages that wait or were set
    aside, and of repeats that were dropped where anybody can see it.
    """
    waiting = [
        *_in_queues(world).values(),
        *_kept_only(world),
        *(body for (body,) in rows(world, "DeadLetter", "Body")),
    ]
    dropped = optional_rows(world, "SkippedNumber", "ConversationKey", "KeySequence")
    return {number for number in map(number_of, waiting) if number} | set(dropped)


PLACES = Places(
    lambda world: _bodies(world, "Landing"), _pending, lambda world: _bodies(world, "DeadLetter")
)
"""Where our messages lie."""
