"""Which parts of the state, which of their mappings and which of their fields are a cell each.

What a class does not name here is known from its declaration (``engine.state``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.clock import Timers
from redial_broker.engine.journal import Part
from redial_broker.engine.locks import LockManager, Resource
from redial_broker.engine.state import JOURNALED, SAVED, STATES, State
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.versions import Versions
from redial_broker.exec.rowversions import Rowversions
from redial_broker.instance.errorlog import ErrorLog
from redial_broker.instance.instance import Registry
from redial_broker.instance.session import Session
from redial_broker.ssb.broker import Broker
from redial_broker.ssb.conversation import Endpoint, Group
from redial_broker.ssb.counters import Counters
from redial_broker.ssb.inbox import Inbox
from redial_broker.ssb.monitor import QueueMonitor
from redial_broker.ssb.queue import Queue
from redial_lab.explore.progress import Incidents, Moment, Progress, RecordingSink

if TYPE_CHECKING:
    Cell = tuple[Any, ...]
    """The name of a cell: its kind, then whatever tells one of that kind from the others."""

WHOLE = frozenset({Resource, Endpoint, Inbox, Group, QueueMonitor, Versions, Rowversions})
"""Parts that are one cell each, with a name of their own. So is every other part that is not named
here, by its place: nothing that a state is made of is left out.
"""

BY_KEY: dict[type, frozenset[str]] = {
    LockManager: frozenset({"resources"}),
    Index: frozenset({"entries", "writers", "ghosts", "versions"}),
    Timers: frozenset({"entries"}),
    Registry: frozenset({"sessions", "generations"}),
    Broker: frozenset({"endpoints", "groups", "senders", "sides"}),
    Queue: frozenset({"ready"}),
}
"""Mappings with a cell for each key."""

BY_FIELD: dict[type, frozenset[str]] = {
    LockManager: frozenset({"deadlocks"}),
    Table: frozenset({"next_identity", "row_ids"}),
    Broker: frozenset({"missed", "raised", "enabled"}),
    Queue: frozenset(
        {
            "enabled",
            "going_off",
            "held",
            "waiters",
            "poison",
            "started",
            "activation",
            "retention",
            "poison_handling",
            "watched",
        }
    ),
}
"""Fields that are a cell each."""

FIXED_OF_SESSION = frozenset(
    {
        "id",
        "engine",
        "instance",
        "stream",
        "background",
        "sink",
        "queue",
        "login",
        "original_login",
        "when_finished",
        "app_name",
    }
)
INTENT = frozenset({"IS", "IX", "Sch-S"})
"""Modes of locks that are compatible with each other, all of them."""

ASKING = frozenset({"acquire", "try_acquire", "would_wait"})

NOTED = (Session, Transaction, RecordingSink, Progress, Incidents, Moment, Counters, ErrorLog)
"""Parts that the look-out tells apart itself: by whose they are, and what counts for no state."""

IN_NO_CELL = frozenset({"counters", "logs"})
"""What a look-out does not see: where it counts, the whole graph is searched."""


def changing(owner: type) -> frozenset[str]:
    """The declared fields of a class that a step may change."""
    return frozenset(
        name
        for field in State(()).of_class(owner)
        if field.how in (JOURNALED, SAVED)
        for name in field.names
    )


def uncounted(owner: type, counted: frozenset[str]) -> frozenset[str]:
    """Those of them that do not count as things stand, and follow from nothing that does."""
    return frozenset(
        name
        for field in State(()).of_class(owner)
        if field.when and field.when not in counted
        for name in field.names
    )


def kind_of(owner: type) -> type:
    """The class by which the cells of a part are known: its own, or a base that is listed."""
    listed = WHOLE | BY_KEY.keys() | BY_FIELD.keys() | set(NOTED)
    return next((base for base in owner.__mro__ if base in listed), owner)


def others() -> list[type]:
    """Classes of parts that are listed nowhere: one cell each."""
    return [
        owner
        for owner in STATES
        if issubclass(owner, Part)
        and kind_of(owner) is owner
        and owner not in WHOLE | BY_KEY.keys() | BY_FIELD.keys() | set(NOTED)
    ]
