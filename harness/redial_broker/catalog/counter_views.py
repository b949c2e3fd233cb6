"""sys.dm_os_performance_counters: the Broker objects, as far as they can be counted here.

Left out: what takes a clock in the queue monitor (Task Limit Reached) or the dialog protocol
(Dialog timer event count). There is no transport, so its counters are zero, truly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from redial_broker.catalog.views import VIEW_SERVER_STATE, view
from redial_broker.engine.differences import differs
from redial_broker.exec.database import Database
from redial_broker.ssb import counters as of

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

differs(
    "performance counters",
    "sys.dm_os_performance_counters has the two Broker objects and no other; of those it "
    "leaves out Task Limit Reached and Dialog timer event count, which count what background "
    "tasks of a server do.",
)

TOTAL, PER_SECOND = 65792, 272696576
"""cntr_type of a plain number and of one that readers divide by time."""

_ZERO_TOTALS = (
    "Corrupted Messages Total",
    "Dropped Messages Total",
    "Enqueued Transport Msg Frag Tot",
    "Enqueued Transport Msgs Total",
    "Forwarded Messages Total",
    "Forwarded Msg Byte Total",
    "Forwarded Msg Discarded Total",
    "Forwarded Pending Msg Bytes",
    "Forwarded Pending Msg Count",
)
_ZERO_RATES = (
    "Enqueued Transport Msg Frags/sec",
    "Enqueued Transport Msgs/sec",
    "Forwarded Messages/sec",
    "Forwarded Msg Bytes/sec",
    "Forwarded Msg Discarded/sec",
)


def _statistics(values: list[int]) -> Iterable[tuple[str, int, int]]:
    """(counter, value, type) of SQLServer:Broker Statistics."""
    yield "Activation Errors Total", values[of.ERRORS], TOTAL
    yield "Broker Transaction Rollbacks", values[of.ROLLBACKS], TOTAL
    yield "Dequeued Transmission Msgs/sec", values[of.DEQUEUED], PER_SECOND
    yield "Enqueued Transmission Msgs/sec", values[of.WAITING], PER_SECOND
    for name in ("Enqueued Local Messages", "Enqueued Messages"):
        yield f"{name} Total", values[of.ENQUEUED], TOTAL
        yield f"{name}/sec", values[of.ENQUEUED], PER_SECOND
    for level in range(1, 11):
        yield f"Enqueued P{level} Msgs/sec", values[of.PRIORITY + level], PER_SECOND
    for verb, which in (("RECEIVE", of.RECEIVES), ("SEND", of.SENDS)):
        yield f"SQL {verb} Total", values[which], TOTAL
        yield f"SQL {verb}s/sec", values[which], PER_SECOND
    yield from ((name, 0, TOTAL) for name in _ZERO_TOTALS)
    yield from ((name, 0, PER_SECOND) for name in _ZERO_RATES)


def _activation(values: list[int], running: int) -> Iterable[tuple[str, int, int]]:
    """(counter, value, type) of SQLServer:Broker Activation."""
    yield "Stored Procedures Invoked/sec", values[of.STARTED], PER_SECOND
    yield "Tasks Aborted/sec", values[of.ABORTED], PER_SECOND
    yield "Tasks Running", running, TOTAL
    yield "Tasks Started/sec", values[of.STARTED], PER_SECOND


@view(
    "sys.dm_os_performance_counters",
    """
object_name nchar(128)
counter_name nchar(128)
instance_name nchar(128)?
cntr_value bigint
cntr_type int""",
    VIEW_SERVER_STATE,
)
def performance_counters(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Counters of the two Broker objects; the other objects of a server are not here."""
    values = db.server.transport.counters.values
    queues = [
        queue
        for item in db.server.databases.values()
        if item.broker
        for queue in item.broker.queues()
    ]
    running = sum(queue.monitor.running for queue in queues)
    for name, rows in (
        ("Broker Activation", _activation(values, running)),
        ("Broker Statistics", _statistics(values)),
    ):
        for counter, number, kind in sorted(rows):
            yield (f"SQLServer:{name}".ljust(128), counter.ljust(128), " " * 128, number, kind)
