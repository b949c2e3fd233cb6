"""CREATE, ALTER and DROP of logins and server roles; server role membership.

Rules: CREATE LOGIN, ALTER LOGIN, DROP LOGIN, CREATE / ALTER / DROP SERVER ROLE and "Password
Policy" pages. SQL logins and logins of certificates and keys; Windows and external ones are refused
by name. CHECK_POLICY (ON when not said) asks for complexity as documented; expiration, MUST_CHANGE
and hashed passwords are refused. Nothing ever locks a login, so UNLOCK has nothing to do.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.options import word
from redial_broker.exec.principals import (
    CERTIFICATE_USER,
    KEY_USER,
    ROLE,
    Login,
    certificate_sid,
    login_sid,
    password_digest,
)
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_server_permission
from redial_broker.exec.server import Server
from redial_broker.exec.tokens import (
    SERVER_PRINCIPAL,
    is_sysadmin,
    login_permitted,
    server_identity,
    server_principals,
)

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

KEY_SOURCES = {"CERTIFICATE": CERTIFICATE_USER, "ASYMMETRIC KEY": KEY_USER}
"""What a login or user may be made from beside a password: type of its principal."""

_KINDS = (re.compile("[A-Z]"), re.compile("[a-z]"), re.compile("[0-9]"), re.compile("[^A-Za-z0-9]"))
SHORTEST_PASSWORD = 8


def server_of(session: SessionState) -> Server:
    """The instance's server part."""
    return session.database.server


def may_change_server(session: SessionState, permission: str) -> None:
    """Raise SqlError 15247 unless the login may."""
    if not has_server_permission(session, permission):
        raise SqlError(15247)


def check_password(name: str, password: str) -> None:
    """Complexity ("Password Policy" page): length, three of four kinds, not the login's name.

    Raises SqlError 15116 or 15118.
    """
    if len(password) < SHORTEST_PASSWORD:
        raise SqlError(15116)
    kinds = sum(bool(kind.search(password)) for kind in _KINDS)
    if kinds < 3 or (len(name) > 2 and name.lower() in password.lower()):
        raise SqlError(15118)


# ---------------------------------------------------------------------- logins
@compiles(ast.CreateLogin)
def create_login(node: ast.CreateLogin, context: Context) -> Run:
    """CREATE LOGIN name WITH PASSWORD = '...' [, options] | FROM CERTIFICATE | ASYMMETRIC KEY x."""
    if node.source not in {"", "PASSWORD", *KEY_SOURCES}:
        raise context.not_supported(node, f"CREATE LOGIN FROM {node.source}")
    settings = login_options(node.options, context)
    name = node.name.text

    def run(session: SessionState, variables: Values) -> None:
        check_length(name)
        may_change_server(session, "CREATE LOGIN")
        server, transaction = server_of(session), session.work()
        if node.source in KEY_SOURCES:
            add_key_login(session, node)
            return
        if name.lower() in server.logins:
            raise SqlError(15025, name)
        default = settings.get("DEFAULT_DATABASE", "master")
        server.database(default)
        policy, password = settings.get("CHECK_POLICY", True), settings.get("PASSWORD", "")
        if policy:
            check_password(name, password)
        sid = settings.get("SID")
        if sid is not None and any(x.sid == sid for x in server.logins.values()):
            raise SqlError(15433)
        server.create_login(transaction, name, password, default, sid=sid, policy=policy)

    return run


def add_key_login(session: SessionState, node: ast.CreateLogin) -> None:
    """A login of a certificate or key of master. Raises SqlError 15151, 15063."""
    server = server_of(session)
    wanted = cast("ast.Identifier", node.source_name).text
    key = server.databases["master"].keys.get((node.source, wanted.lower()))
    if key is None:
        raise SqlError(15151, "find", node.source.lower(), wanted)
    sid = certificate_sid(key.thumbprint)
    if any(login.sid == sid for login in server.logins.values()):
        raise SqlError(15063)
    server.add_login(
        session.work(), Login(server.next_login, node.name.text, sid, type=KEY_SOURCES[node.source])
    )


def login_options(options: list[ast.Option], context: Context) -> dict[str, Any]:
    """Options of CREATE and ALTER LOGIN by name; the ones without support are refused."""
    found: dict[str, Any] = {}
    for option in options:
        if option.name in {"PASSWORD", "DEFAULT_DATABASE", "NAME", "OLD_PASSWORD"}:
            read_text_option(option, context, found)
        elif option.name == "SID":
            if not isinstance(getattr(option.value, "value", None), bytes):
                raise context.fail(option, SqlError(102, word(option.value), aborts="batch"))
            found["SID"] = option.value.value
        elif option.name == "CHECK_POLICY":
            found["CHECK_POLICY"] = word(option.value).upper() == "ON"
        elif option.name == "CHECK_EXPIRATION":
            if word(option.value).upper() != "OFF":
                raise context.not_supported(option, f"CHECK_EXPIRATION = {word(option.value)}")
        elif option.name == "DEFAULT_LANGUAGE":
            if word(option.value).lower() not in {"us_english", "english"}:
                raise context.not_supported(option, f"language {word(option.value)}")
        else:
            raise context.not_supported(option, f"login option {option.name}")
    return found


