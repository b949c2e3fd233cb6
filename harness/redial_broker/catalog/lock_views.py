"""DMVs over locks and who waits for them (all need VIEW SERVER STATE)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.deadlock_xml import address, find_index, group_hash
from redial_broker.catalog.runtime_views import blocker_of, sessions, wait_facts
from redial_broker.catalog.views import VIEW_SERVER_STATE, view
from redial_broker.engine.ids import short_hash
from redial_broker.engine.locks import Resource
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.database_lock import lock_key, must_wait_to_enter

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState


def lock_place(server: Server, key: tuple[Any, ...]) -> tuple[str, str, int, str, int]:
    """(type, subtype, database id, description, associated entity id) of a lock resource."""
    kind, *rest = key
    if kind == "KEY":
        database, _, _ = find_index(server, rest[0])
        return "KEY", "", database, f"({short_hash(rest[1])})", rest[0]
    if kind == "CONVERSATION_GROUP":
        return "METADATA", "CONVERSATION_GROUP", rest[0], group_hash(rest[1]), 0
    if kind == "OBJECT":
        return "OBJECT", "", rest[0], "", rest[1]
    if kind == "APPLICATION":
        name = f"{rest[2]}:[{rest[1][:32]}]:({short_hash(rest[1], 8)})"
        return "APPLICATION", "", rest[0], name, 0
    if kind == "DATABASE":
        return "DATABASE", "", rest[0], "", 0
    if kind == "QUEUE":
        return "OBJECT", "", rest[0], "", rest[1]
    return kind, "", 0, ":".join(str(part) for part in rest), 0


def lock_requests(session: SessionState) -> Iterator[tuple[Resource, Any, str, str]]:
    """(resource, transaction, mode, status) of every lock held or waited for."""
    for resource in sorted(session.engine.locks.resources.values(), key=lambda r: repr(r.key)):
        converting = {r.transaction for r in resource.waiting if r.converts}
        for transaction, mode in resource.granted.items():
            if transaction not in converting:
                yield resource, transaction, mode, "GRANT"
        for request in resource.waiting:
            status = "CONVERT" if request.converts else "WAIT"
            yield resource, request.transaction, request.mode, status


@view(
    "sys.dm_tran_locks",
    """
resource_type nvarchar(60)
resource_subtype nvarchar(60)
resource_database_id int
resource_description nvarchar(256)
resource_associated_entity_id bigint?
resource_lock_partition int = 0
request_mode nvarchar(60)
request_type nvarchar(60) = 'LOCK'
request_status nvarchar(60)
request_reference_count smallint = 1
request_lifetime int = 33554432
request_session_id int
request_exec_context_id int = 0
request_request_id int = 0
request_owner_type nvarchar(60)
request_owner_id bigint?
request_owner_guid uniqueidentifier? = '00000000-0000-0000-0000-000000000000'
request_owner_lockspace_id nvarchar(32)
lock_owner_address varbinary(8)""",
    VIEW_SERVER_STATE,
)
def tran_locks(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Locks held (GRANT, as servers print it) and waited for; DATABASE locks of sessions first."""
    for x in sessions(db):
        if not x.background and x.database is not None and not _entered(x):
            yield (
                "DATABASE",
                "",
                x.database.id,
                "",
                0,
                "S",
                "GRANT",
                x.id,
                "SHARED_TRANSACTION_WORKSPACE",
                0,
                lock_space(x),
                owner_address(x),
            )
    for resource, transaction, mode, status in lock_requests(session):
        owner = transaction.owner
        kind = "SESSION" if transaction.name == "session" else "TRANSACTION"
        if kind == "SESSION" and resource.key[0] == "DATABASE":
            kind = "SHARED_TRANSACTION_WORKSPACE"
        yield (
            *lock_place(db.server, resource.key),
            mode,
            status,
            owner.id,
            kind,
            transaction.descriptor,
            lock_space(owner),
            owner_address(owner),
        )


def _entered(session: Any) -> bool:
    """Whether the session's DATABASE lock is among those of the lock manager, asked for or held."""
    key = lock_key(session.database)
    holder = session.database.server.session_locks.get(session.id)
    return (holder is not None and key in holder.locks) or must_wait_to_enter(session)


def lock_space(session: SessionState) -> str:
    """request_owner_lockspace_id: the session's task, then zeros."""
    return f"{process_id_text(session)}:0:0"[:32]


def process_id_text(session: SessionState) -> str:
    """The address of the session's task."""
    return address("task", str(session.id))


def owner_address(session: SessionState) -> bytes:
    """lock_owner_address: the same for all locks of a session."""
    return bytes.fromhex(short_hash(("owner", session.id), 16))


@view(
    "sys.dm_os_waiting_tasks",
    """
waiting_task_address varbinary(8)
session_id smallint?
exec_context_id int? = 0
wait_duration_ms bigint?
wait_type nvarchar(60)?
resource_address varbinary(8)?
blocking_task_address varbinary(8)?
blocking_session_id smallint?
blocking_exec_context_id int? = 0
resource_description nvarchar(3072)?""",
    VIEW_SERVER_STATE,
)
def waiting_tasks(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Who waits, for what, behind whom."""
    for x in sessions(db):
        if x.wait is None:
            continue
        wait_type, waited, _ = wait_facts(session, x)
        blocker = blocker_of(session, x)
        description = resource = None
        if x.wait.kind == "lock":
            description = lock_description(db.server, x.wait.resource)
            resource = bytes.fromhex(short_hash(("lock", x.wait.resource.key), 16))
        task = bytes.fromhex(short_hash(("task", x.id), 16))
        blocking = bytes.fromhex(short_hash(("task", blocker), 16)) if blocker else None
        yield (task, x.id, waited, wait_type, resource, blocking, blocker or None, description)


def lock_description(server: Server, resource: Resource) -> str:
    """The text of a deadlock element, as sys.dm_os_waiting_tasks repeats it."""
    kind, subtype, database, description, entity = lock_place(server, resource.key)
    lock = "lock" + address("lock", resource.key)
    mode = next(iter(resource.granted.values()), "X")
    if kind == "KEY":
        return (
            f"keylock hobtid={entity} dbid={database} id={lock} mode={mode} "
            f"associatedObjectId={entity}"
        )
    if kind == "METADATA":
        return (
            f"metadatalock subresource={subtype} classid={description} dbid={database} "
            f"id={lock} mode={mode}"
        )
    if kind == "OBJECT":
        return (
            f"objectlock lockPartition=0 objid={entity} subresource=FULL dbid={database} "
            f"id={lock} mode={mode} associatedObjectId={entity}"
        )
    return (
        f"applicationlock hash={description} databasePrincipalId=0 dbid={database} id={lock} "
        f"mode={mode}"
    )
