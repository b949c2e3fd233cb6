"""EXECUTE AS and REVERT: whom a session acts as, for how long, and how it comes back.

Rules: EXECUTE AS, EXECUTE AS clause and REVERT pages; error choice of REVERT: F-242. A context set
inside a module or dynamic text ends with it; one set by a batch of the client stays with the
session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import shake_128
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.owners import DBO
from redial_broker.engine.state import definition
from redial_broker.exec.database import Database
from redial_broker.exec.principals import USER, Login, Principal, sid_text
from redial_broker.exec.security import has_permission
from redial_broker.exec.tokens import (
    SERVER_PRINCIPAL,
    login_of,
    login_permitted,
    server_identity,
    user_for_login,
)

if TYPE_CHECKING:
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState

COOKIE_BYTES = 100
"""Length of a cookie as servers make it (EXECUTE AS page)."""

_NOT_PEOPLE = frozenset({"sys", "information_schema"})


@definition(sandbox="shown as that of the session it goes back to", database="shown by its name")
@dataclass(frozen=True, slots=True)
class Context:
    """What REVERT goes back to."""

    user: Any
    login_name: str
    sandbox: Any
    database: Database
    """Where EXECUTE AS ran."""
    revertible: bool = True
    cookie: bytes | None = None
    """None without one."""


# ---------------------------------------------------------------------- becoming somebody
def become_user(session: SessionState, database: Database, user: Principal) -> None:
    """Act as a user of a database: trusted there, and nowhere else by itself."""
    session.user = user
    session.login_name = login_name_of(database, user)
    session.sandbox = (database, user)


def login_name_of(database: Database, user: Principal) -> str:
    """SUSER_SNAME() of a user: its login, or the written form of its security identifier."""
    if user.id == DBO:
        return database.owner
    login = login_of(database.server, user)
    if login is not None:
        return login.name
    return sid_text(user.sid) if user.sid is not None and len(user.sid) > 16 else user.name


def usable(database: Database, user: Principal | None) -> bool:
    """Whether a principal can be impersonated at all: a user, and no orphan."""
    if user is None or user.type != USER or user.name.lower() in _NOT_PEOPLE:
        return False
    server = database.server
    if server is None:
        return True
    if user.id == DBO:
        return database.owner.lower() in server.logins
    return not user.login or login_of(server, user) is not None


def may_impersonate(session: SessionState, user: Principal) -> bool:
    """dbo may impersonate anyone, everyone itself, others need IMPERSONATE on the user."""
    return (
        session.user is None
        or session.user.id in {DBO, user.id}
        or has_permission(session, "IMPERSONATE", user)
    )


def find_user(session: SessionState, name: str | None) -> Principal:
    """The user EXECUTE AS USER names. Raises SqlError 15517."""
    database = session.database
    found = database.principals.get((name or "").lower())
    if found is None or not usable(database, found) or not may_impersonate(session, found):
        raise SqlError(15517, name)
    return found


def find_login(session: SessionState, name: str | None) -> Login:
    """The login EXECUTE AS LOGIN names. Raises SqlError 15406."""
    server = session.database.server
    login = server.logins.get((name or "").lower())
    if login is None or login.type != USER:
        raise SqlError(15406, name)
    if login.name.lower() == session.login_name.lower() and session.sandbox is None:
        return login
    ids = server_identity(session)
    if _denied_any_login(server, ids) or not login_permitted(
        server, ids, "IMPERSONATE", SERVER_PRINCIPAL, login.id, "LOGIN"
    ):
        raise SqlError(15406, name)
    return login


def _denied_any_login(server: Server, ids: frozenset[int]) -> bool:
    """DENY IMPERSONATE ANY LOGIN stops even CONTROL SERVER (GRANT Server Permissions page)."""
    return any(
        state == "D"
        for i in ids
        for state, _ in server.permissions.get((100, 0, "IMPERSONATE ANY LOGIN", i), ())
    )


def execute_as(session: SessionState, kind: str, name: str | None) -> None:
    """Become USER, LOGIN or CALLER. Raises SqlError 15517, 15406, 916."""
    if kind == "CALLER":
        frame = session.frames[-1]
        if len(session.frames) > 1:
            session.user = frame.saved_user
            session.login_name, session.sandbox = frame.saved_identity
    elif kind == "LOGIN":
        become_login(session, find_login(session, name))
    else:
        become_user(session, session.database, find_user(session, name))


def other(session: SessionState, kind: str, name: str | None) -> Callable[[], None]:
    """EXECUTE ('..') AS USER | LOGIN: checks now, becomes it when called. Errors as execute_as."""
    if kind == "USER":
        user, database = find_user(session, name), session.database
        return lambda: become_user(session, database, user)
    login = find_login(session, name)
    if user_for_login(session.database, login) is None:
        raise SqlError(916, login.name, session.database.name)
    return lambda: become_login(session, login)


def become_login(session: SessionState, login: Login) -> None:
    """Act as a login, on the whole server. Raises SqlError 916 when it may not be here."""
    database = session.database
    user = user_for_login(database, login)
    if user is None:
        raise SqlError(916, login.name, database.name)
    session.user, session.login_name, session.sandbox = user, login.name, None


# ---------------------------------------------------------------------- the stack of contexts
def push(
    session: SessionState,
    kind: str,
    name: str | None,
    *,
    revertible: bool = True,
    cookie: bool = False,
) -> bytes | None:
    """EXECUTE AS as a statement. Returns the cookie when one was asked for.

    Raises SqlError 15590 for NO REVERT and COOKIE anywhere but in a client's batch.
    """
    if (cookie or not revertible) and session.nest_level:
        raise SqlError(15590)
    if kind == "CALLER" and not session.nest_level:
        return None
    made = shake_128(session.new_guid().encode()).digest(COOKIE_BYTES) if cookie else None
    context = Context(
        session.user, session.login_name, session.sandbox, session.database, revertible, made
    )
    execute_as(session, kind, name)
    session.user_stack.append(context)
    return made


def revert(session: SessionState, cookie: bytes | None, given: bool) -> None:
    """REVERT: to the context before the last EXECUTE AS of this module; else nothing.

    Raises SqlError 15199 in another database, 15196 after NO REVERT, 15591 without the cookie. All
    of them end the batch.
    """
    stack = session.user_stack
    floor = session.frames[-1].impersonations if session.nest_level else 0
    if len(stack) <= floor:
        return
    context = stack[-1]
    if context.database is not session.database:
        raise SqlError(15199, "Execute As", aborts="batch")
    if not context.revertible:
        raise SqlError(15196, aborts="batch")
    if (context.cookie is not None) != given or context.cookie != (cookie if given else None):
        raise SqlError(15591, aborts="batch")
    stack.pop()
    session.user, session.login_name = context.user, context.login_name
    session.sandbox = context.sandbox
