"""GRANT, DENY, REVOKE and ALTER AUTHORIZATION.

Rules: GRANT, DENY and REVOKE pages, "Permissions" page for what applies to what. Grant chains are
not followed: CASCADE is refused where it would matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.journal import MISSING, Part
from harness.broker.engine.storage import Table
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.database import Database
from harness.broker.exec.objects import Module, Sequence
from harness.broker.exec.principals import DBO
from harness.broker.exec.security import (
    CONTRACT,
    DATABASE,
    MESSAGE_TYPE,
    OBJECT,
    PRINCIPAL,
    ROUTE,
    SCHEMA,
    SERVICE,
    TYPE,
    Securable,
    has_permission,
    has_server_permission,
    securable,
)
from harness.tsql import ast

_ANY = ("CONTROL", "ALTER", "TAKE OWNERSHIP", "VIEW DEFINITION", "REFERENCES")
APPLICABLE = {
    OBJECT: ("SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "RECEIVE", "VIEW CHANGE TRACKING",
             "UNMASK", *_ANY),
    SCHEMA: ("SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "CREATE SEQUENCE",
             "VIEW CHANGE TRACKING", "UNMASK", *_ANY),
    PRINCIPAL: ("IMPERSONATE", "CONTROL", "ALTER", "VIEW DEFINITION", "TAKE OWNERSHIP"),
    TYPE: ("EXECUTE", "CONTROL", "REFERENCES", "TAKE OWNERSHIP", "VIEW DEFINITION"),
    MESSAGE_TYPE: _ANY,
    CONTRACT: _ANY,
    SERVICE: ("SEND", "CONTROL", "ALTER", "TAKE OWNERSHIP", "VIEW DEFINITION"),
    ROUTE: ("CONTROL", "ALTER", "TAKE OWNERSHIP", "VIEW DEFINITION"),
}
"""Permissions that may be given per class of securable."""

DATABASE_PERMISSIONS = frozenset({
    "CONNECT", "CONTROL", "ALTER", "SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "REFERENCES",
    "VIEW DEFINITION", "VIEW DATABASE STATE", "TAKE OWNERSHIP", "CREATE TABLE", "CREATE VIEW",
    "CREATE PROCEDURE", "CREATE FUNCTION", "CREATE TYPE", "CREATE SCHEMA", "CREATE ROLE",
    "CREATE QUEUE", "CREATE SERVICE", "CREATE CONTRACT", "CREATE MESSAGE TYPE", "CREATE ROUTE",
    "CREATE REMOTE SERVICE BINDING", "CREATE SYNONYM", "CREATE DEFAULT", "CREATE RULE",
    "CREATE ASSEMBLY", "ALTER ANY SCHEMA", "ALTER ANY USER", "ALTER ANY ROLE",
    "ALTER ANY MESSAGE TYPE", "ALTER ANY CONTRACT", "ALTER ANY SERVICE", "ALTER ANY ROUTE",
    "ALTER ANY REMOTE SERVICE BINDING", "BACKUP DATABASE", "BACKUP LOG", "CHECKPOINT", "SHOWPLAN",
    "SUBSCRIBE QUERY NOTIFICATIONS", "UNMASK", "AUTHENTICATE",
})
SERVER_PERMISSIONS = frozenset({
    "VIEW SERVER STATE", "CONTROL SERVER", "ALTER ANY LOGIN", "CREATE ANY DATABASE",
    "ALTER ANY CONNECTION", "VIEW ANY DATABASE", "VIEW ANY DEFINITION", "ALTER TRACE",
    "ALTER ANY SERVER ROLE", "ALTER ANY DATABASE", "CONNECT SQL",
})
_SHORT = {"ALL": None, "ALL PRIVILEGES": None, "EXEC": "EXECUTE"}
_BROKER_KINDS = {
    "SERVICE": (SERVICE, "services"), "CONTRACT": (CONTRACT, "contracts"),
    "MESSAGE TYPE": (MESSAGE_TYPE, "message_types"), "ROUTE": (ROUTE, "routes"),
}


@compiles(ast.Permission)
def permission(node: ast.Permission, context: Context) -> Run:
    """GRANT | DENY | REVOKE permissions [ON securable] TO | FROM principals."""
    if node.grantor is not None:
        raise context.not_supported(node, "AS grantor")
    names: list[str] = []
    for item in node.permissions:
        name = _SHORT.get(item.name, item.name)
        if name is None:
            raise context.not_supported(item, f"{node.verb} {item.name}")
        if item.columns:
            raise context.not_supported(item, "permissions on columns")
        names.append(name)

    def run(s: Any, v: list) -> None:
        if node.securable is None and set(names) <= SERVER_PERMISSIONS - DATABASE_PERMISSIONS:
            change_server_permissions(s, node, names)
            return
        target = find_securable(s, node.securable, context)
        check_applicable(target, names)
        if not may_grant(s, target):
            raise SqlError(15151, "find", class_word(target), target.name)
        for principal in node.principals:
            grantee = s.database.principals.get(principal.text.lower())
            if grantee is None:
                raise SqlError(15151, "find", "user", principal.text)
            if grantee.id in {DBO, s.user.id, target.owner} or grantee.fixed:
                raise SqlError(4617 if grantee.fixed else 4624)
            for name in names:
                state_permission(s, node, target, name, grantee.id)
        s.database.bump(s.work())

    return run


def state_permission(s: Any, node: ast.Permission, target: Securable, name: str,
                     grantee: int) -> None:
    """One permission of one principal."""
    database = target.database
    key = (target.class_, target.major, 0, name, grantee)
    journal, transaction = s.engine.journal, s.work()
    old = database.permissions.get(key)
    if node.verb == "REVOKE":
        if old is None:
            return
        value: Any = ("G", old[1]) if node.grant_option and old[0] == "W" else MISSING
    elif node.verb == "DENY":
        value = ("D", s.user.id)
    else:
        value = ("W" if node.grant_option else "G", s.user.id)
    journal.put(transaction, database, database.permissions, key, value)


def check_applicable(target: Securable, names: list[str]) -> None:
    """Raise SqlError 102 or 4621 for a permission that does not exist for the class."""
    allowed = DATABASE_PERMISSIONS if target.class_ == DATABASE else APPLICABLE[target.class_]
    for name in names:
        if name not in allowed:
            raise SqlError(4621) if target.class_ == DATABASE else SqlError(4606, name)


def may_grant(s: Any, target: Securable) -> bool:
    """The owner, whoever has CONTROL, and db_securityadmin may grant."""
    return has_permission(s, "CONTROL", target) or s.user.id == target.owner


def class_word(target: Securable) -> str:
    """A class as error texts call it."""
    return {OBJECT: "object", SCHEMA: "schema", SERVICE: "service", CONTRACT: "contract",
            MESSAGE_TYPE: "message type", TYPE: "type", PRINCIPAL: "user",
            ROUTE: "route"}.get(target.class_, "database")


def find_securable(s: Any, node: ast.Securable | None, context: Context) -> Securable:
    """What ON names. Raises SqlError 15151."""
    database: Database = s.database
    if node is None:
        return securable(database, database)
    kind, name = node.kind, node.name.name
    found: Any = None
    if kind in {None, "OBJECT"}:
        found = database.resolve(node.name.schema, name, s)
        kind = "object"
    elif kind == "SCHEMA":
        found = database.schemas.get(name.lower())
    elif kind == "DATABASE":
        found = database if database.name.lower() == name.lower() else None
    elif kind == "TYPE":
        found = database.resolve_type(node.name.schema, name, s)
    elif kind in {"USER", "ROLE"}:
        found = database.principals.get(name.lower())
    elif kind in _BROKER_KINDS:
        # Names of broker objects are compared byte by byte.
        found = getattr(database.broker, _BROKER_KINDS[kind][1]).get(name)
    else:
        raise context.not_supported(node, f"permissions on {kind}")
    if found is None:
        raise SqlError(15151, "find", kind.lower(), name)
    return securable(found, database)


def change_server_permissions(s: Any, node: ast.Permission, names: list[str]) -> None:
    """GRANT | DENY | REVOKE of server permissions: in master, by who controls the server."""
    if s.database.name.lower() != "master":
        raise SqlError(4621)
    if not has_server_permission(s, "CONTROL SERVER"):
        raise SqlError(4613)
    server, transaction = s.database.server, s.work()
    for principal in node.principals:
        login = server.logins.get(principal.text.lower())
        if login is None:
            raise SqlError(15151, "find", "login", principal.text)
        for name in names:
            state: Any = {"GRANT": "W" if node.grant_option else "G", "DENY": "D",
                          "REVOKE": MISSING}[node.verb]
            s.engine.journal.put(transaction, server, server.permissions, (name, login.id), state)


# ---------------------------------------------------------------------- ALTER AUTHORIZATION
@compiles(ast.AlterAuthorization)
def alter_authorization(node: ast.AlterAuthorization, context: Context) -> Run:
    """ALTER AUTHORIZATION ON securable TO principal: permissions on it are dropped."""

    def run(s: Any, v: list) -> None:
        database: Database = s.database
        if node.securable.kind == "DATABASE":
            change_database_owner(s, node)
            return
        target = find_securable(s, node.securable, context)
        if not has_permission(s, "TAKE OWNERSHIP", target):
            raise SqlError(15151, "find", class_word(target), target.name)
        owner = None
        if node.owner is not None:
            owner = database.principals.get(node.owner.text.lower())
            if owner is None:
                raise SqlError(15151, "find", "principal", node.owner.text)
        change_owner(s, node, context, target, owner.id if owner else None)
        for key in [k for k in database.permissions
                    if k[0] == target.class_ and k[1] == target.major]:
            s.engine.journal.put(s.work(), database, database.permissions, key, MISSING)
        database.bump(s.work())

    return run


def change_owner(s: Any, node: ast.AlterAuthorization, context: Context, target: Securable,
                 owner: int | None) -> None:
    """Give something another owner; None (SCHEMA OWNER) for an object that follows its schema."""
    database, journal, transaction = target.database, s.engine.journal, s.work()
    if target.class_ == OBJECT:
        item = database.resolve(target.schema, target.name)
        if not isinstance(item, Table | Module | Sequence) and \
                type(item).__name__ != "Queue":
            raise context.not_supported(node, "ALTER AUTHORIZATION on this object")
        journal.put(transaction, database, database.owners, target.major,
                    MISSING if owner is None else owner)
    elif target.class_ == SCHEMA:
        old = database.schemas[target.name.lower()]
        journal.put(transaction, database, database.schemas, target.name.lower(),
                    replace(old, owner=owner if owner is not None else DBO))
    elif target.class_ == PRINCIPAL:
        role = database.principals[target.name.lower()]
        if role.type != "R":
            raise context.not_supported(node, "ALTER AUTHORIZATION on a user")
        journal.put(transaction, database, database.principals, target.name.lower(),
                    replace(role, owner=owner))
    elif target.class_ in {SERVICE, CONTRACT, MESSAGE_TYPE, ROUTE}:
        change_broker_owner(s, target, owner if owner else DBO)
    else:
        raise context.not_supported(node, "ALTER AUTHORIZATION on this securable")


def change_broker_owner(s: Any, target: Securable, owner: int) -> None:
    """Another owner for a service (which is state) or a definition (which is replaced)."""
    broker = target.database.broker
    mapping = getattr(broker, dict(_BROKER_KINDS.values())[target.class_])
    item = mapping[target.name]
    if isinstance(item, Part):
        s.engine.journal.assign(s.work(), item, "owner", owner)
    else:
        s.engine.journal.put(s.work(), broker, mapping, target.name, replace(item, owner=owner))


def change_database_owner(s: Any, node: ast.AlterAuthorization) -> None:
    """ALTER AUTHORIZATION ON DATABASE::name TO login."""
    server = s.database.server
    name = node.securable.name.name
    database = server.databases.get(name.lower())
    login = server.logins.get(node.owner.text.lower()) if node.owner is not None else None
    if database is None or not has_permission(s, "TAKE OWNERSHIP", database):
        raise SqlError(15151, "find", "database", name)
    if login is None:
        raise SqlError(15151, "find", "principal", node.owner.text if node.owner else "")
    s.engine.journal.assign(s.work(), database, "owner", login.name)
