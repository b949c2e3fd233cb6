"""Who a session is: its principals in a database and on the server, signers included.

Two things decide. A session acts as a login (everywhere) or, after EXECUTE AS USER, in a module
with EXECUTE AS and under activation, as a user of one database (``session.sandbox``): then it is
nobody outside, unless somebody the target trusts vouches for it. Who vouches is the owner of the
sandbox when it is TRUSTWORTHY, or a certificate that signed the running module; the target trusts
whom it gave AUTHENTICATE (the server: AUTHENTICATE SERVER). Sources: "Extending Database
Impersonation by Using EXECUTE AS", "Signing Stored Procedures with a Certificate", ADD SIGNATURE
page (a signature lasts for its module alone, a countersignature hands it on), F-240, F-241.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.owners import DBO
from redial_broker.exec.database import Database
from redial_broker.exec.permission_table import (
    FIXED_ROLE_RIGHTS,
    FIXED_SERVER_RIGHTS,
    covering,
)
from redial_broker.exec.principals import (
    CERTIFICATE_USER,
    DB_OWNER,
    FIXED_ROLES,
    GUEST,
    KEY_USER,
    PUBLIC,
    SERVER_ROLES,
    SERVER_STATE_ROLES,
    USER,
    Login,
    Principal,
)
from redial_broker.exec.program import NO_SIGNERS

if TYPE_CHECKING:
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState

SERVER_PUBLIC, SYSADMIN = SERVER_ROLES["public"], SERVER_ROLES["sysadmin"]
SERVER, SERVER_PRINCIPAL, ENDPOINT = 100, 101, 105
"""class of sys.server_permissions."""

LOGIN_SID_BYTES = 16
"""The longest security identifier of a SQL login (sys.server_principals page)."""

_DENY_ROLES = frozenset({"db_denydatareader", "db_denydatawriter"})
_ROLE_RIGHTS = {
    FIXED_ROLES[name]: frozenset(rights)
    for name, rights in FIXED_ROLE_RIGHTS.items()
    if name not in _DENY_ROLES
}
_ROLE_DENIALS = {FIXED_ROLES[name]: frozenset(FIXED_ROLE_RIGHTS[name]) for name in _DENY_ROLES}
_SERVER_RIGHTS = {
    {**SERVER_ROLES, **SERVER_STATE_ROLES}[name]: frozenset(rights)
    for name, rights in FIXED_SERVER_RIGHTS.items()
}


# ---------------------------------------------------------------------- principals of a database
def principals_of(database: Database, user: Principal) -> frozenset[int]:
    """Ids of a user, of public, and of every role the user is in, directly or not."""
    return frozenset({PUBLIC, *_closure(database.members, user.id)})


def _closure(members: dict[tuple[int, int], Any], start: int) -> set[int]:
    """A member and all the roles it is in; members: {(role, member)}."""
    found, pending = {start}, [start]
    while pending:
        member = pending.pop()
        for role, inner in members:
            if inner == member and role not in found:
                found.add(role)
                pending.append(role)
    return found


def is_member(database: Database, user: Principal, role: str) -> bool | None:
    """IS_ROLEMEMBER: None when there is no such role."""
    found = database.principals.get(role.lower())
    if found is None:
        return None
    return user.id == DBO or found.id in principals_of(database, user)


def role_rights(principal: int) -> frozenset[str]:
    """Database permissions a fixed database role gives."""
    return _ROLE_RIGHTS.get(principal, frozenset())


def role_denials(principal: int) -> frozenset[str]:
    """Database permissions the fixed deny roles take away."""
    return _ROLE_DENIALS.get(principal, frozenset())


# ---------------------------------------------------------------------- signers
def signers(session: SessionState) -> frozenset[bytes]:
    """Thumbprints whose signatures are in effect for the running module."""
    frames = session.frames
    return frames[-1].signers if frames else NO_SIGNERS


def signer_users(database: Database, thumbprints: frozenset[bytes]) -> list[Principal]:
    """The users of certificates and keys with those thumbprints in a database."""
    if not thumbprints:
        return []
    return [
        user
        for user in database.principals.values()
        if user.type in {CERTIFICATE_USER, KEY_USER}
        and user.sid is not None
        and user.sid[12:] in thumbprints
    ]


def signer_logins(server: Server, thumbprints: frozenset[bytes]) -> list[Login]:
    """The logins of certificates and keys with those thumbprints."""
    if not thumbprints:
        return []
    return [
        login
        for login in server.logins.values()
        if login.type in {CERTIFICATE_USER, KEY_USER} and login.sid[12:] in thumbprints
    ]


# ---------------------------------------------------------------------- logins
def login_of(server: Server, user: Principal) -> Login | None:
    """The login of a database user, by security identifier; None for an orphan."""
    if user.sid is None or user.type != USER or server is None:
        return None
    if len(user.sid) > LOGIN_SID_BYTES:  # made WITHOUT LOGIN: the principal of most modules
        return None
    return next(
        (login for login in server.logins.values() if login.sid == user.sid and login.type == USER),
        None,
    )


def server_principals(server: Server, login: Login) -> frozenset[int]:
    """Ids of a login, of the server's public, and of every server role the login is in."""
    return frozenset({SERVER_PUBLIC, *_closure(server.members, login.id)})


def is_sysadmin(server: Server, login: Login | None) -> bool:
    """Whether a login is a member of sysadmin."""
    return login is not None and SYSADMIN in server_principals(server, login)


