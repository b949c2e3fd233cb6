"""Who may do what: permissions with roles, DENY, covering permissions and ownership chains.

Rules: "Permissions (Database Engine)", "Ownership chains" and "Determining effective permissions"
pages. dbo may do everything and cannot be denied anything; DENY on any of a user's principals wins
over every GRANT; CONTROL and the permission of a wider securable cover the narrower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.exec.database import Database
from harness.broker.exec.objects import Schema, VirtualTable
from harness.broker.exec.principals import DB_OWNER, DBO, FIXED_ROLES, PUBLIC, Principal
from harness.broker.exec.switches import value

DATABASE, OBJECT, SCHEMA, PRINCIPAL, TYPE = 0, 1, 3, 4, 6
MESSAGE_TYPE, CONTRACT, SERVICE, REMOTE_BINDING, ROUTE = 15, 16, 17, 18, 19

CLASS_NAMES = {
    DATABASE: "DATABASE", OBJECT: "OBJECT_OR_COLUMN", SCHEMA: "SCHEMA",
    PRINCIPAL: "DATABASE_PRINCIPAL", TYPE: "TYPE", MESSAGE_TYPE: "MESSAGE_TYPE",
    CONTRACT: "SERVICE_CONTRACT", SERVICE: "SERVICE", REMOTE_BINDING: "REMOTE_SERVICE_BINDING",
    ROUTE: "ROUTE",
}
"""class and class_desc of sys.database_permissions."""

BROKER_VERBS = frozenset({"SEND", "RECEIVE"})
CHAINED = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "REFERENCES"})
_READER, _WRITER = FIXED_ROLES["db_datareader"], FIXED_ROLES["db_datawriter"]
_NO_READER, _NO_WRITER = FIXED_ROLES["db_denydatareader"], FIXED_ROLES["db_denydatawriter"]
_DDL, _SECURITY = FIXED_ROLES["db_ddladmin"], FIXED_ROLES["db_securityadmin"]
_ACCESS = FIXED_ROLES["db_accessadmin"]
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE"})


@dataclass(frozen=True, slots=True)
class Securable:
    """Something permissions are given on. schema: "" when it is in none; owner: principal id."""

    class_: int
    major: int
    name: str
    schema: str
    owner: int
    database: Database


_BROKER_CLASSES = {
    "Service": (SERVICE, "service_id"),
    "Contract": (CONTRACT, "contract_id"),
    "MessageType": (MESSAGE_TYPE, "message_type_id"),
    "Route": (ROUTE, "route_id"),
    "RemoteServiceBinding": (REMOTE_BINDING, "binding_id"),
}
"""Service Broker objects by the name of their class, with the attribute that holds their id."""


def securable(item: Any, database: Database) -> Securable:
    """How permissions see an object, schema, type, broker object, principal or database."""
    if isinstance(item, Securable):
        return item
    if isinstance(item, Database):
        return Securable(DATABASE, 0, item.name, "", DBO, item)
    if isinstance(item, Schema):
        return Securable(SCHEMA, item.schema_id, item.name, "", item.owner, database)
    if isinstance(item, Principal):
        return Securable(PRINCIPAL, item.id, item.name, "", item.owner or DBO, database)
    broker = _BROKER_CLASSES.get(type(item).__name__)
    if broker is not None:
        class_, attribute = broker
        major = getattr(item, attribute, None)
        if major is None:
            major = item.id
        owner = getattr(item, "owner", None)
        owner = DBO if owner is None else getattr(owner, "id", owner)
        return Securable(class_, major, item.name, "", owner, database)
    home = getattr(item, "database", None)
    if not isinstance(home, Database):
        home = database
    class_, major = OBJECT, getattr(item, "object_id", 0)
    if getattr(item, "kind", "") in {"ALIAS TYPE", "TABLE TYPE"}:
        class_, major = TYPE, item.user_type_id
    schema = home.schemas.get(item.schema.lower())
    owner = home.owners.get(item.object_id) or (schema.owner if schema else DBO)
    return Securable(class_, major, item.name, item.schema, owner, home)


# ---------------------------------------------------------------------- who
def principals_of(database: Database, user: Principal) -> frozenset[int]:
    """Ids of a user, of public, and of every role the user is in, directly or not."""
    found = {user.id, PUBLIC}
    pending = [user.id]
    while pending:
        member = pending.pop()
        for role, inner in database.members:
            if inner == member and role not in found:
                found.add(role)
                pending.append(role)
    return frozenset(found)


def is_member(database: Database, user: Principal, role: str) -> bool | None:
    """IS_ROLEMEMBER: None when there is no such role."""
    found = database.principals.get(role.lower())
    if found is None:
        return None
    return user.id == DBO or found.id in principals_of(database, user)


def is_db_owner(session: Any, database: Database | None = None) -> bool:
    """Whether the current user is dbo or a member of db_owner in the database."""
    database = database or session.database
    user = user_in(session, database)
    return user is not None and (user.id == DBO or DB_OWNER in principals_of(database, user))


def user_in(session: Any, database: Database) -> Principal | None:
    """The session's user in a database: its own in the current one, else by its login.

    None when the login has no user there and guest may not connect.
    """
    if database is session.database:
        return session.user
    return user_for_login(database, session.login_name)


def user_for_login(database: Database, login: str) -> Principal | None:
    """The user a login enters a database as: dbo for sysadmin and the owner, its user, or guest."""
    server = database.server
    found = server.logins.get(login.lower()) if server is not None else None
    if found is not None and (found.sysadmin or database.owner.lower() == login.lower()):
        return database.principals["dbo"]
    for user in database.principals.values():
        if user.type == "S" and user.login == login.lower() and user.id != DBO:
            return user
    if database.name.lower() in {"master", "tempdb", "msdb"}:
        return database.principals["guest"]
    return None


def user_of(session: Any, database: Database) -> Principal | None:
    """The user the session's login enters a database as; None when it may not enter."""
    user = user_for_login(database, session.login_name)
    if user is None or user.id == DBO or DB_OWNER in principals_of(database, user):
        return user
    connect = Securable(DATABASE, 0, database.name, "", DBO, database)
    guest = user.name == "guest"
    return user if guest or permitted(connect, user, "CONNECT") else None


