"""DMVs over sessions, connections and requests, and the instance (most need VIEW SERVER STATE)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.broker_views import moment
from redial_broker.catalog.deadlock_xml import address, sql_handle, wait_resource
from redial_broker.catalog.views import VIEW_SERVER_STATE, view
from redial_broker.engine.ids import stream_guid
from redial_broker.exec.database import Database
from redial_broker.exec.security import has_server_permission

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

ISOLATION = {
    "read uncommitted": 1,
    "read committed": 2,
    "repeatable read": 3,
    "serializable": 4,
    "snapshot": 5,
}
WAIT_TYPES = {
    "delay": "WAITFOR",
    "queue": "BROKER_RECEIVE_WAITFOR",
    "group": "BROKER_RECEIVE_WAITFOR",
}
_RANGE = {
    "RangeS-S": "RS_S",
    "RangeS-U": "RS_U",
    "RangeI-N": "RIn_NL",
    "RangeI-S": "RIn_S",
    "RangeI-U": "RIn_U",
    "RangeI-X": "RIn_X",
    "RangeX-S": "RX_S",
    "RangeX-U": "RX_U",
    "RangeX-X": "RX_X",
    "Sch-S": "SCH_S",
    "Sch-M": "SCH_M",
}


def sessions(db: Database) -> list[Any]:
    """Live sessions, by id."""
    return sorted(db.server.sessions(), key=lambda session: session.id)


def lock_wait_type(mode: str) -> str:
    """LCK_M_..., by lock mode."""
    return f"LCK_M_{_RANGE.get(mode, mode)}"


def blocker_of(asking: Any, session: SessionState) -> int:
    """Session id of who blocks a waiting session; 0 for nobody."""
    wait = session.wait
    if wait is None or wait.kind != "lock":
        return 0
    found = asking.engine.locks.blockers(wait.request.transaction)
    return found[0].owner.id if found else 0


def wait_facts(asking: Any, session: SessionState) -> tuple[str | None, int, str]:
    """(wait type, milliseconds waited, resource) of a session."""
    wait = session.wait
    if wait is None:
        return None, 0, ""
    waited = int((asking.engine.clock.now() - wait.since) * 1000)
    if wait.kind == "lock":
        return (
            lock_wait_type(wait.request.mode),
            waited,
            wait_resource(session.database.server, wait.resource),
        )
    return WAIT_TYPES.get(wait.kind, "MISCELLANEOUS"), waited, ""


@view(
    "sys.dm_exec_sessions",
    """
session_id smallint
login_time datetime
host_name nvarchar(128)?
program_name nvarchar(128)?
host_process_id int?
client_version int? = 7
client_interface_name nvarchar(32)?
security_id varbinary(85)
login_name nvarchar(128)
nt_domain nvarchar(128) = None
nt_user_name nvarchar(128) = None
status nvarchar(30)
context_info varbinary(128)?
- cpu_time int
- memory_usage int
- total_scheduled_time int
- total_elapsed_time int
endpoint_id int = 4
last_request_start_time datetime
last_request_end_time datetime?
- reads bigint
- writes bigint
- logical_reads bigint
is_user_process bit
text_size int
language nvarchar(128)?
date_format nvarchar(3)?
date_first smallint
quoted_identifier bit
arithabort bit
ansi_null_dflt_on bit
ansi_defaults bit = 0
ansi_warnings bit
ansi_padding bit
ansi_nulls bit
concat_null_yields_null bit
transaction_isolation_level smallint
lock_timeout int
deadlock_priority int
row_count bigint
prev_error int
original_security_id varbinary(85)
original_login_name nvarchar(128)
last_successful_logon datetime = None
last_unsuccessful_logon datetime = None
unsuccessful_logons bigint = None
group_id int = 2
database_id smallint
authenticating_database_id int = 1
open_transaction_count int""",
    None,
)
def exec_sessions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Sessions; without VIEW SERVER STATE a session sees itself."""
    everyone = has_server_permission(session, VIEW_SERVER_STATE)
    for x in sessions(db):
        if everyone or x is session:
            yield session_row(db, x)


def session_row(db: Database, x: Any) -> RowValues:
    """The computed columns of one session."""
    o = x.options
    running = bool(x.frames) and x.wait is None
    login = db.server.logins.get(x.login_name.lower())
    original = db.server.logins.get(x.original_login.lower())
    status = "background" if x.background else "running" if running or x.wait else "sleeping"
    started = moment(x.statement_started)
    return (
        x.id,
        moment(x.login_time),
        x.host_name or None,
        x.app_name or None,
        x.host_pid,
        x.wire.library or None,
        login.sid if login else b"",
        x.login_name,
        status,
        x.context_info,
        started,
        started,
        int(not x.background),
        o.textsize,
        o.language,
        o.dateformat,
        o.datefirst,
        int(o.quoted_identifier),
        int(o.arithabort),
        int(o.ansi_null_dflt_on),
        int(o.ansi_warnings),
        int(o.ansi_padding),
        int(o.ansi_nulls),
        int(o.concat_null_yields_null),
        ISOLATION[x.isolation],
        x.lock_timeout,
        x.deadlock_priority,
        x.rowcount,
        x.error,
        original.sid if original else b"",
        x.original_login,
        x.database.id if x.database else 1,
        x.trancount,
    )


