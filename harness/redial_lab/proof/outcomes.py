"""What somebody could find out about a state at rest: two texts of a procedure that can come to the
same outcomes are the same to their users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from redial_broker.catalog.deadlock_xml import find_index
from redial_lab.explore.progress import ListeningSink
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import DATABASE, rows, undelivered

if TYPE_CHECKING:
    from redial_broker.engine.needs import LockKey
    from redial_broker.instance.session import Session
    from redial_lab.explore.queries import Row

LOOKED_AT: Mapping[str, tuple[str, ...]] = {
    "Landing": (
        "ConversationHandle",
        "RowVersion",
        "MessageType",
        "Body",
        "MessageSequence",
        "KeySequence",
    ),
    "DeadLetter": (
        "ConversationHandle",
        "DeadLetterId",
        "Side",
        "MessageType",
        "Body",
        "Code",
        "MessageSequence",
        "Reason",
    ),
    "ErrorLog": ("ProcedureName", "ErrorNumber", "MessageSequence"),
    "ConversationLog": (
        "ConversationKey",
        "EndOfStreamUtc",
        "EndedUtc",
        "Messages",
        "Resent",
        "DeadLettered",
        "Code",
        "Reason",
    ),
    "SessionConversations": ("ConversationKey",),
    "PoisonAttempt": ("MessageSequence", "MessageType", "Attempts", "ErrorNumber"),
    "OperatorLog": ("Action", "Detail", "Reason"),
    "Gate": ("IsOpen", "Reason"),
    "IdleWatch": ("SendSequence",),
    "KeySequence": ("ConversationKey", "LastSequence"),
    "Inbox": ("Repeats",),
    "Told": ("Answer",),
}
"""Tables somebody may look into, where they are there."""


def outcome(world: World) -> str:
    """What somebody could find out about a state at rest, without ids and times of day."""
    database = world.instance.server.database(DATABASE)
    found: list[object] = [
        world.progress.results,
        [sink.said for sink in world.sinks if isinstance(sink, ListeningSink)],
        sorted(undelivered(world)),
        sorted(
            (endpoint.is_initiator, message[2].name, repr(message[3]))
            for endpoint in database.broker.endpoints.values()
            for status, message, _ in endpoint.inbox.stored()
            if status == 1
        ),
    ]
    for table, columns in LOOKED_AT.items():
        schema = "dbo" if table == "Told" else "audit"
        if database.resolve(schema, table) is None:
            continue
        there = rows(world, table, *columns, schema=schema)
        if columns[0] == "ConversationHandle":
            found.append(_by_dialog(there))
            continue
        found.append(
            sorted(
                repr(
                    tuple(
                        value is not None if name.endswith("Utc") else value
                        for name, value in zip(columns, row)
                    )
                )
                for row in there
            )
        )
    broker = database.broker
    found.append(sorted((e.is_initiator, e.state()) for e in broker.endpoints.values()))
    found.append(
        [database.resolve("audit", name).enabled for name in ("InitiatorQueue", "TargetQueue")]
    )
    clients = [s for s in world.clients if s.id in world.instance.sessions]
    found.append([(s.transaction is not None, s.options.xact_abort) for s in clients])
    now = world.instance.clock.seconds
    found.append(
        sorted(
            round(due - now)
            for key, due in world.instance.engine.timers.entries.items()
            if key[0] == "ssb.timer"
        )
    )
    return repr(found)


def _by_dialog(there: list[Row]) -> list[str]:
    """The rows of each dialog in their order, without the numbers that give it: which dialog comes
    first depends on its handle.
    """
    rows_of: dict[object, list[Row]] = {}
    for handle, _, *rest in sorted(there):
        rows_of.setdefault(handle, []).append(tuple(rest))
    return sorted(map(repr, rows_of.values()))


def waits(world: World) -> list[str]:
    """Who waits in this state, and for what: a table, a conversation group, a queue."""
    found = []
    for session in world.instance.sessions.values():
        if session.wait is not None and session.wait.kind == "lock":
            found.append(
                f"{_who(world, session)} waits for {_what(world, session.wait.resource.key)}"
            )
    return found


def _who(world: World, session: Session) -> str:
    """A reader by its queue; a task that switches a queue off reads none."""
    if not session.background:
        return world.name_of(session)
    return (
        f"reader of {session.queue.name}"
        if session.queue is not None
        else "a task of the broker's own"
    )


def _what(world: World, key: LockKey) -> str:
    if key[0] != "KEY":
        return cast(str, key[0]).lower().replace("_", " ")
    table = find_index(world.instance.server, key[1])[1]
    return f"a row of {table.name}" if table is not None else "a row"