def impersonate(session: Any, kind: str, name: str | None) -> Principal:
    """Whom EXECUTE AS USER | LOGIN | CALLER | SELF | OWNER names in the current database.

    Raises SqlError 15517 (user) or 15406 (login) when there is none or without IMPERSONATE.
    """
    database = session.database
    if kind in {"CALLER", "SELF"}:
        return session.user
    if kind == "LOGIN":
        login = database.server.logins.get((name or "").lower()) if database.server else None
        own = session.login_name.lower() == (name or "").lower()
        if login is None or not (own or session.user.id == DBO):
            raise SqlError(15406, name)
        user = user_for_login(database, login.name)
        if user is None:
            raise SqlError(916, login.name, database.name)
        return user
    if kind == "OWNER":
        program = session.frames[-1].program if session.frames else None
        module = database.object_by_id(program.object_id) if program else None
        found = database.principal(database.owner_of(module) if module is not None else DBO)
    else:
        found = database.principals.get((name or "").lower())
    if found is None or found.type != "S" or not may_impersonate(session, found):
        raise SqlError(15517, name)
    return found


def may_impersonate(session: Any, user: Principal) -> bool:
    """dbo may impersonate anyone, everyone itself, others need IMPERSONATE on the user."""
    if session.user is None or session.user.id in {DBO, user.id}:
        return True
    if user.id == DBO:
        return False
    return has_permission(session, "IMPERSONATE", user)


# ---------------------------------------------------------------------- may
def has_permission(session: Any, permission: str, item: Any, column: int = 0) -> bool:
    """Whether the current user has a permission on something, chains not considered."""
    target = securable(item, session.database)
    user = user_in(session, target.database)
    if user is None:
        return False
    return permitted(target, user, permission.upper(), column)


def permitted(target: Securable, user: Principal, permission: str, column: int = 0) -> bool:
    """Effective permission of a database principal on a securable."""
    if user.id == DBO:
        return True
    database = target.database
    mine = principals_of(database, user)
    names = _covering(target.class_, permission)
    places = _places(target, column)
    if _stated(database, mine, names, places, "D"):
        return False
    if _NO_READER in mine and permission == "SELECT" and target.class_ == OBJECT:
        return False
    if _NO_WRITER in mine and permission in _WRITES and target.class_ == OBJECT:
        return False
    if DB_OWNER in mine or target.owner in mine:
        return True
    if target.schema and database.schemas[target.schema.lower()].owner in mine:
        return True
    return _by_fixed_role(target, permission, mine) or \
        _stated(database, mine, names, places, "GW")


def _by_fixed_role(target: Securable, permission: str, mine: frozenset[int]) -> bool:
    """What the fixed roles other than db_owner may do (database-level roles page)."""
    if target.class_ == OBJECT and (
            (permission == "SELECT" and _READER in mine)
            or (permission in _WRITES and _WRITER in mine)):
        return True
    if _DDL in mine and target.class_ not in {PRINCIPAL} and \
            (permission == "ALTER" or permission.startswith("CREATE ")) and \
            permission not in {"CREATE ROLE", "CREATE DATABASE"}:
        return True
    if _SECURITY in mine and permission in {"ALTER ANY ROLE", "CREATE ROLE", "VIEW DEFINITION"}:
        return True
    return _ACCESS in mine and permission in {"ALTER ANY USER", "CONNECT"}


