"""Application locks, session context, sp_who, sp_addrolemember."""

from __future__ import annotations

from typing import Any

from harness.broker.catalog.principal_functions import LOCK_NAMES, applock_key
from harness.broker.catalog.procedures.arguments import (
    REQUIRED,
    Call,
    procedure,
    result_columns,
)
from harness.broker.engine.errors import SqlError
from harness.broker.engine.journal import MISSING
from harness.broker.engine.types import SYSNAME, ResultColumn, sql_type
from harness.broker.exec.ddl.principals import change_member
from harness.broker.exec.security import has_server_permission

GRANTED, AFTER_WAIT, TIMED_OUT, CANCELLED, DEADLOCK, BAD_CALL = 0, 1, -1, -2, -3, -999
"""Return codes of sp_getapplock (its page)."""


def holder_of(s: Any, owner: str, create: bool) -> Any:
    """The transaction that owns the lock: the session's current one, or its session-long one."""
    if owner.lower() == "session":
        server = s.database.server
        return server.session_holder(s) if create else server.session_locks.get(s.id)
    # A transaction's lock needs one the user has begun.
    return s.transaction if s.trancount else None


@procedure("sp_getapplock", Resource=REQUIRED, LockMode=REQUIRED, LockOwner="Transaction",
           LockTimeout=None, DbPrincipal="public")
def sp_getapplock(call: Call) -> int:
    """An application lock; timing out or being a deadlock victim is a return code, no error."""
    s = call.session
    word = (call.text("LockMode") or "").lower()
    mode = next((short for short, name in LOCK_NAMES.items() if name.lower() == word), None)
    resource, owner = call.text("Resource"), call.text("LockOwner") or ""
    if mode in {None, "SIX"} or resource is None or owner.lower() not in {
            "transaction", "session"}:
        return BAD_CALL
    if (call.text("DbPrincipal") or "").lower() not in {"public", "dbo"}:
        raise SqlError(15151, "find", "principal", call.text("DbPrincipal"))
    holder = holder_of(s, owner, create=True)
    if holder is None:
        return BAD_CALL
    if s.expired:
        # A quiet lock wait is over without the lock; ``expired`` says why (engine.locks).
        return DEADLOCK if s.expired == 1205 else TIMED_OUT
    timeout = call.number("LockTimeout")
    key = applock_key(s, resource)
    # Held and never counted: this is the second run of a call that had to wait.
    waited = key in holder.locks and (holder, key) not in s.database.server.applock_counts
    try:
        s.engine.locks.acquire(holder, key, mode, timeout=s.lock_timeout if timeout is None
                               else timeout, quiet=True)
    except SqlError as error:
        if error.number in {1205, 1222}:
            return DEADLOCK if error.number == 1205 else TIMED_OUT
        raise
    count(s, holder, key, 1)
    return AFTER_WAIT if waited else GRANTED


def count(s: Any, holder: Any, key: tuple, step: int) -> int:
    """How often a holder has asked for an application lock; each time must be released."""
    server = s.database.server
    for old in [k for k in server.applock_counts if k[1] not in k[0].locks]:
        s.engine.journal.put(None, server, server.applock_counts, old, MISSING)
    now = server.applock_counts.get((holder, key), 0) + step
    s.engine.journal.put(None, server, server.applock_counts, (holder, key),
                         now if now > 0 else MISSING)
    return now


@procedure("sp_releaseapplock", Resource=REQUIRED, LockOwner="Transaction", DbPrincipal="public")
def sp_releaseapplock(call: Call) -> int:
    """Give an application lock back; 1223 and -999 when it is not held."""
    s = call.session
    resource = call.text("Resource") or ""
    key = applock_key(s, resource)
    holder = holder_of(s, call.text("LockOwner") or "", create=False)
    if holder is None or key not in holder.locks:
        raise SqlError(1223, call.text("DbPrincipal"), resource)
    if count(s, holder, key, -1) <= 0:
        s.engine.locks.release(holder, key)
    return GRANTED


MAXIMUM_KEY_BYTES = 128


