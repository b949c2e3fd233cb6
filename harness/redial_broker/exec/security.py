"""Who may do what: permissions with roles, DENY, covering permissions and ownership chains.

Rules: "Permissions (Database Engine)", "Ownership chains" and "Determining effective permissions"
pages; what covers what is ``permission_table``, who somebody is ``tokens``. dbo may do everything
and cannot be denied anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError, followed
from redial_broker.engine.owners import DBO
from redial_broker.exec.database import Database
from redial_broker.exec.objects import Schema, VirtualTable
from redial_broker.exec.permission_table import covering
from redial_broker.exec.principals import DB_OWNER, ROLE, SERVER_ROLES, USER, Principal
from redial_broker.exec.program import NO_SIGNERS, Program
from redial_broker.exec.switches import value
from redial_broker.exec.tokens import (
    is_member,
    login_permitted,
    outside_user,
    principals_of,
    role_denials,
    role_rights,
    server_identity,
    server_states,
    signer_users,
    signers,
    user_for_login,
    user_in,
)

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

__all__ = ["is_member", "user_for_login"]

DATABASE, OBJECT, SCHEMA, PRINCIPAL, TYPE, XML_COLLECTION = 0, 1, 3, 4, 6, 10
MESSAGE_TYPE, CONTRACT, SERVICE, REMOTE_BINDING, ROUTE = 15, 16, 17, 18, 19
SYMMETRIC_KEY, CERTIFICATE, ASYMMETRIC_KEY = 24, 25, 26

CLASS_NAMES = {
    DATABASE: "DATABASE",
    OBJECT: "OBJECT_OR_COLUMN",
    SCHEMA: "SCHEMA",
    PRINCIPAL: "DATABASE_PRINCIPAL",
    TYPE: "TYPE",
    XML_COLLECTION: "XML_SCHEMA_COLLECTION",
    MESSAGE_TYPE: "MESSAGE_TYPE",
    CONTRACT: "SERVICE_CONTRACT",
    SERVICE: "SERVICE",
    REMOTE_BINDING: "REMOTE_SERVICE_BINDING",
    ROUTE: "ROUTE",
    SYMMETRIC_KEY: "SYMMETRIC_KEYS",
    CERTIFICATE: "CERTIFICATE",
    ASYMMETRIC_KEY: "ASYMMETRIC_KEY",
}
"""class and class_desc of sys.database_permissions."""

_KINDS = {
    DATABASE: "DATABASE",
    OBJECT: "OBJECT",
    SCHEMA: "SCHEMA",
    PRINCIPAL: "USER",
    TYPE: "TYPE",
    XML_COLLECTION: "XML SCHEMA COLLECTION",
    MESSAGE_TYPE: "MESSAGE TYPE",
    CONTRACT: "CONTRACT",
    SERVICE: "SERVICE",
    REMOTE_BINDING: "REMOTE SERVICE BINDING",
    ROUTE: "ROUTE",
    SYMMETRIC_KEY: "SYMMETRIC KEY",
    CERTIFICATE: "CERTIFICATE",
    ASYMMETRIC_KEY: "ASYMMETRIC KEY",
}

BROKER_VERBS = frozenset({"SEND", "RECEIVE"})
CHAINED = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "REFERENCES"})
NOBODY: frozenset[int] = frozenset()
VIEW_STATE, PERFORMANCE_STATE = "VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE"


@dataclass(frozen=True, slots=True)
class Securable:
    """Something permissions are given on."""

    class_: int
    major: int
    name: str
    schema: str
    """"" when it is in none."""
    owner: int
    """Principal id."""
    database: Database
    role: bool = False

    @property
    def kind(self) -> str:
        """The class by its name in ``permission_table``; a principal is a USER or a ROLE."""
        return "ROLE" if self.role else _KINDS[self.class_]


_BROKER_CLASSES = {
    "Service": (SERVICE, "service_id"),
    "Contract": (CONTRACT, "contract_id"),
    "MessageType": (MESSAGE_TYPE, "message_type_id"),
    "Route": (ROUTE, "route_id"),
    "RemoteServiceBinding": (REMOTE_BINDING, "binding_id"),
    "Certificate": (CERTIFICATE, "certificate_id"),
    "AsymmetricKey": (ASYMMETRIC_KEY, "key_id"),
    "SymmetricKey": (SYMMETRIC_KEY, "key_id"),
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
        # A user is not its own securable's owner: it may not grant IMPERSONATE on itself.
        owner = item.owner or DBO if item.type == ROLE else DBO
        return Securable(PRINCIPAL, item.id, item.name, "", owner, database, item.type == ROLE)
    broker = _BROKER_CLASSES.get(type(item).__name__)
    if broker is not None:
        class_, attribute = broker
        major = getattr(item, attribute, None)
        if major is None:
            major = item.id
        by: Any = getattr(item, "owner", None)
        owner = DBO if by is None else getattr(by, "id", by)
        return Securable(class_, major, item.name, "", owner, database)
    home = getattr(item, "database", None)
    if not isinstance(home, Database):
        home = database
    class_, number = OBJECT, getattr(item, "object_id", 0)
    if getattr(item, "kind", "") in {"ALIAS TYPE", "TABLE TYPE"}:
        class_, number = TYPE, item.user_type_id
    schema = home.schemas.get(item.schema.lower())
    owner = home.owners.get(item.object_id) or (schema.owner if schema else DBO)
    return Securable(class_, number, item.name, item.schema, owner, home)


# ---------------------------------------------------------------------- who
def is_db_owner(session: SessionState, database: Database | None = None) -> bool:
    """Whether the current user is dbo or a member of db_owner in the database."""
    database = database or session.database
    user = user_in(session, database)
    return user is not None and (user.id == DBO or DB_OWNER in principals_of(database, user))


def check_restricted(database: Database, user: Principal) -> None:
    """Raise SqlError 923 for who may not enter a RESTRICTED_USER database: all but its owner,
    members of db_owner, and the logins that enter as dbo or may create databases.
    """
    if user.id == DBO or DB_OWNER in principals_of(database, user):
        return
    server = database.server
    login = server.logins.get((user.login or "").lower())
    if login is None or (SERVER_ROLES["dbcreator"], login.id) not in server.members:
        raise SqlError(923, database.name)


def identities(session: SessionState, database: Database) -> frozenset[int] | None:
    """Ids of everything the session is in a database, signers included; None outside it."""
    user = user_in(session, database)
    if user is None:
        return None
    mine = principals_of(database, user)
    for signer in signer_users(database, signers(session)):
        mine |= principals_of(database, signer)
    return mine


def member_ids(session: SessionState, database: Database) -> frozenset[int]:
    """Ids that IS_MEMBER looks at: the user's, and its signers' if these count (F-180)."""
    user = user_in(session, database)
    if user is None:
        return NOBODY
    if value(session.engine, "signer_is_member") == "ignored":
        return principals_of(database, user)
    return identities(session, database) or NOBODY


def user_of(session: SessionState, database: Database) -> Principal | None:
    """The user the session enters a database as; None when it may not enter."""
    user = outside_user(session, database)
    if user is None or user.id == DBO:
        return user
    connect = securable(database, database)
    mine = principals_of(database, user)
    for signer in signer_users(database, signers(session)):
        mine |= principals_of(database, signer)
    allowed = decide(connect, mine, "CONNECT", 0, server_identity(session, database.server))
    return user if allowed else None


# ---------------------------------------------------------------------- may
def has_permission(session: SessionState, permission: str, item: Any, column: int = 0) -> bool:
    """Whether the current user has a permission on something, chains not considered."""
    target = securable(item, session.database)
    user = user_in(session, target.database)
    if user is None:
        return False
    if user.id == DBO:
        return True
    mine = identities(session, target.database)
    home = target.database.server
    server = server_identity(session, home) if home is not None else NOBODY
    return decide(target, mine or NOBODY, permission.upper(), column, server)


def permitted(target: Securable, user: Principal, permission: str, column: int = 0) -> bool:
    """Effective permission of a database principal on a securable, whoever's session it is."""
    return user.id == DBO or decide(
        target, principals_of(target.database, user), permission, column, NOBODY
    )


