"""CREATE, ALTER and DROP of logins, users and roles; role membership.

Rules: CREATE LOGIN, CREATE USER, CREATE ROLE and ALTER ROLE pages. Only SQL logins exist here:
Windows, certificate and external ones are refused by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.journal import MISSING
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.database import Database
from harness.broker.exec.ddl.naming import check_length
from harness.broker.exec.ddl.options import word
from harness.broker.exec.principals import (
    DBO,
    SERVER_ROLES,
    Login,
    Principal,
    password_digest,
)
from harness.broker.exec.security import PRINCIPAL, has_permission, has_server_permission
from harness.broker.exec.server import Server
from harness.tsql import ast

IGNORABLE_LOGIN_OPTIONS = {"CHECK_POLICY": "OFF", "CHECK_EXPIRATION": "OFF"}
"""A policy that is off is what the embedded broker has; ON is refused."""


def server_of(s: Any) -> Server:
    """The instance's server part."""
    return s.database.server


def may_change_server(s: Any, permission: str) -> None:
    """Raise SqlError 15247 unless the login may."""
    if not has_server_permission(s, permission):
        raise SqlError(15247)


# ---------------------------------------------------------------------- logins
@compiles(ast.CreateLogin)
def create_login(node: ast.CreateLogin, context: Context) -> Run:
    """CREATE LOGIN name WITH PASSWORD = '...' [, DEFAULT_DATABASE = ..., CHECK_POLICY = OFF]."""
    if node.source not in {"", "PASSWORD"}:
        raise context.not_supported(node, f"CREATE LOGIN FROM {node.source}")
    settings = login_options(node.options, context)

    def run(s: Any, v: list) -> None:
        may_change_server(s, "ALTER ANY LOGIN")
        server, transaction = server_of(s), s.work()
        default = settings.get("DEFAULT_DATABASE", "master")
        server.database(default)
        server.create_login(transaction, node.name.text, settings.get("PASSWORD", ""), default,
                            sid=settings.get("SID"))

    return run


def login_options(options: list[ast.Option], context: Context) -> dict[str, Any]:
    """Options of CREATE and ALTER LOGIN by name; the ones without support are refused."""
    found: dict[str, Any] = {}
    for option in options:
        if option.name in {"PASSWORD", "DEFAULT_DATABASE", "NAME", "OLD_PASSWORD"}:
            if option.name == "PASSWORD" and not isinstance(option.value, ast.Literal):
                raise context.not_supported(option, "a password given as a hash or with options")
            if option.name == "PASSWORD" and isinstance(option.value.value, bytes):
                raise context.not_supported(option, "a hashed password")
            found[option.name] = word(option.value)
        elif option.name == "SID":
            found["SID"] = option.value.value
        elif option.name in IGNORABLE_LOGIN_OPTIONS:
            if word(option.value).upper() != IGNORABLE_LOGIN_OPTIONS[option.name]:
                raise context.not_supported(option, f"{option.name} = {word(option.value)}")
        elif option.name == "DEFAULT_LANGUAGE":
            if word(option.value).lower() not in {"us_english", "english"}:
                raise context.not_supported(option, f"language {word(option.value)}")
        else:
            raise context.not_supported(option, f"login option {option.name}")
    return found


@compiles(ast.AlterLogin)
def alter_login(node: ast.AlterLogin, context: Context) -> Run:
    """ALTER LOGIN name ENABLE | DISABLE | WITH PASSWORD, DEFAULT_DATABASE, NAME."""
    settings = login_options(node.options, context)

    def run(s: Any, v: list) -> None:
        server = server_of(s)
        login = server.logins.get(node.name.text.lower())
        own = s.login_name.lower() == node.name.text.lower() and "OLD_PASSWORD" in settings
        if login is None or not (own or has_server_permission(s, "ALTER ANY LOGIN")):
            raise SqlError(15151, "alter", "login", node.name.text)
        if own and not login.accepts(settings["OLD_PASSWORD"]):
            raise SqlError(15151, "alter", "login", node.name.text)
        changed = login
        if node.enable is not None:
            changed = replace(changed, disabled=not node.enable)
        if "NAME" in settings:
            raise context.not_supported(node, "renaming a login")
        if "PASSWORD" in settings:
            changed = replace(changed, password=password_digest(login.name, settings["PASSWORD"]))
        if "DEFAULT_DATABASE" in settings:
            server.database(settings["DEFAULT_DATABASE"])
            changed = replace(changed, default_database=settings["DEFAULT_DATABASE"])
        s.engine.journal.put(s.work(), server, server.logins, login.name.lower(), changed)

    return run