@procedure("sp_set_session_context", key=REQUIRED, value=None, read_only=0)
def sp_set_session_context(call: Call) -> None:
    """A value for SESSION_CONTEXT(); 15664 for a key that was set read-only."""
    s, key = call.session, call.text("key")
    if not key:
        raise SqlError(15600, "sp_set_session_context")
    if len(key.encode("utf-16-le")) > MAXIMUM_KEY_BYTES:
        raise SqlError(15666, key)
    held = s.session_context.get(key)
    if isinstance(held, tuple):
        raise SqlError(15664, key)
    value = call["value"]
    s.engine.journal.save(s)
    s.session_context[key] = (value, True) if call.number("read_only") else value


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


@procedure("sp_who", "sp_who2", loginame=None)
def sp_who(call: Call) -> None:
    """Sessions and who blocks them; without VIEW SERVER STATE only the caller's own."""
    from harness.broker.catalog.runtime_views import blocker_of, sessions

    s = call.session
    everyone = has_server_permission(s, "VIEW SERVER STATE")
    wanted = call.text("loginame")
    rows = []
    for x in sessions(s.database):
        if not everyone and x is not s:
            continue
        if wanted is not None and wanted not in {x.login_name, str(x.id)}:
            continue
        status = "background" if x.background else "suspended" if x.wait is not None else \
            "runnable" if x.frames else "sleeping"
        stack = x.stack()
        command = stack[0][4].split(None, 1)[0].upper() if stack and stack[0][4].split() else \
            "AWAITING COMMAND"
        rows.append((x.id, 0, status, x.login_name, x.host_name, str(blocker_of(s, x)),
                     x.database.name if x.database else None, command[:26], 0))
    call.answer(WHO, rows)


@procedure("sp_addrolemember", rolename=REQUIRED, membername=REQUIRED)
def sp_addrolemember(call: Call) -> None:
    """ALTER ROLE ... ADD MEMBER by its old name."""
    change_member(call.session, call.text("rolename") or "", call.text("membername") or "", True)


@procedure("sp_droprolemember", rolename=REQUIRED, membername=REQUIRED)
def sp_droprolemember(call: Call) -> None:
    """ALTER ROLE ... DROP MEMBER by its old name."""
    change_member(call.session, call.text("rolename") or "", call.text("membername") or "", False)


@procedure("sp_addmessage", msgnum=REQUIRED, severity=REQUIRED, msgtext=REQUIRED, lang=None,
           with_log="false", replace=None)
def sp_addmessage(call: Call) -> None:
    """A message for RAISERROR(number, ...). Its text is kept; severity comes from RAISERROR."""
    s = call.session
    if not has_server_permission(s, "ALTER TRACE"):
        raise SqlError(15247)
    number = call.number("msgnum") or 0
    if number <= 50000:
        raise SqlError(15600, "sp_addmessage")
    server = s.database.server
    if (number, 1033) in server.messages and (call.text("replace") or "").lower() != "replace":
        raise SqlError(15043)
    s.engine.journal.put(s.work(), server, server.messages, (number, 1033), call.text("msgtext"))


@procedure("sp_dropmessage", msgnum=REQUIRED, lang=None)
def sp_dropmessage(call: Call) -> None:
    """Take a message of sp_addmessage away."""
    s = call.session
    server, number = s.database.server, call.number("msgnum") or 0
    if not has_server_permission(s, "ALTER TRACE"):
        raise SqlError(15247)
    if (number, 1033) not in server.messages:
        raise SqlError(15179, number)
    s.engine.journal.put(s.work(), server, server.messages, (number, 1033), MISSING)


@procedure("sp_db_vardecimal_storage_format", dbname=None, vardecimal_storage_format=None)
def sp_db_vardecimal_storage_format(call: Call) -> int:
    """The vardecimal format is always enabled since SQL Server 2008: a call says so (its page).

    Without a state the databases and theirs are listed.
    """
    server = call.session.database.server
    name, state = call.text("dbname"), call.text("vardecimal_storage_format")
    if name is not None:
        server.database(name)
    if state is None:
        columns = [ResultColumn("Database Name", SYSNAME, False),
                   ResultColumn("Vardecimal State", sql_type("varchar", 3), False)]
        named = [server.database(name)] if name is not None else server.databases.values()
        call.answer(columns, [(each, "ON") for each in sorted(d.name for d in named)])
    return 0