@view(
    "sys.dm_exec_connections",
    """
session_id int?
most_recent_session_id int?
connect_time datetime
net_transport nvarchar(40) = 'TCP'
protocol_type nvarchar(40)? = 'TSQL'
protocol_version int?
endpoint_id int? = 4
encrypt_option nvarchar(40)
auth_scheme nvarchar(40) = 'SQL'
node_affinity smallint = 0
- num_reads int?
- num_writes int?
- last_read datetime?
- last_write datetime?
net_packet_size int?
client_net_address varchar(48)? = '127.0.0.1'
- client_tcp_port int?
local_net_address varchar(48)? = '127.0.0.1'
- local_tcp_port int?
connection_id uniqueidentifier
parent_connection_id uniqueidentifier = None
most_recent_sql_handle varbinary(64)?""",
    VIEW_SERVER_STATE,
)
def exec_connections(session: SessionState, db: Database) -> Iterable[RowValues]:
    """One connection per session with a client."""
    for x in sessions(db):
        if not x.background:
            program, wire = x.frames[-1].program if x.frames else None, x.wire
            yield (
                x.id,
                x.id,
                moment(x.login_time),
                wire.protocol,
                "TRUE" if wire.encrypted else "FALSE",
                wire.packet_size,
                stream_guid(session.engine.seed, f"connection/{x.stream}", 0),
                bytes.fromhex(sql_handle(program)[2:]),
            )


@view(
    "sys.dm_exec_requests",
    """
session_id smallint
request_id int = 0
start_time datetime
status nvarchar(30)
command nvarchar(32)
sql_handle varbinary(64)?
statement_start_offset int?
statement_end_offset int?
- plan_handle varbinary(64)?
database_id smallint
user_id int
connection_id uniqueidentifier = None
blocking_session_id smallint?
wait_type nvarchar(60)?
wait_time int
last_wait_type nvarchar(60)
wait_resource nvarchar(256)
open_transaction_count int
open_resultset_count int = 1
transaction_id bigint
context_info varbinary(128)?
percent_complete real = 0.0
estimated_completion_time bigint = 0
- cpu_time int
- total_elapsed_time int
scheduler_id int?
task_address varbinary(8)?
- reads bigint
- writes bigint
- logical_reads bigint
text_size int
language nvarchar(128)?
date_format nvarchar(3)?
date_first smallint
quoted_identifier bit
arithabort bit
ansi_null_dflt_on bit
ansi_defaults bit = 0
ansi_warnings bit
ansi_padding bit
ansi_nulls bit
concat_null_yields_null bit
transaction_isolation_level smallint
lock_timeout int
deadlock_priority int
row_count bigint
prev_error int
nest_level int
granted_query_memory int = 0
executing_managed_code bit = 0
group_id int = 2""",
    None,
)
def exec_requests(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Requests that run or wait; without VIEW SERVER STATE a session sees its own."""
    everyone = has_server_permission(session, VIEW_SERVER_STATE)
    for x in sessions(db):
        if x.frames and (everyone or x is session):
            yield request_row(session, x)


def request_row(session: SessionState, x: Any) -> RowValues:
    """The computed columns of one request."""
    o = x.options
    frame = x.frames[-1]
    stack = x.stack()
    start, end = (stack[0][2] * 2, stack[0][3] * 2) if stack else (0, -1)
    verb = stack[0][4].split(None, 1)[0].upper() if stack and stack[0][4].split() else "SELECT"
    wait_type, waited, resource = wait_facts(session, x)
    status = (
        "background"
        if x.background and x.wait is None
        else "suspended"
        if x.wait is not None
        else "running"
    )
    handle = bytes.fromhex(sql_handle(frame.program)[2:])
    return (
        x.id,
        moment(x.statement_started),
        status,
        "BRKR TASK" if x.is_system else verb[:32],
        handle,
        start,
        end,
        x.database.id,
        x.user.id if x.user else 1,
        blocker_of(session, x),
        wait_type,
        waited,
        wait_type or "MISCELLANEOUS",
        resource,
        x.trancount,
        x.transaction.descriptor if x.transaction else 0,
        x.context_info,
        x.id % 2 + 1,
        bytes.fromhex(address("task", str(x.id), 16)[2:].rjust(16, "0")),
        o.textsize,
        o.language,
        o.dateformat,
        o.datefirst,
        int(o.quoted_identifier),
        int(o.arithabort),
        int(o.ansi_null_dflt_on),
        int(o.ansi_warnings),
        int(o.ansi_padding),
        int(o.ansi_nulls),
        int(o.concat_null_yields_null),
        ISOLATION[x.isolation],
        x.lock_timeout,
        x.deadlock_priority,
        x.rowcount,
        x.error,
        x.nest_level,
    )


@view(
    "sys.dm_os_sys_info",
    """
cpu_count int = 2
scheduler_count int = 2
- physical_memory_kb bigint
sqlserver_start_time datetime
virtual_machine_type_desc nvarchar(60) = 'NONE'""",
    VIEW_SERVER_STATE,
)
def os_sys_info(session: SessionState, db: Database) -> Iterable[RowValues]:
    """When the instance was started."""
    yield (db.server.databases["master"].created,)


@view(
    "sys.sysprocesses",
    """
spid smallint
kpid smallint = 0
blocked smallint
waittime bigint
lastwaittype nchar(32)
waitresource nchar(256)
dbid smallint
uid smallint?
login_time datetime
open_tran smallint
status nchar(30)
hostname nchar(128)
program_name nchar(128)
loginame nchar(128)""",
    VIEW_SERVER_STATE,
)
def sysprocesses(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The old view of sessions and requests, as far as it is still read."""
    for x in sessions(db):
        wait_type, waited, resource = wait_facts(session, x)
        status = (
            "background"
            if x.background
            else "suspended"
            if x.wait is not None
            else "running"
            if x.frames
            else "sleeping"
        )
        yield (
            x.id,
            blocker_of(session, x),
            waited,
            wait_type or "MISCELLANEOUS",
            resource,
            x.database.id,
            x.user.id if x.user else None,
            moment(x.login_time),
            x.trancount,
            status,
            x.host_name,
            x.app_name,
            x.login_name,
        )