def drop_login(s: Any, name: str) -> None:
    """DROP LOGIN; 15151 when there is none, 15434 when it is connected."""
    may_change_server(s, "ALTER ANY LOGIN")
    server = server_of(s)
    login = server.logins.get(name.lower())
    if login is None or login.id == 1:
        raise SqlError(15151, "drop", "login", name)
    if any(x.login_name.lower() == name.lower() for x in server.sessions()):
        raise SqlError(15434, name)
    if any(d.owner.lower() == name.lower() for d in server.databases.values()):
        raise SqlError(15174, name)
    s.engine.journal.put(s.work(), server, server.logins, name.lower(), MISSING)


def alter_server_role(s: Any, node: ast.AlterRole, context: Context) -> None:
    """ALTER SERVER ROLE sysadmin ADD | DROP MEMBER login."""
    role = node.name.text.lower()
    if role not in SERVER_ROLES or role == "public":
        raise SqlError(15151, "alter", "server role", node.name.text)
    may_change_server(s, "ALTER ANY SERVER ROLE")
    server = server_of(s)
    login: Login | None = server.logins.get(node.argument.text.lower())
    if login is None:
        raise SqlError(15151, "find", "login", node.argument.text)
    if node.action == "ADD MEMBER":
        roles = login.roles | {role}
    elif node.action == "DROP MEMBER":
        roles = login.roles - {role}
    else:
        raise context.not_supported(node, f"ALTER SERVER ROLE {node.action}")
    s.engine.journal.put(s.work(), server, server.logins, login.name.lower(),
                         replace(login, roles=roles))


# ---------------------------------------------------------------------- users
@compiles(ast.CreateUser)
def create_user(node: ast.CreateUser, context: Context) -> Run:
    """CREATE USER name [FOR LOGIN login | WITHOUT LOGIN] [WITH DEFAULT_SCHEMA = schema]."""
    if node.source not in {"", "LOGIN", "WITHOUT LOGIN"}:
        raise context.not_supported(node, f"CREATE USER from {node.source}")
    schema = user_options(node.options, context).get("DEFAULT_SCHEMA", "dbo")
    name = node.name.text

    def run(s: Any, v: list) -> None:
        check_length(name)
        database = s.database
        require(s, "ALTER ANY USER", database)
        if name.lower() in database.principals:
            raise SqlError(15023, name)
        sid, login_name = None, ""
        if node.source != "WITHOUT LOGIN":
            wanted = node.source_name.text if node.source_name is not None else name
            login = server_of(s).logins.get(wanted.lower())
            if login is None:
                raise SqlError(15007, wanted)
            if any(u.login == wanted.lower() for u in database.principals.values()):
                raise SqlError(15063)
            sid, login_name = login.sid, wanted.lower()
        number = database.next_number("next_principal")
        put_principal(s, database, Principal(number, name, "S", schema, sid, None, login_name))
        # CREATE USER gives CONNECT (CREATE USER page).
        s.engine.journal.put(s.work(), database, database.permissions,
                             (0, 0, 0, "CONNECT", number), ("G", DBO))

    return run


def user_options(options: list[ast.Option], context: Context) -> dict[str, str]:
    """Options of CREATE and ALTER USER by name."""
    found: dict[str, str] = {}
    for option in options:
        if option.name not in {"DEFAULT_SCHEMA", "NAME", "LOGIN"}:
            raise context.not_supported(option, f"user option {option.name}")
        found[option.name] = word(option.value)
    return found


@compiles(ast.AlterUser)
def alter_user(node: ast.AlterUser, context: Context) -> Run:
    """ALTER USER name WITH DEFAULT_SCHEMA, NAME or LOGIN."""
    settings = user_options(node.options, context)

    def run(s: Any, v: list) -> None:
        database = s.database
        user = database.principals.get(node.name.text.lower())
        if user is None or user.type != "S" or not has_permission(s, "ALTER ANY USER", database):
            raise SqlError(15151, "alter", "user", node.name.text)
        changed = user
        if "DEFAULT_SCHEMA" in settings:
            changed = replace(changed, default_schema=settings["DEFAULT_SCHEMA"])
        if "LOGIN" in settings:
            login = server_of(s).logins.get(settings["LOGIN"].lower())
            if login is None:
                raise SqlError(15007, settings["LOGIN"])
            changed = replace(changed, sid=login.sid, login=login.name.lower())
        if "NAME" in settings:
            rename_principal(s, database, user, settings["NAME"])
            changed = replace(changed, name=settings["NAME"])
        put_principal(s, database, changed)

    return run


def rename_principal(s: Any, database: Database, principal: Principal, name: str) -> None:
    """Free the old name and check the new one. Raises SqlError 15023."""
    taken = database.principals.get(name.lower())
    if taken is not None and taken.id != principal.id:
        raise SqlError(15023, name)
    s.engine.journal.put(s.work(), database, database.principals, principal.name.lower(), MISSING)