def decide(
    target: Securable,
    mine: frozenset[int],
    permission: str,
    column: int = 0,
    server: frozenset[int] = NOBODY,
) -> bool:
    """The permission check ("Permissions (Database Engine)", summary of the algorithm).

    Whoever owns the securable may; else a DENY of the permission, or of one that covers it, on it
    or on what contains it, given to any of the identities, decides; then a GRANT does. A grant on a
    column overrides a denial on its object, and a denial on it a grant there.
    """
    if target.owner in mine:
        return True
    stated = states(target, mine, permission, server)
    if column:
        own = _found(target.database, (target.class_, target.major, column), permission, mine)
        if own:
            return "D" not in own
    return "D" not in stated and bool(stated & {"G", "W"})


def states(
    target: Securable, mine: frozenset[int], permission: str, server: frozenset[int] = NOBODY
) -> set[str]:
    """G, W and D as they are stated for the identities, by anything that covers the permission."""
    database = target.database
    places = _places(target)
    found: set[str] = set()
    for kind, name in covering(target.kind, permission):
        if kind == "SERVER":
            if server and database.server is not None:
                found |= server_states(database.server, server, name)
            continue
        place = places.get(kind)
        if place is None:
            continue
        found |= _found(database, place, name, mine)
        if kind == "DATABASE":
            if any(name in role_denials(i) for i in mine):
                found.add("D")
            if any(name in role_rights(i) for i in mine):
                found.add("G")
        elif (
            kind == "SCHEMA"
            and name == "CONTROL"
            and target.schema
            and database.schemas[target.schema.lower()].owner in mine
        ):
            found.add("G")
    return found


def _places(target: Securable) -> dict[str, tuple[int, int, int]]:
    """Kind of securable -> (class, major, minor) where a permission may be stated."""
    places = {"DATABASE": (DATABASE, 0, 0), target.kind: (target.class_, target.major, 0)}
    if target.schema:
        schema = target.database.schemas[target.schema.lower()]
        places["SCHEMA"] = (SCHEMA, schema.schema_id, 0)
    return places


