"""sys.dm_db_index_physical_stats, for queues: what looks after them asks it (its page)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.procedures.arguments import result_columns
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import INT, SMALLINT, SYSNAME
from redial_broker.exec.objects import TABLE_FUNCTIONS
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

PAGE = 8096
"""Bytes for rows on a page (Pages and extents architecture guide)."""
ROW = 150
"""Bytes of a queue's row beside its body; a guess."""

differs(
    "sys.dm_db_index_physical_stats",
    "Of queues and their internal tables only, mode LIMITED. There are no pages: page_count is what "
    "the rows would need, and nothing is ever fragmented.",
)

_COLUMNS = result_columns("""
database_id smallint?
object_id int?
index_id int?
partition_number int?
index_type_desc nvarchar(60)?
alloc_unit_type_desc nvarchar(60)?
index_depth tinyint?
index_level tinyint?
avg_fragmentation_in_percent float?
fragment_count bigint?
avg_fragment_size_in_pages float?
page_count bigint?
avg_page_space_used_in_percent float?
record_count bigint?
ghost_record_count bigint?
version_ghost_record_count bigint?
min_record_size_in_bytes int?
max_record_size_in_bytes int?
avg_record_size_in_bytes float?
forwarded_record_count bigint?
compressed_page_count bigint?""")
_NOT_IN_LIMITED = 9
"""The last columns: NULL in mode LIMITED (its page)."""


def physical_stats(session: SessionState, arguments: list[Any]) -> Iterable[RowValues]:
    """Leaf level of the clustered index that holds a queue's messages.

    object_id: the queue's or its internal table's (2016 and later). CONTROL on it, or VIEW DATABASE
    STATE. In mode LIMITED the counts of records are NULL. Raises SqlError 262.
    """
    database, number, index, partition, mode = (*arguments, None, None, None, None, None)[:5]
    db = session.database
    if database not in (None, 0, db.id) or (mode or "LIMITED").upper() not in {
        "LIMITED",
        "DEFAULT",
    }:
        raise NotSupported("sys.dm_db_index_physical_stats of another database, or not LIMITED")
    if not number:
        raise NotSupported("sys.dm_db_index_physical_stats of every object")
    for queue in db.broker.queues():
        if number not in (queue.object_id, queue.internal_id):
            continue
        if not has_permission(session, "CONTROL", queue) and not has_permission(
            session, "VIEW DATABASE STATE", db
        ):
            raise SqlError(262, "VIEW DATABASE STATE", db.name)
        if index not in (None, 0, -1, 1) or partition not in (None, 0, 1):
            return
        pages = -(-queue.stored_bytes(ROW) // PAGE)
        yield (
            db.id,
            queue.internal_id,
            1,
            1,
            "CLUSTERED INDEX",
            "IN_ROW_DATA",
            None,
            0,
            0.0,
            None,
            None,
            pages,
            *(None,) * _NOT_IN_LIMITED,
        )


TABLE_FUNCTIONS["dm_db_index_physical_stats"] = (
    _COLUMNS,
    physical_stats,
    (SMALLINT, INT, INT, INT, SYSNAME),
)
