"""CREATE, ALTER and DROP of users and roles of a database; role membership.

Rules: CREATE USER, ALTER USER, CREATE ROLE and ALTER ROLE pages. Users of SQL logins, of
certificates and keys, and without login; contained users (a password) and external ones are refused
by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.owners import DBO
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.logins import (
    KEY_SOURCES,
    alter_server_role,
    create_server_role,
    server_of,
)
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.options import word
from redial_broker.exec.principals import (
    FIXED_ROLES,
    GUEST,
    ROLE,
    USER,
    Principal,
    certificate_sid,
    loginless_sid,
)
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import PRINCIPAL, has_permission
from redial_broker.exec.tokens import principals_of

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_DATABASE_USERS = frozenset({"sys", "information_schema"})


# ---------------------------------------------------------------------- users
@compiles(ast.CreateUser)
def create_user(node: ast.CreateUser, context: Context) -> Run:
    """CREATE USER name [FOR LOGIN | CERTIFICATE | ASYMMETRIC KEY x | WITHOUT LOGIN] [WITH ...]."""
    if node.source not in {"", "LOGIN", "WITHOUT LOGIN", *KEY_SOURCES}:
        raise context.not_supported(node, f"CREATE USER from {node.source}")
    if "\\" in node.name.text:
        raise context.not_supported(node, "a Windows user or group")
    schema = user_options(node.options, context).get("DEFAULT_SCHEMA")
    if schema is not None and node.source in KEY_SOURCES:
        raise context.fail(node, SqlError(15259))
    name = node.name.text

    def run(session: SessionState, variables: Values) -> None:
        check_length(name)
        database = session.database
        require(session, "CREATE USER", database)
        if name.lower() == "guest":
            raise SqlError(15062)
        if name.lower() in database.principals:
            raise SqlError(15023, name)
        number = database.next_number("next_principal")
        type_, sid, login_name = user_source(session, node, number)
        if any(user.sid == sid for user in database.principals.values()):
            raise SqlError(15063)
        default = None if type_ != USER else schema or "dbo"
        put_principal(
            session, database, Principal(number, name, type_, default, sid, None, login_name)
        )
        # CREATE USER gives CONNECT (CREATE USER page).
        session.engine.journal.put(
            session.work(),
            database,
            database.permissions,
            (0, 0, 0, "CONNECT", number),
            (("G", DBO),),
        )

    return run


def user_source(session: SessionState, node: ast.CreateUser, number: int) -> tuple[str, bytes, str]:
    """(type, security identifier, login name) of a new user. Raises SqlError 15007, 15151."""
    name = node.name.text
    wanted = node.source_name.text if node.source_name is not None else name
    if node.source == "WITHOUT LOGIN":
        return USER, loginless_sid(session.database.name, name, number), ""
    if node.source in KEY_SOURCES:
        key = session.database.keys.get((node.source, wanted.lower()))
        if key is None:
            raise SqlError(15151, "find", node.source.lower(), wanted)
        return KEY_SOURCES[node.source], certificate_sid(key.thumbprint), ""
    login = server_of(session).logins.get(wanted.lower())
    if login is None or login.type == ROLE:
        raise SqlError(15007, wanted)
    return login.type, login.sid, wanted.lower()


def user_options(options: list[ast.Option], context: Context) -> dict[str, str]:
    """Options of CREATE and ALTER USER by name."""
    found: dict[str, str] = {}
    for option in options:
        if option.name == "PASSWORD":
            raise context.not_supported(option, "a contained user (WITH PASSWORD)")
        if option.name not in {"DEFAULT_SCHEMA", "NAME", "LOGIN"}:
            raise context.not_supported(option, f"user option {option.name}")
        found[option.name] = word(option.value)
    return found


@compiles(ast.AlterUser)
def alter_user(node: ast.AlterUser, context: Context) -> Run:
    """ALTER USER name WITH DEFAULT_SCHEMA, NAME or LOGIN."""
    settings = user_options(node.options, context)

    def run(session: SessionState, variables: Values) -> None:
        database = session.database
        user = database.principals.get(node.name.text.lower())
        if user is None or user.type == ROLE or not may_alter_user(session, user, settings):
            raise SqlError(15151, "alter", "user", node.name.text)
        if user.id <= 4:
            raise SqlError(15150, "alter", "user", user.name)
        changed = user
        if "DEFAULT_SCHEMA" in settings:
            changed = replace(changed, default_schema=settings["DEFAULT_SCHEMA"])
        if "LOGIN" in settings:
            if not user.login:
                raise SqlError(33016)
            login = server_of(session).logins.get(settings["LOGIN"].lower())
            if login is None or login.type == ROLE:
                raise SqlError(15007, settings["LOGIN"])
            if any(u.sid == login.sid and u.id != user.id for u in database.principals.values()):
                raise SqlError(15063)
            changed = replace(changed, sid=login.sid, login=login.name.lower())
        if "NAME" in settings:
            rename_principal(session, database, user, settings["NAME"])
            changed = replace(changed, name=settings["NAME"])
        put_principal(session, database, changed)

    return run


def may_alter_user(session: SessionState, user: Principal, settings: dict[str, str]) -> bool:
    """What each setting asks for (ALTER USER page).

    A default schema: ALTER on the user, or to be him. A name: ALTER ANY USER, and CONTROL on the
    database where the user has it. A login: CONTROL on the database.
    """
    database = session.database
    if has_permission(session, "CONTROL", database):
        return True
    if "LOGIN" in settings or ("NAME" in settings and user_controls(database, user)):
        return False
    if "NAME" in settings and not has_permission(session, "ALTER ANY USER", database):
        return False
    itself = session.user is not None and session.user.id == user.id
    return "DEFAULT_SCHEMA" not in settings or itself or has_permission(session, "ALTER", user)


def user_controls(database: Database, user: Principal) -> bool:
    """Whether a user has CONTROL on the database: dbo, db_owner, or granted to it or a role of its."""
    mine = principals_of(database, user)
    return (
        user.id == DBO
        or FIXED_ROLES["db_owner"] in mine
        or any(
            state in "GW"
            for each in mine
            for state, _ in database.permissions.get((0, 0, 0, "CONTROL", each), ())
        )
    )


def rename_principal(
    session: SessionState, database: Database, principal: Principal, name: str
) -> None:
    """Free the old name and check the new one. Raises SqlError 15023."""
    taken = database.principals.get(name.lower())
    if taken is not None and taken.id != principal.id:
        raise SqlError(15023, name)
    session.engine.journal.put(
        session.work(), database, database.principals, principal.name.lower(), MISSING
    )


def put_principal(session: SessionState, database: Database, principal: Principal) -> None:
    """Add or change a user or role."""
    transaction = session.work()
    session.engine.journal.put(
        transaction, database, database.principals, principal.name.lower(), principal
    )
    database.bump(transaction)


def require(session: SessionState, permission: str, database: Database) -> None:
    """Raise SqlError 15247 unless the user has a database permission."""
    if not has_permission(session, permission, database):
        raise SqlError(15247)


def drop_principal(session: SessionState, kind: str, name: str, if_exists: bool) -> None:
    """DROP USER and DROP ROLE. Raises SqlError 15151, 15150 and why it cannot go."""
    database = session.database
    found = database.principals.get(name.lower())
    allowed = (
        found is not None
        and (found.type == ROLE) == (kind == "role")
        and (
            has_permission(session, f"ALTER ANY {kind.upper()}", database)
            or (kind == "role" and has_permission(session, "CONTROL", found))
        )
    )
    if found is None or not allowed:
        if if_exists and found is None:
            return
        raise SqlError(15151, "drop", kind, name)
    if found.id == GUEST:
        raise SqlError(15539, "guest")
    if found.id <= 4 or found.fixed:
        raise SqlError(15150, "drop", kind, name)
    refuse_needed(database, found)
    journal, transaction = session.engine.journal, session.work()
    for key in [k for k in database.members if found.id in k]:
        journal.put(transaction, database, database.members, key, MISSING)
    for key in [k for k in database.permissions if k[4] == found.id]:
        journal.put(transaction, database, database.permissions, key, MISSING)
    database.forget(transaction, PRINCIPAL, found.id)
    journal.put(transaction, database, database.principals, name.lower(), MISSING)
    database.bump(transaction)


def refuse_needed(database: Database, found: Principal) -> None:
    """Raise SqlError 15138, 15183, 15421, 15144, 15284 or 15136 for a principal in use."""
    if any(schema.owner == found.id for schema in database.schemas.values()):
        raise SqlError(15138, "schema")
    broker = database.broker
    for mapping, what in (
        ("services", "service"),
        ("contracts", "contract"),
        ("message_types", "message type"),
        ("routes", "route"),
    ):
        if any(item.owner == found.id for item in getattr(broker, mapping, {}).values()):
            raise SqlError(15138, what)
    if any(key.owner == found.id for key in database.keys.values()):
        raise SqlError(15138, "certificate")
    if found.id in database.owners.values():
        raise SqlError(15183)
    if any(p.type == ROLE and p.owner == found.id for p in database.principals.values()):
        raise SqlError(15421)
    if found.type == ROLE and any(role == found.id for role, _ in database.members):
        raise SqlError(15144)
    if any(by == found.id for stated in database.permissions.values() for _, by in stated):
        raise SqlError(15284)
    if any(getattr(item, "execute_as", None) == found.id for item in database.objects.values()):
        raise SqlError(15136)


# ---------------------------------------------------------------------- roles
@compiles(ast.CreateRole)
def create_role(node: ast.CreateRole, context: Context) -> Run:
    """CREATE ROLE name [AUTHORIZATION owner]."""
    if node.server:
        return create_server_role(node)
    name = node.name.text

    def run(session: SessionState, variables: Values) -> None:
        check_length(name)
        database = session.database
        require(session, "CREATE ROLE", database)
        if name.lower() in database.principals:
            raise SqlError(15023, name)
        user = cast("Principal", session.user)
        owner = find_owner(database, node.owner.text) if node.owner else user.id
        number = database.next_number("next_principal")
        put_principal(session, database, Principal(number, name, "R", None, None, owner))

    return run


def find_owner(database: Database, name: str) -> int:
    """Id of the principal an AUTHORIZATION clause names. Raises SqlError 15151."""
    found = database.principals.get(name.lower())
    if found is None:
        raise SqlError(15151, "find", "principal", name)
    return found.id


@compiles(ast.AlterRole)
def alter_role(node: ast.AlterRole, context: Context) -> Run:
    """ALTER ROLE name ADD MEMBER | DROP MEMBER principal, or WITH NAME = name."""

    def run(session: SessionState, variables: Values) -> None:
        if node.server:
            alter_server_role(session, node, context)
        elif node.action == "NAME":
            database = session.database
            role = find_role(session, database, node.name.text)
            if role.fixed:
                raise SqlError(15150, "alter", "role", role.name)
            rename_principal(session, database, role, node.argument.text)
            put_principal(session, database, replace(role, name=node.argument.text))
        else:
            change_member(session, node.name.text, node.argument.text, node.action == "ADD MEMBER")

    return run


def find_role(session: SessionState, database: Database, name: str) -> Principal:
    """A role the user may alter: ALTER ANY ROLE, or ALTER on it; a fixed one as db_owner.

    Raises SqlError 15151, 15081 for public ("Database-level roles" and ALTER ROLE pages).
    """
    role = database.principals.get(name.lower())
    if role is None or role.type != ROLE:
        raise SqlError(15151, "alter", "role", name)
    if role.id == 0:
        raise SqlError(15081)
    permission = "CONTROL" if role.fixed else "ALTER ANY ROLE"
    if not has_permission(session, permission, database) and (
        role.fixed or not has_permission(session, "ALTER", role)
    ):
        raise SqlError(15151, "alter", "role", name)
    return role


def change_member(session: SessionState, role_name: str, member_name: str, add: bool) -> None:
    """Add a member to a role or take it out. Raises SqlError 15151, 15405, 15413."""
    database = session.database
    role = find_role(session, database, role_name)
    member = database.principals.get(member_name.lower())
    if member is None or member.id == 0:
        raise SqlError(15151, "add" if add else "drop", "principal", member_name)
    if member.id == DBO or member.fixed or member_name.lower() in _DATABASE_USERS:
        raise SqlError(15405, member.name)
    if add and (member.id == role.id or member.id in principals_of(database, role)):
        raise SqlError(15413)
    transaction = session.work()
    key = (role.id, member.id)
    if add or key in database.members:
        session.engine.journal.put(
            transaction, database, database.members, key, True if add else MISSING
        )
    database.bump(transaction)
