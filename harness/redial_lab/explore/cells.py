"""Which parts of the state, which of their mappings and which of their fields are a cell each, and
what counts for no state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.clock import Timers
from redial_broker.engine.locks import LockManager, Resource
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.versions import Versions
from redial_broker.exec.rowversions import Rowversions
from redial_broker.instance.errorlog import ErrorLog
from redial_broker.instance.instance import Registry
from redial_broker.ssb.broker import Broker
from redial_broker.ssb.conversation import Endpoint, Group
from redial_broker.ssb.counters import Counters
from redial_broker.ssb.inbox import Inbox
from redial_broker.ssb.monitor import QueueMonitor
from redial_broker.ssb.queue import Queue
from redial_lab.explore.progress import Moment

if TYPE_CHECKING:
    Cell = tuple[Any, ...]
    """The name of a cell: its kind, then whatever tells one of that kind from the others."""

WHOLE: dict[type, frozenset[str]] = {
    Resource: frozenset({"granted", "waiting"}),
    Endpoint: frozenset(
        {
            "own",
            "said",
            "arrivals",
            "send_sequence",
            "peer",
            "pending",
            "pending_writer",
            "pending_settled",
            "status",
            "timer_due",
            "alarm_writer",
            "creator",
            "dead",
            "security_timestamp",
            "lifetime",
            "expires",
            "group",
            "owner",
            "far_broker",
            "encrypted",
        }
    ),
    Inbox: frozenset(
        {
            "rows",
            "special",
            "kept",
            "sent",
            "base",
            "head",
            "tail",
            "settled",
            "writer",
            "ready_key",
            "cut",
            "left",
        }
    ),
    Group: frozenset({"members", "service"}),
    QueueMonitor: frozenset({"state", "running", "receivers"}),
    Versions: frozenset({"sequence", "readers", "altered", "kept"}),
    Rowversions: frozenset({"last", "active"}),
}
"""Parts that are one cell each, and which of their fields change."""

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

NOT_OF_THE_STATE = (Counters, ErrorLog, Moment)
"""Parts that count for no state: figures, logs, the time."""

UNHASHED = {
    QueueMonitor: frozenset({"last_empty", "last_activated"}),
    Queue: frozenset({"next_order"}),
}
"""Fields that count for no state. A queue's order does where it is received in that order."""