def _covering(class_: int, permission: str) -> dict[str, bool]:
    """Permission names that include ``permission``; True: only on a wider securable."""
    names = {permission: False, "CONTROL": False}
    if class_ == DATABASE:
        if permission.startswith("CREATE "):
            names["ALTER"] = False
        if permission.startswith("ALTER ANY"):
            names["ALTER"] = False
    elif permission == "ALTER":
        any_of = {SCHEMA: "ALTER ANY SCHEMA", MESSAGE_TYPE: "ALTER ANY MESSAGE TYPE",
                  CONTRACT: "ALTER ANY CONTRACT", SERVICE: "ALTER ANY SERVICE",
                  ROUTE: "ALTER ANY ROUTE", OBJECT: "ALTER ANY SCHEMA"}.get(class_)
        if any_of:
            names[any_of] = True
    return names


def _places(target: Securable, column: int) -> list[tuple[int, int, int]]:
    """(class, major, minor) where a permission on the target may have been stated."""
    places = [(target.class_, target.major, 0)]
    if column:
        places.append((target.class_, target.major, column))
    if target.schema:
        schema = target.database.schemas[target.schema.lower()]
        places.append((SCHEMA, schema.schema_id, 0))
    if target.class_ != DATABASE:
        places.append((DATABASE, 0, 0))
    return places


def _stated(database: Database, mine: frozenset[int], names: dict[str, bool],
            places: list[tuple[int, int, int]], states: str) -> bool:
    """Whether one of my principals has one of the permissions, in one of the states, somewhere."""
    permissions = database.permissions
    if not permissions:
        return False
    for position, (class_, major, minor) in enumerate(places):
        for name, wider in names.items():
            if wider and position == 0:
                continue
            for principal in mine:
                found = permissions.get((class_, major, minor, name, principal))
                if found is not None and found[0] in states:
                    return True
    return False


# ---------------------------------------------------------------------- checks that raise
def check(session: Any, permission: str, item: Any) -> None:
    """Raise SqlError 229 (or 15151, 262 by class) unless the current user may.

    item: Table, Queue, Module, VirtualTable, Schema, Database, a Service Broker object or a
    Securable. Inside a module whose owner owns the object too, nothing is checked.
    """
    user, database = session.user, session.database
    if user is None or isinstance(item, VirtualTable):
        return
    home = getattr(item, "database", None)
    if user.id == DBO and (home is None or home is database):
        return
    program = session.frames[-1].program if session.frames else None
    module = program.object_id if program is not None else 0
    known = database.permission_cache()
    key = (permission, item, user.id, module)
    if key in known:
        return
    permission = permission.upper()
    target = securable(item, database)
    if not chained(session, target, permission) and not has_permission(session, permission, target):
        raise denial(target, permission)
    if target.database is database and (program is None or program.database is database):
        known[key] = True


def denial(target: Securable, permission: str) -> SqlError:
    """The error a missing permission gives, by the class of the securable."""
    name, database = target.name, target.database.name
    if target.class_ == OBJECT:
        return SqlError(229, permission, name, database, target.schema, state=5)
    if target.class_ == DATABASE:
        return SqlError(262, permission, database)
    kind = CLASS_NAMES[target.class_].lower().replace("_", " ")
    if target.class_ in {CONTRACT, MESSAGE_TYPE} and permission == "REFERENCES":
        return SqlError(15151, "find", kind.replace("service ", ""), name)
    if target.class_ == TYPE:
        return SqlError(229, permission, name, database, target.schema, state=5)
    return SqlError(229, permission, name, database, target.schema or "dbo", state=8)


def chained(session: Any, target: Securable, permission: str) -> bool:
    """Whether the running module's owner owns the object: then only the module was checked.

    Dynamic SQL breaks the chain (its frame is no module), a chain never crosses databases here
    (cross db ownership chaining is off by default).
    """
    if permission in BROKER_VERBS:
        if not value(session.engine, "ownership_chain_over_broker_verbs"):
            return False
    elif permission not in CHAINED:
        return False
    frames = session.frames
    if not frames:
        return False
    program = frames[-1].program
    if not program.object_id or program.database is not target.database:
        return False
    module = program.database.object_by_id(program.object_id)
    if module is None:
        return False
    return program.database.owner_of(module) == target.owner


def check_server(session: Any, permission: str) -> None:
    """Raise SqlError 300 unless the login has a server permission (VIEW SERVER STATE)."""
    if not has_server_permission(session, permission):
        raise SqlError(300, permission, "server", "master")


def has_server_permission(session: Any, permission: str) -> bool:
    """Whether the login may; a user impersonated in a database has no server permissions."""
    server = session.database.server
    if server is None:
        return True
    if session.background and (session.user is None or session.user.id != DBO):
        return False
    login = server.logins.get(session.login_name.lower())
    if login is None:
        return session.user is None or session.user.id == DBO
    if session.user_stack or _runs_as_other(session, login.name):
        return False
    if login.sysadmin:
        return True
    return any(server.permissions.get((name, login.id)) in {"G", "W"}
               for name in (permission, "CONTROL SERVER"))


def _runs_as_other(session: Any, login: str) -> bool:
    """Whether EXECUTE AS or activation put another user in place of the login's own."""
    own = user_for_login(session.database, login)
    return session.user is not None and own is not None and own.id != session.user.id