def login_permitted(
    server: Server,
    ids: frozenset[int],
    permission: str,
    class_: int = SERVER,
    major: int = 0,
    kind: str = "SERVER",
) -> bool:
    """Whether server principals have a permission on the server or on one of its securables."""
    if SYSADMIN in ids:
        return True
    found: set[str] = set()
    for each, name in covering(kind, permission):
        if each == "SERVER":
            found |= server_states(server, ids, name)
        else:
            found |= _stated(server, ids, class_, major, name)
    return "D" not in found and bool(found & {"G", "W"})


def server_states(server: Server, ids: frozenset[int], name: str) -> set[str]:
    """G, W and D of one server permission, as stated for the ids or given by fixed roles."""
    found = _stated(server, ids, SERVER, 0, name)
    if any(name in _SERVER_RIGHTS.get(i, ()) for i in ids):
        found.add("G")
    return found


def _stated(server: Server, ids: frozenset[int], class_: int, major: int, name: str) -> set[str]:
    return {state for i in ids for state, _ in server.permissions.get((class_, major, name, i), ())}


# ---------------------------------------------------------------------- who enters a database
def user_for_login(database: Database, login: Login | str) -> Principal | None:
    """The user a login enters a database as: dbo for sysadmin and the owner, its user, or guest.

    guest: where it has CONNECT, and for a login that may connect to any database.
    """
    server = database.server
    found = server.logins.get(login.lower()) if isinstance(login, str) else login
    if found is None or found.type == "R":
        return None
    if database.owner.lower() == found.name.lower() or is_sysadmin(server, found):
        return database.principals["dbo"]
    for user in database.principals.values():
        if user.sid == found.sid and user.id != DBO:
            return user
    ids = server_principals(server, found)
    if guest_may_enter(database) or login_permitted(server, ids, "CONNECT ANY DATABASE"):
        return database.principals["guest"]
    return None


def guest_may_enter(database: Database) -> bool:
    """Whether guest has CONNECT (always so in master, msdb and tempdb)."""
    stated = database.permissions.get((0, 0, 0, "CONNECT", GUEST), ())
    return any(state in "GW" for state, _ in stated)


def user_in(session: SessionState, database: Database) -> Principal | None:
    """The session's user in a database: its own in the current one, else by its login.

    None when it may not enter: no user there, or confined to another database and vouched for by
    nobody.
    """
    if database is session.database:
        return session.user
    return outside_user(session, database)


def outside_user(session: SessionState, database: Database) -> Principal | None:
    """The session's user in a database that is not the current one (or not yet)."""
    sandbox = session.sandbox
    if sandbox is not None and database is sandbox[0]:
        return sandbox[1]
    if sandbox is not None and not vouched(session, database):
        return None
    server = database.server
    login = server.logins.get(session.login_name.lower()) if server is not None else None
    user = user_for_login(database, login) if login is not None else None
    if user is None and signer_users(database, signers(session)):
        user = database.principals["guest"]
    return user


def enter(session: SessionState, database: Database) -> None:
    """Make a database the current one for a module that lives there. Raises SqlError 916."""
    if database is session.database:
        return
    user = outside_user(session, database)
    if user is None:
        raise SqlError(916, session.login_name, database.name)
    session.database, session.user = database, user


def vouched(session: SessionState, database: Database) -> bool:
    """Whether a database accepts the identity a session brings from its sandbox."""
    assert session.sandbox is not None
    source = session.sandbox[0]
    if source.options["trustworthy"]:
        owner = user_for_login(database, source.owner)
        if owner is not None and _authenticates(database, owner):
            return True
    return any(_authenticates(database, user) for user in signer_users(database, signers(session)))


def _authenticates(database: Database, user: Principal) -> bool:
    """Whether a database user has AUTHENTICATE there: dbo, CONTROL, or the permission itself."""
    if user.id == DBO:
        return True
    mine = principals_of(database, user)
    names = {name for each, name in covering("DATABASE", "AUTHENTICATE") if each == "DATABASE"}
    states = {
        state
        for name in names
        for i in mine
        for state, _ in database.permissions.get((0, 0, 0, name, i), ())
    }
    return "D" not in states and (bool(states & {"G", "W"}) or DB_OWNER in mine)


def server_identity(session: SessionState, server: Server | None = None) -> frozenset[int]:
    """Ids of the server principals a session has; only public while it is confined to a database.

    A confined session gets its login's back when the owner of a TRUSTWORTHY sandbox, or a signer,
    has AUTHENTICATE SERVER; without that a signer's other permissions have no effect either.
    """
    server = server or session.database.server
    vouchers = signer_logins(server, signers(session))
    if session.sandbox is not None and not _server_vouched(server, session.sandbox[0], vouchers):
        return frozenset({SERVER_PUBLIC})
    ids: set[int] = {SERVER_PUBLIC}
    for login in [server.logins.get(session.login_name.lower()), *vouchers]:
        if login is not None:
            ids |= server_principals(server, login)
    return frozenset(ids)


def _server_vouched(server: Server, source: Database, vouchers: list[Login]) -> bool:
    owner = server.logins.get(source.owner.lower()) if source.options["trustworthy"] else None
    return any(
        login is not None
        and login_permitted(server, server_principals(server, login), "AUTHENTICATE SERVER")
        for login in [owner, *vouchers]
    )