def _found(
    database: Database, place: tuple[int, int, int], name: str, mine: frozenset[int]
) -> set[str]:
    permissions = database.permissions
    return {
        state for principal in mine for state, _ in permissions.get((*place, name, principal), ())
    }


# ---------------------------------------------------------------------- checks that raise
def check(session: SessionState, permission: str, item: Any, columns: tuple[int, ...] = ()) -> None:
    """Raise SqlError 229 (230 for a column; 15151, 262 by class) unless the current user may.

    item: Table, Queue, Module, VirtualTable, Schema, Database, a Service Broker object or a
    Securable. columns: 1-based, the columns that are read or changed; () for the whole object.
    Inside a module whose owner owns the object too, nothing is checked. 916: no way in there.
    """
    user, database = session.user, session.database
    if user is None or item is None or isinstance(item, VirtualTable):
        return
    if user.id == DBO and _at_home(item, database):
        return
    program: Program | None = None
    signed, module = NO_SIGNERS, 0
    if session.frames:
        frame = session.frames[-1]
        program, signed = frame.program, frame.signers
        module = program.object_id
    known = database.permission_cache()
    server = database.server
    key = (
        permission,
        item,
        user.id,
        module,
        columns,
        signed,
        server.security_version if server is not None else 0,
    )
    if key in known:
        return
    permission = permission.upper()
    target = securable(item, database)
    if user_in(session, target.database) is None:
        raise SqlError(916, session.login_name, target.database.name)
    if not chained(session, target, permission):
        _check(session, target, permission, columns)
    if _at_home(item, database) and (program is None or program.database is database):
        known[key] = True


def _at_home(item: Any, database: Database) -> bool:
    """Whether an item is not another database's."""
    home = getattr(item, "database", None)
    return home is None or home is database or not isinstance(home, Database)


def _check(
    session: SessionState, target: Securable, permission: str, columns: tuple[int, ...]
) -> None:
    if not columns or not _by_column(target.database, target):
        if not has_permission(session, permission, target):
            raise denial(target, permission)
        return
    refused = [c for c in columns if not has_permission(session, permission, target, c)]
    if not refused:
        return
    mine = identities(session, target.database) or NOBODY
    own = any(
        "G" in _found(target.database, (OBJECT, target.major, c), permission, mine)
        for c in range(1, 1025)
    )
    if not own and not has_permission(session, permission, target):
        raise denial(target, permission)
    table = target.database.object_by_id(target.major)
    name = table.columns[refused[0] - 1].name
    raise SqlError(230, permission, name, target.name, target.database.name, target.schema)


def _by_column(database: Database, target: Securable) -> bool:
    """Whether anything is stated about single columns of an object."""
    return any(
        key[2] and key[0] == OBJECT and key[1] == target.major for key in database.permissions
    )


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


def chained(session: SessionState, target: Securable, permission: str) -> bool:
    """Whether the running module's owner owns the object: then only the module was checked.

    Dynamic SQL breaks the chain (its frame is no module). Between databases a chain holds only
    when both have DB_CHAINING on and the owners are one login ("Ownership chains" page).
    """
    if permission in BROKER_VERBS:
        if not value(session.engine, "ownership_chain_over_broker_verbs"):
            return False
    elif permission not in CHAINED:
        return False
    frames = session.frames
    program = frames[-1].program if frames else None
    if program is None or not program.object_id:
        return False
    source = program.database
    module = source.object_by_id(program.object_id)
    if module is None:
        return False
    owner = source.owner_of(module)
    if source is target.database:
        return bool(owner == target.owner)
    if not (source.options.get("db_chaining") and target.database.options.get("db_chaining")):
        return False
    sid = owner_sid(source, owner)
    return sid is not None and sid == owner_sid(target.database, target.owner)


def owner_sid(database: Database, principal: int) -> bytes | None:
    """Security identifier of the login behind an owner: dbo stands for the database's owner."""
    if principal == DBO:
        login = database.server.logins.get(database.owner.lower())
        return login.sid if login is not None else None
    found = database.principal(principal)
    return found.sid if found is not None and found.type == USER else None


# ---------------------------------------------------------------------- the server
def check_server(session: SessionState, permission: str) -> None:
    """Raise SqlError 300, then 297, unless the login has a server permission.

    VIEW SERVER PERFORMANCE STATE does where VIEW SERVER STATE is named (2022, pages of the DMVs).
    """
    if has_server_permission(session, permission) or (
        permission == VIEW_STATE and has_server_permission(session, PERFORMANCE_STATE)
    ):
        return
    raise followed(300, permission, "server", "master", by=SqlError(297), state=1)


def has_server_permission(session: SessionState, permission: str) -> bool:
    """Whether the session may; a user of one database (see ``tokens``) has only public's rights."""
    server = session.database.server
    return server is None or login_permitted(server, server_identity(session), permission)