def read_text_option(option: ast.Option, context: Context, found: dict[str, Any]) -> None:
    """PASSWORD with what may stand behind it, DEFAULT_DATABASE, NAME, OLD_PASSWORD."""
    if option.name == "PASSWORD" and (
        not isinstance(option.value, ast.Literal) or isinstance(option.value.value, bytes)
    ):
        raise context.not_supported(option, "a hashed password")
    for extra in option.arguments or ():
        if extra.name == "OLD_PASSWORD":
            found["OLD_PASSWORD"] = word(extra.value)
        elif extra.name != "UNLOCK":
            raise context.not_supported(extra, f"a password with {extra.name}")
    found[option.name] = word(option.value)


@compiles(ast.AlterLogin)
def alter_login(node: ast.AlterLogin, context: Context) -> Run:
    """ALTER LOGIN name ENABLE | DISABLE | WITH PASSWORD, DEFAULT_DATABASE, NAME, CHECK_POLICY."""
    settings = login_options(node.options, context)

    def run(session: SessionState, variables: Values) -> None:
        server = server_of(session)
        login = server.logins.get(node.name.text.lower())
        if login is None or login.type == ROLE or not may_alter_login(session, login, settings):
            raise SqlError(15151, "alter", "login", node.name.text)
        put_login(session, server, login, changed_login(server, login, node, settings))

    return run


def may_alter_login(session: SessionState, login: Login, settings: dict[str, Any]) -> bool:
    """ALTER ANY LOGIN or ALTER on it; a login its own password and defaults (ALTER LOGIN page).

    A member of sysadmin is changed by one of its own kind alone.
    """
    server, ids = server_of(session), server_identity(session)
    own = session.sandbox is None and session.login_name.lower() == login.name.lower()
    if own and "OLD_PASSWORD" in settings:
        return login.accepts(settings["OLD_PASSWORD"])
    if own and set(settings) == {"DEFAULT_DATABASE"}:
        return True
    if is_sysadmin(server, login) and not login_permitted(server, ids, "CONTROL SERVER"):
        return False
    return login_permitted(server, ids, "ALTER", SERVER_PRINCIPAL, login.id, "LOGIN")


def changed_login(
    server: Server, login: Login, node: ast.AlterLogin, settings: dict[str, Any]
) -> Login:
    """The login as the statement makes it. Raises SqlError 15025, 15116, 15118."""
    changed = login
    if node.enable is not None:
        changed = replace(changed, disabled=not node.enable)
    if "CHECK_POLICY" in settings:
        changed = replace(changed, policy=settings["CHECK_POLICY"])
    if "PASSWORD" in settings:
        if changed.policy:
            check_password(login.name, settings["PASSWORD"])
        changed = replace(changed, password=password_digest(login.sid, settings["PASSWORD"]))
    if "DEFAULT_DATABASE" in settings:
        server.database(settings["DEFAULT_DATABASE"])
        changed = replace(changed, default_database=settings["DEFAULT_DATABASE"])
    if "NAME" in settings:
        other = server.logins.get(settings["NAME"].lower())
        if other is not None and other.id != login.id:
            raise SqlError(15025, settings["NAME"])
        changed = replace(changed, name=settings["NAME"])
    return changed


def put_login(session: SessionState, server: Server, old: Login, new: Login) -> None:
    """Write a changed login or role, under another name when it has one now."""
    journal, transaction = session.engine.journal, session.work()
    if new.name.lower() != old.name.lower():
        journal.put(transaction, server, server.logins, old.name.lower(), MISSING)
        for database in server.databases.values():
            if database.owner.lower() == old.name.lower():
                journal.assign(transaction, database, "owner", new.name)
    journal.put(transaction, server, server.logins, new.name.lower(), new)
    server.bump(transaction)


def drop_login(session: SessionState, name: str) -> None:
    """DROP LOGIN; 15151, 15434 when it is connected, 15174, 15141, 15173 when it is needed."""
    server = server_of(session)
    login = server.logins.get(name.lower())
    if (
        login is None
        or login.type == ROLE
        or login.id == 1
        or not login_permitted(
            server, server_identity(session), "ALTER", SERVER_PRINCIPAL, login.id, "LOGIN"
        )
    ):
        raise SqlError(15151, "drop", "login", name)
    if any(x.original_login.lower() == name.lower() for x in server.sessions()):
        raise SqlError(15434, name)
    if any(d.owner.lower() == name.lower() for d in server.databases.values()):
        raise SqlError(15174, name)
    if any(
        x.type == ROLE and not x.fixed and x.id > 2 and x.owner == login.id
        for x in server.logins.values()
    ):
        raise SqlError(15141, "server role")
    drop_server_principal(session, server, login)


