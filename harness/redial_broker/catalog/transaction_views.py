"""DMVs over open transactions, and the ring buffer of deadlock reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.broker_views import moment
from redial_broker.catalog.deadlock_xml import ring_buffer_xml
from redial_broker.catalog.runtime_views import sessions
from redial_broker.catalog.views import VIEW_SERVER_STATE, view
from redial_broker.engine.versions import under_snapshot
from redial_broker.exec.database import Database

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


def transactions(db: Database) -> Iterator[tuple[Any, Any]]:
    """(session, transaction) of every open transaction."""
    for x in sessions(db):
        if x.transaction is not None:
            yield x, x.transaction


@view(
    "sys.dm_tran_active_transactions",
    """
transaction_id bigint
name nvarchar(32)
transaction_begin_time datetime
transaction_type int
transaction_uow uniqueidentifier = None
transaction_state int = 2
transaction_status int = 0
transaction_status2 int = 258
dtc_state int = 0
dtc_status int = 0
dtc_isolation_level int = -1
filestream_transaction_id varbinary(128) = None""",
    VIEW_SERVER_STATE,
)
def active_transactions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Open transactions; type 1 has written, 2 has not."""
    for _, t in transactions(db):
        yield t.descriptor, t.name[:32], moment(t.begun), 1 if t.log_used else 2


@view(
    "sys.dm_tran_session_transactions",
    """
session_id int
transaction_id bigint
- transaction_descriptor binary(8)
enlist_count int = 1
is_user_transaction bit
is_local bit = 1
is_enlisted bit = 0
is_bound bit = 0
open_transaction_count int""",
    VIEW_SERVER_STATE,
)
def session_transactions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Which session has which transaction."""
    for x, t in transactions(db):
        yield x.id, t.descriptor, int(t.user), x.trancount


@view(
    "sys.dm_tran_current_transaction",
    """
transaction_id bigint
- transaction_sequence_num bigint
transaction_is_snapshot bit""",
    VIEW_SERVER_STATE,
)
def current_transaction(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The reader's own transaction."""
    if session.transaction is not None:
        yield session.transaction.descriptor, int(under_snapshot(session.transaction))


@view(
    "sys.dm_tran_database_transactions",
    """
transaction_id bigint
database_id int
database_transaction_begin_time datetime?
database_transaction_type int = 1
database_transaction_state int
- database_transaction_log_record_count bigint
database_transaction_log_bytes_used bigint""",
    VIEW_SERVER_STATE,
)
def database_transactions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Log used by each open transaction, the number deadlock victims are chosen by."""
    for x, t in transactions(db):
        yield (
            t.descriptor,
            x.database.id,
            moment(t.begun) if t.log_used else None,
            4 if t.log_used else 3,
            t.log_used,
        )


# ---------------------------------------------------------------------- extended events
SYSTEM_HEALTH = b"\x00\x00\x00\x00\x00\x00\x00\x41"


@view(
    "sys.dm_xe_sessions",
    """
address varbinary(8)
name nvarchar(256) = 'system_health'
- pending_buffers int
create_time datetime""",
    VIEW_SERVER_STATE,
)
def xe_sessions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """system_health, which keeps deadlock reports."""
    yield SYSTEM_HEALTH, db.server.databases["master"].created


@view(
    "sys.dm_xe_session_targets",
    """
event_session_address varbinary(8)
target_name nvarchar(60) = 'ring_buffer'
target_package_guid uniqueidentifier = '69DA0780-8C1B-4D6F-9C2B-2A43A54A5A5A'
execution_count bigint
execution_duration_ms bigint = 0
target_data nvarchar(max)?""",
    VIEW_SERVER_STATE,
)
def xe_session_targets(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The ring buffer: target_data holds the deadlock reports, oldest first."""
    reports = db.server.deadlocks
    yield SYSTEM_HEALTH, len(reports), ring_buffer_xml(reports)