def put_principal(s: Any, database: Database, principal: Principal) -> None:
    """Add or change a user or role."""
    transaction = s.work()
    s.engine.journal.put(transaction, database, database.principals, principal.name.lower(),
                         principal)
    database.bump(transaction)


def require(s: Any, permission: str, database: Database) -> None:
    """Raise SqlError 15247 unless the user has a database permission."""
    if not has_permission(s, permission, database):
        raise SqlError(15247)


def drop_principal(s: Any, kind: str, name: str, if_exists: bool) -> None:
    """DROP USER and DROP ROLE. Raises 15151, 15138 (owns a schema), 15144 (has members)."""
    database = s.database
    found = database.principals.get(name.lower())
    wanted = "S" if kind == "user" else "R"
    allowed = has_permission(s, f"ALTER ANY {kind.upper()}", database)
    if found is None or found.type != wanted or not allowed:
        if if_exists and found is None:
            return
        raise SqlError(15151, "drop", kind, name)
    if found.id <= 4 or found.fixed:
        raise SqlError(15150 if kind == "user" else 15151, "drop", kind, name)
    if any(schema.owner == found.id for schema in database.schemas.values()):
        raise SqlError(15138)
    if found.id in database.owners.values():
        raise SqlError(15183)
    if kind == "role" and any(role == found.id for role, _ in database.members):
        raise SqlError(15144)
    journal, transaction = s.engine.journal, s.work()
    for key in [k for k in database.members if found.id in k]:
        journal.put(transaction, database, database.members, key, MISSING)
    for key in [k for k in database.permissions if k[4] == found.id]:
        journal.put(transaction, database, database.permissions, key, MISSING)
    database.forget(transaction, PRINCIPAL, found.id)
    journal.put(transaction, database, database.principals, name.lower(), MISSING)
    database.bump(transaction)


# ---------------------------------------------------------------------- roles
@compiles(ast.CreateRole)
def create_role(node: ast.CreateRole, context: Context) -> Run:
    """CREATE ROLE name [AUTHORIZATION owner]."""
    if node.server:
        raise context.not_supported(node, "CREATE SERVER ROLE")
    name = node.name.text

    def run(s: Any, v: list) -> None:
        check_length(name)
        database = s.database
        require(s, "CREATE ROLE", database)
        if name.lower() in database.principals:
            raise SqlError(15023, name)
        owner = find_owner(database, node.owner.text) if node.owner else s.user.id
        number = database.next_number("next_principal")
        put_principal(s, database, Principal(number, name, "R", None, None, owner))

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

    def run(s: Any, v: list) -> None:
        if node.server:
            alter_server_role(s, node, context)
        elif node.action == "NAME":
            database = s.database
            role = find_role(s, database, node.name.text)
            rename_principal(s, database, role, node.argument.text)
            put_principal(s, database, replace(role, name=node.argument.text))
        else:
            change_member(s, node.name.text, node.argument.text, node.action == "ADD MEMBER")

    return run


def find_role(s: Any, database: Database, name: str) -> Principal:
    """A role the user may alter. Raises SqlError 15151."""
    role = database.principals.get(name.lower())
    allowed = role is not None and role.type == "R" and (
        has_permission(s, "ALTER ANY ROLE", database) or has_permission(s, "ALTER", role)
        or role.owner == s.user.id)
    if role is not None and role.fixed and role.name == "db_owner" and allowed:
        allowed = has_permission(s, "CONTROL", database)
    if not allowed or role.name == "public":  # type: ignore[union-attr]
        raise SqlError(15151, "alter", "role", name)
    return role  # type: ignore[return-value]


def change_member(s: Any, role_name: str, member_name: str, add: bool) -> None:
    """Add a member to a role or take it out. Raises SqlError 15151, 15405, 15413."""
    database = s.database
    role = find_role(s, database, role_name)
    member = database.principals.get(member_name.lower())
    if member is None or member.id == 0:
        raise SqlError(15151, "add" if add else "drop", "principal", member_name)
    if member.id == DBO:
        raise SqlError(15405, "dbo")
    if add and (member.id == role.id or inside(database, role.id, member.id)):
        raise SqlError(15413)
    transaction = s.work()
    key = (role.id, member.id)
    if add or key in database.members:
        s.engine.journal.put(transaction, database, database.members, key,
                             True if add else MISSING)
    database.bump(transaction)


def inside(database: Database, member: int, role: int) -> bool:
    """Whether ``member`` is already in ``role``, directly or not."""
    return any(inner == member and (outer == role or inside(database, outer, role))
               for outer, inner in database.members)
