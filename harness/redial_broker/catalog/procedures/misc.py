"""Application locks, session context, sp_who, sp_addrolemember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.catalog.principal_functions import LOCK_NAMES, applock_key
from redial_broker.catalog.procedures.arguments import (
    REQUIRED,
    Call,
    procedure,
)
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.types import SYSNAME, ResultColumn, sql_type
from redial_broker.exec.ddl.logins import change_server_member, drop_login, find_server_role
from redial_broker.exec.ddl.principals import change_member, drop_principal
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

GRANTED, AFTER_WAIT, TIMED_OUT, CANCELLED, DEADLOCK, BAD_CALL = 0, 1, -1, -2, -3, -999
"""Return codes of sp_getapplock (its page)."""


OWNERS = frozenset({"transaction", "session"})
NULL_SHOWN = "(null)"
FOR_EVER = -1
"""The least timeout of a lock."""


def refused(call: Call, number: int, *args: object) -> int:
    """A wrong call: an information message and -999, no error (F-528)."""
    message = SqlError(number, *args)
    call.session.info(message.text, message.severity, number)
    return BAD_CALL


def holder_of(session: SessionState, owner: str, create: bool) -> Any:
    """The transaction that owns the lock: the session's current one, or its session-long one."""
    if owner.strip().lower() == "session":
        server = session.database.server
        return server.session_holder(session) if create else server.session_locks.get(session.id)
    # A transaction's lock needs one the user has begun.
    return session.transaction if session.trancount else None


@procedure(
    "sp_getapplock",
    Resource=REQUIRED,
    LockMode=REQUIRED,
    LockOwner="Transaction",
    LockTimeout=None,
    DbPrincipal="public",
)
def sp_getapplock(call: Call) -> int:
    """An application lock; timing out or being a deadlock victim is a return code, no error."""
    session = call.session
    word = (call.text("LockMode") or "").strip().lower()
    mode = next((short for short, name in LOCK_NAMES.items() if name.lower() == word), None)
    resource, owner = call.text("Resource"), call.text("LockOwner") or ""
    if mode in {None, "SIX"}:
        return refused(call, 15625, call.text("LockMode") or NULL_SHOWN, "@LockMode")
    if owner.strip().lower() not in OWNERS:
        return refused(call, 15625, call.text("LockOwner") or NULL_SHOWN, "@LockOwner")
    timeout = call.number("LockTimeout")
    if resource is None or (timeout is not None and timeout < FOR_EVER):
        return BAD_CALL
    key = applock_key(session, resource, call.text("DbPrincipal") or "")
    holder = holder_of(session, owner, create=True)
    if holder is None:
        return refused(call, 15626)
    if (
        session.trancount
        and session.transaction is not None
        and session.transaction.doomed
        and value(session.engine, "applock_when_doomed") == "refused"
    ):
        raise SqlError(3930)
    if session.expired:
        # A quiet lock wait is over without the lock; ``expired`` says why (engine.locks).
        return DEADLOCK if session.expired == 1205 else TIMED_OUT
    # Held and never counted: this is the second run of a call that had to wait.
    waited = key in holder.locks and (holder, key) not in session.database.server.applock_counts
    try:
        session.engine.locks.acquire(
            holder,
            key,
            mode,
            timeout=session.lock_timeout if timeout is None else timeout,
            quiet=True,
        )
    except SqlError as error:
        if error.number in {1205, 1222}:
            return DEADLOCK if error.number == 1205 else TIMED_OUT
        raise
    count(session, holder, key, 1)
    return AFTER_WAIT if waited else GRANTED


def count(session: SessionState, holder: Any, key: tuple[Any, ...], step: int) -> int:
    """How often a holder has asked for an application lock; each time must be released."""
    server = session.database.server
    for old in [k for k in server.applock_counts if k[1] not in k[0].locks]:
        session.engine.journal.put(None, server, server.applock_counts, old, MISSING)
    now: int = server.applock_counts.get((holder, key), 0) + step
    session.engine.journal.put(
        None, server, server.applock_counts, (holder, key), now if now > 0 else MISSING
    )
    return now