def drop_server_principal(session: SessionState, server: Server, login: Login) -> None:
    """Take a login or role out, with its memberships and permissions. Raises SqlError 15173."""
    if any(by == login.id for stated in server.permissions.values() for _, by in stated):
        raise SqlError(15173, login.name)
    journal, transaction = session.engine.journal, session.work()
    for key in [k for k in server.members if login.id in k]:
        journal.put(transaction, server, server.members, key, MISSING)
    for place in [
        k
        for k in server.permissions
        if k[3] == login.id or (k[0] == SERVER_PRINCIPAL and k[1] == login.id)
    ]:
        journal.put(transaction, server, server.permissions, place, MISSING)
    journal.put(transaction, server, server.logins, login.name.lower(), MISSING)
    server.bump(transaction)


# ---------------------------------------------------------------------- server roles
def create_server_role(node: ast.CreateRole) -> Run:
    """CREATE SERVER ROLE name [AUTHORIZATION login]."""
    name = node.name.text

    def run(session: SessionState, variables: Values) -> None:
        check_length(name)
        may_change_server(session, "CREATE SERVER ROLE")
        server = server_of(session)
        wanted = node.owner.text if node.owner is not None else session.login_name
        owner = server.logins.get(wanted.lower())
        if owner is None:
            raise SqlError(15151, "find", "login", wanted)
        number = server.next_login
        server.add_login(
            session.work(), Login(number, name, login_sid(name, number), type=ROLE, owner=owner.id)
        )

    return run


def alter_server_role(session: SessionState, node: ast.AlterRole, context: Context) -> None:
    """ALTER SERVER ROLE name ADD MEMBER | DROP MEMBER login or role, or WITH NAME = name."""
    server = server_of(session)
    role = find_server_role(session, node.name.text, "alter")
    if node.action == "NAME":
        if role.fixed:
            raise SqlError(15150, "alter", "server role", role.name)
        if node.argument.text.lower() in server.logins:
            raise SqlError(15025, node.argument.text)
        put_login(session, server, role, replace(role, name=node.argument.text))
        return
    change_server_member(session, role, node.argument.text, node.action == "ADD MEMBER")


def change_server_member(session: SessionState, role: Login, name: str, add: bool) -> None:
    """One member more or less. Raises SqlError 15151, 15405 for sa or a fixed role, 15413."""
    server = server_of(session)
    member = server.logins.get(name.lower())
    if member is None or member.name == "public":
        raise SqlError(15151, "add" if add else "drop", "server principal", name)
    if member.id == 1 or member.fixed:
        raise SqlError(15405, member.name)
    if add and (member.id == role.id or member.id in server_principals(server, role)):
        raise SqlError(15413)
    key = (role.id, member.id)
    if add or key in server.members:
        session.engine.journal.put(
            session.work(), server, server.members, key, True if add else MISSING
        )
        server.bump(session.work())


def find_server_role(session: SessionState, name: str, verb: str) -> Login:
    """A server role whose members the session may change (ALTER SERVER ROLE page).

    A fixed role: as a member of it, or of sysadmin; another: ALTER ANY SERVER ROLE or ALTER on it.
    Raises SqlError 15151.
    """
    server, ids = server_of(session), server_identity(session)
    role = server.logins.get(name.lower())
    if role is None or role.type != ROLE or role.name == "public":
        raise SqlError(15151, verb, "server role", name)
    allowed = (
        login_permitted(server, ids, "CONTROL SERVER")
        if role.fixed
        else login_permitted(server, ids, "ALTER", SERVER_PRINCIPAL, role.id, "SERVER ROLE")
    )
    own = (
        not role.fixed
        and server.logins.get(session.login_name.lower()) is not None
        and role.owner in ids
    )
    if not (allowed or own or (role.fixed and role.id in ids)):
        raise SqlError(15151, verb, "server role", name)
    return role


def drop_server_role(session: SessionState, name: str) -> None:
    """DROP SERVER ROLE. Raises SqlError 15151, 15150 for a fixed one, 15144 with members."""
    server = server_of(session)
    role = server.logins.get(name.lower())
    if role is not None and role.type == ROLE and (role.fixed or role.name == "public"):
        raise SqlError(15150, "drop", "server role", role.name)
    role = find_server_role(session, name, "drop")
    if any(outer == role.id for outer, _ in server.members):
        raise SqlError(15144)
    drop_server_principal(session, server, role)
