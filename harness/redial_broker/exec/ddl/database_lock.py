"""The DATABASE lock: a session in a database shares it, ALTER DATABASE may want it alone.

Sources: "sys.dm_tran_locks" page (resource DATABASE, a shared lock per session), "ALTER DATABASE SET
options" page (termination clauses), F-101. A session's shared lock is only entered into the lock
manager while somebody wants the database alone: until then nobody can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.locks import LockWait
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial.tsql import ast
    from redial_broker.engine.needs import LockKey
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

differs(
    "logins while ALTER DATABASE waits",
    "A login to a database that ALTER DATABASE waits for is answered at once and its first request "
    "waits; on a server the login itself waits.",
)


def lock_key(database: Database) -> LockKey:
    """The lock resource of a database."""
    return ("DATABASE", database.id)


def check_access(session: SessionState, database: Database) -> None:
    """Raises SqlError 5064 while another session is the single user of the database."""
    if database.user_access == "SINGLE_USER" and others_in(session, database):
        raise SqlError(5064, database.name)


def others_in(session: SessionState, database: Database) -> list[SessionState]:
    """Clients' sessions whose current database it is, but for the asking one, by id."""
    found = [
        other
        for other in database.server.sessions()
        if other is not session and other.database is database and not other.background
    ]
    return sorted(found, key=lambda other: other.id)


def take_database(session: SessionState, database: Database, node: ast.AlterDatabaseSet) -> None:
    """Have the database for ourselves until the statement ends.

    ROLLBACK IMMEDIATE and ROLLBACK AFTER end the other sessions. NO_WAIT fails. Without a
    termination clause it waits for them to leave, idle ones too, and who comes later queues up
    behind; LOCK_TIMEOUT does not count ("SET LOCK_TIMEOUT" page). Raises Wait; SqlError 1205, and
    5070 or 5061 (NO_WAIT).
    """
    others = others_in(session, database)
    if node.termination in {"ROLLBACK IMMEDIATE", "ROLLBACK AFTER"}:
        if node.termination == "ROLLBACK AFTER" and others and not session.expired and node.seconds:
            session.wait_for("database", database.name, node.seconds * 1000)
        for done in (0, 100) if others else ():
            session.info(SqlError(5060, done).text, 10, 5060)
        for other in others:
            session.instance.kill(other.id)
        return
    if node.termination == "NO_WAIT" and others:
        answer = value(session.engine, "no_wait_while_others_use_the_database")
        if answer != "waits":
            raise SqlError(answer, database.name, state=2 if answer == 5070 else 1)
    _wait_for(session, database, others)


def _wait_for(session: SessionState, database: Database, others: list[SessionState]) -> None:
    locks, key = session.engine.locks, lock_key(database)
    work = session.work()
    if key in work.locks:
        return
    if not others and key not in locks.resources:
        return
    for other in others:
        if not _queues(other, database):
            locks.give(database.server.session_holder(other), key, "S")
    locks.acquire(work, key, "X", timeout=-1)


def _queues(session: SessionState, database: Database) -> bool:
    """Whether it stands in the queue itself: to come in, or to have the database alone."""
    wait = session.wait
    return isinstance(wait, LockWait) and wait.resource.key == lock_key(database)


def share_database(session: SessionState, database: Database) -> None:
    """Come into a database: wait behind an ALTER DATABASE that wants it alone. Raises Wait."""
    locks, key = session.engine.locks, lock_key(database)
    if key not in locks.resources or session.background:
        return
    if value(session.engine, "new_sessions_behind_alter_database") == "wait":
        locks.acquire(database.server.session_holder(session), key, "S")


def must_wait_to_enter(session: SessionState) -> bool:
    """Whether a session that was let in by a login has yet to get the shared lock."""
    database, key = session.database, lock_key(session.database)
    if session.background or key not in session.engine.locks.resources:
        return False
    if value(session.engine, "new_sessions_behind_alter_database") == "go in":
        return False
    holder = database.server.session_locks.get(session.id)
    return holder is None or key not in holder.locks


def leave_database(session: SessionState, database: Database) -> None:
    """Go out of a database: its shared lock is given back."""
    holder = database.server.session_locks.get(session.id)
    if holder is not None and lock_key(database) in holder.locks:
        session.engine.locks.release(holder, lock_key(database))