@procedure("sp_releaseapplock", Resource=REQUIRED, LockOwner="Transaction", DbPrincipal="public")
def sp_releaseapplock(call: Call) -> int:
    """Give an application lock back; 1223 and -999 when it is not held."""
    session = call.session
    resource, owner = call.text("Resource") or "", call.text("LockOwner") or ""
    if owner.strip().lower() not in OWNERS:
        return refused(call, 15625, owner or NULL_SHOWN, "@LockOwner")
    key = applock_key(session, resource, call.text("DbPrincipal") or "")
    holder = holder_of(session, owner, create=False)
    if holder is None or key not in holder.locks:
        error = SqlError(1223, call.text("DbPrincipal"), resource)
        error.returns = BAD_CALL
        raise error
    if count(session, holder, key, -1) <= 0:
        session.engine.locks.release(holder, key)
    return GRANTED


MAXIMUM_KEY_BYTES = 128


@procedure("sp_set_session_context", key=REQUIRED, value=None, read_only=0)
def sp_set_session_context(call: Call) -> None:
    """A value for SESSION_CONTEXT(); 15664 for a key that was set read-only."""
    session, key = call.session, call.text("key")
    if not key:
        raise SqlError(15600, "sp_set_session_context")
    if len(key.encode("utf-16-le")) > MAXIMUM_KEY_BYTES:
        raise SqlError(15666, key)
    held = session.session_context.get(key)
    if isinstance(held, tuple):
        raise SqlError(15664, key)
    value = call["value"]
    session.engine.journal.save(session)
    session.session_context[key] = (value, True) if call.number("read_only") else value


@procedure("sp_addrolemember", rolename=REQUIRED, membername=REQUIRED)
def sp_addrolemember(call: Call) -> None:
    """ALTER ROLE ... ADD MEMBER by its old name."""
    change_member(call.session, call.text("rolename") or "", call.text("membername") or "", True)


@procedure("sp_droprolemember", rolename=REQUIRED, membername=REQUIRED)
def sp_droprolemember(call: Call) -> None:
    """ALTER ROLE ... DROP MEMBER by its old name."""
    change_member(call.session, call.text("rolename") or "", call.text("membername") or "", False)


def _change_server_role(call: Call, add: bool) -> None:
    """A member of a fixed server role more or less. Raises SqlError 15402 for another role."""
    name = call.text("rolename") or ""
    role = call.session.database.server.logins.get(name.lower())
    if role is None or not role.fixed:
        raise SqlError(15402, name)
    find_server_role(call.session, name, "alter")
    change_server_member(call.session, role, call.text("loginame") or "", add)


@procedure("sp_addsrvrolemember", loginame=REQUIRED, rolename=REQUIRED)
def sp_addsrvrolemember(call: Call) -> None:
    """ALTER SERVER ROLE ... ADD MEMBER by its old name."""
    _change_server_role(call, True)


@procedure("sp_dropsrvrolemember", loginame=REQUIRED, rolename=REQUIRED)
def sp_dropsrvrolemember(call: Call) -> None:
    """ALTER SERVER ROLE ... DROP MEMBER by its old name."""
    _change_server_role(call, False)


@procedure("sp_droprole", rolename=REQUIRED)
def sp_droprole(call: Call) -> None:
    """DROP ROLE by its old name."""
    drop_principal(call.session, "role", call.text("rolename") or "", False)


@procedure("sp_dropuser", "sp_revokedbaccess", name_in_db=REQUIRED)
def sp_dropuser(call: Call) -> None:
    """DROP USER by its old names."""
    drop_principal(call.session, "user", call.text("name_in_db") or "", False)


@procedure("sp_droplogin", loginame=REQUIRED)
def sp_droplogin(call: Call) -> None:
    """DROP LOGIN by its old name."""
    drop_login(call.session, call.text("loginame") or "")


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
        columns = [
            ResultColumn("Database Name", SYSNAME, False),
            ResultColumn("Vardecimal State", sql_type("varchar", 3), False),
        ]
        named = [server.database(name)] if name is not None else server.databases.values()
        call.answer(columns, [(each, "ON") for each in sorted(d.name for d in named)])
    return 0
