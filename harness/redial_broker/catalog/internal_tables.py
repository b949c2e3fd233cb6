"""Internal tables: each queue keeps its messages in one (sys.internal_tables page).

People count a queue's messages by the rows of that table's clustered index in sys.partitions, which
locks nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.visibility import visible

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

SYS_SCHEMA = 4
"""schema_id of sys."""

HOBT = 1 << 40
"""Internal tables have hobt ids of their own, above those of tables: their queue's and this."""


def shipped(item: Any) -> int:
    """is_ms_shipped: the queues every database is born with (F-254)."""
    return int(getattr(item, "is_system", False))


def queues(session: SessionState, db: Database) -> list[Any]:
    """Queues the reader may see, by object id."""
    test = visible(session, db)
    return [queue for queue in db.broker.queues() if test(queue)] if db.broker else []


def object_rows(session: SessionState, db: Database) -> Iterator[RowValues]:
    """Their rows of sys.objects, is_ms_shipped included."""
    for queue in queues(session, db):
        created, modified = db.dates.get(queue.object_id, (db.created, db.created))
        yield (
            f"queue_messages_{queue.object_id}",
            queue.internal_id,
            None,
            SYS_SCHEMA,
            queue.object_id,
            "IT",
            "INTERNAL_TABLE",
            created,
            modified,
            1,
        )


def partition_rows(session: SessionState, db: Database) -> Iterable[RowValues]:
    """(partition id, object id, index id, hobt id, rows) of their clustered indexes."""
    for queue in queues(session, db):
        number = HOBT + queue.internal_id
        yield number, queue.internal_id, 1, number, queue.stored_rows()
