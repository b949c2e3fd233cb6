"""Sessions and their locks by procedure: sp_who, sp_who2, sp_lock."""

from __future__ import annotations

from typing import Any

from redial_broker.catalog.broker_views import moment
from redial_broker.catalog.lock_views import lock_place, lock_requests
from redial_broker.catalog.procedures.arguments import Call, procedure, result_columns
from redial_broker.catalog.runtime_views import blocker_of, sessions
from redial_broker.catalog.views import VIEW_SERVER_STATE
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.exec.security import has_server_permission

WHO = result_columns("""
spid smallint
ecid smallint
status nchar(30)
loginame nvarchar(128)?
hostname nchar(128)
blk char(5)
dbname nvarchar(128)?
cmd nchar(26)
request_id int""")

WHO2 = result_columns("""
SPID char(5)
Status nvarchar(30)
Login nvarchar(128)
HostName nvarchar(128)
BlkBy char(5)
DBName nvarchar(128)?
Command nvarchar(26)
CPUTime varchar(30)
DiskIO varchar(30)
LastBatch varchar(14)
ProgramName nvarchar(128)
SPID char(5)
REQUESTID char(5)""")

LOCKS = result_columns("""
spid smallint
dbid smallint
ObjId int
IndId smallint
Type nchar(4)
Resource nchar(32)
Mode nvarchar(8)
Status nvarchar(5)""")

differs(
    "processor time and disk accesses",
    "Nobody measures them: sp_who2 shows 0, the columns of the DMVs are refused.",
)

_TYPES = {"DATABASE": "DB", "OBJECT": "TAB", "KEY": "KEY", "METADATA": "MD", "APPLICATION": "APP"}


def shown(call: Call) -> list[Any]:
    """The sessions a caller may see, narrowed by @loginame: a login, a session id, or 'active'.

    Raises SqlError 15007 for a login that does not exist (sp_who page).
    """
    session = call.session
    everyone = has_server_permission(session, VIEW_SERVER_STATE)
    found = [x for x in sessions(session.database) if everyone or x is session]
    wanted = call.text("loginame")
    if wanted is None:
        return found
    if wanted.lower() == "active":
        return [x for x in found if x.frames or x.background]
    if wanted.lstrip("-").isdigit():
        return [x for x in found if x.id == int(wanted)]
    if wanted.lower() not in session.database.server.logins:
        raise SqlError(15007, wanted)
    return [x for x in found if x.login_name.lower() == wanted.lower()]


def status_of(x: Any) -> str:
    """background, suspended, runnable or sleeping."""
    if x.background:
        return "background"
    if x.wait is not None:
        return "suspended"
    return "runnable" if x.frames else "sleeping"


def command_of(x: Any) -> str:
    """The verb of what the session runs."""
    stack = x.stack()
    words = stack[0][4].split() if stack else []
    return words[0].upper()[:26] if words else "AWAITING COMMAND"


@procedure("sp_who", loginame=None)
def sp_who(call: Call) -> None:
    """Sessions and who blocks them; without VIEW SERVER STATE only the caller's own."""
    session = call.session
    call.answer(
        WHO,
        [
            (
                x.id,
                0,
                status_of(x),
                x.login_name,
                x.host_name,
                str(blocker_of(session, x)),
                x.database.name if x.database else None,
                command_of(x),
                0,
            )
            for x in shown(call)
        ],
    )


@procedure("sp_who2", loginame=None)
def sp_who2(call: Call) -> None:
    """The same as text; processor time and disk accesses are not measured and show 0."""
    session = call.session
    rows = []
    for x in shown(call):
        blocker = blocker_of(session, x)
        rows.append(
            (
                str(x.id),
                status_of(x),
                x.login_name,
                x.host_name or "  .",
                str(blocker) if blocker else "  .",
                x.database.name if x.database else None,
                command_of(x),
                "0",
                "0",
                f"{moment(x.statement_started):%m/%d %H:%M:%S}",
                x.app_name or "",
                str(x.id),
                "0",
            )
        )
    call.answer(WHO2, rows)


@procedure("sp_lock", spid1=None, spid2=None)
def sp_lock(call: Call) -> None:
    """Locks as rows of numbers; needs VIEW SERVER STATE (its page). Raises SqlError 300."""
    session = call.session
    session.check_server_permission(VIEW_SERVER_STATE)
    wanted = {call.number("spid1"), call.number("spid2")} - {None}
    rows = [
        (x.id, x.database.id, 0, 0, "DB", "", "S", "GRANT")
        for x in sessions(session.database)
        if x.database is not None and not x.background
    ]
    for resource, transaction, mode, status in lock_requests(session):
        kind, _, database, text, entity = lock_place(session.database.server, resource.key)
        number = entity if kind == "OBJECT" else 0
        rows.append(
            (
                transaction.owner.id,
                database,
                number,
                0,
                _TYPES.get(kind, kind[:4]),
                text[:32],
                mode,
                {"CONVERT": "CNVT"}.get(status, status),
            )
        )
    call.answer(LOCKS, [row for row in rows if not wanted or row[0] in wanted])
