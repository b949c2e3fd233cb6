"""What GRANT, DENY, REVOKE and ALTER AUTHORIZATION may name behind ON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.objects import VirtualTable
from redial_broker.exec.principals import ROLE
from redial_broker.exec.security import (
    CERTIFICATE,
    CONTRACT,
    MESSAGE_TYPE,
    OBJECT,
    PRINCIPAL,
    REMOTE_BINDING,
    ROUTE,
    SCHEMA,
    SERVICE,
    TYPE,
    Securable,
    securable,
)

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

BROKER_KINDS = {
    "SERVICE": (SERVICE, "services"),
    "CONTRACT": (CONTRACT, "contracts"),
    "MESSAGE TYPE": (MESSAGE_TYPE, "message_types"),
    "ROUTE": (ROUTE, "routes"),
    "REMOTE SERVICE BINDING": (REMOTE_BINDING, "bindings"),
}
"""Kind -> class and the broker's mapping that has it; names are compared byte by byte."""

KEY_KINDS = frozenset({"CERTIFICATE", "SYMMETRIC KEY", "ASYMMETRIC KEY"})

_WORDS = {
    OBJECT: "object",
    SCHEMA: "schema",
    SERVICE: "service",
    CONTRACT: "contract",
    MESSAGE_TYPE: "message type",
    TYPE: "type",
    PRINCIPAL: "user",
    ROUTE: "route",
    REMOTE_BINDING: "remote service binding",
    CERTIFICATE: "certificate",
}


def class_word(target: Securable) -> str:
    """A class as error texts call it."""
    return "role" if target.role else _WORDS.get(target.class_, target.kind.lower())


def find_securable(
    session: SessionState, node: ast.Securable | None, context: Context
) -> Securable:
    """What ON names in the current database. Raises SqlError 15151, 4610 for another database."""
    database: Database = session.database
    if node is None:
        return securable(database, database)
    if node.name.database is not None and node.name.database.lower() != database.name.lower():
        raise SqlError(4610)
    found = _find(session, database, node, context)
    if isinstance(found, VirtualTable):
        raise context.not_supported(node, "permissions on system objects")
    if found is None:
        raise SqlError(15151, "find", (node.kind or "object").lower(), node.name.name)
    return securable(found, database)


def _find(session: SessionState, database: Database, node: ast.Securable, context: Context) -> Any:
    kind, name = node.kind, node.name.name
    if kind in {None, "OBJECT"}:
        return database.resolve(node.name.schema, name, session)
    if kind == "SCHEMA":
        return database.schemas.get(name.lower())
    if kind == "DATABASE":
        return database if database.name.lower() == name.lower() else None
    if kind == "TYPE":
        return database.resolve_type(node.name.schema, name, session)
    if kind in {"USER", "ROLE"}:
        found = database.principals.get(name.lower())
        return found if found is not None and (found.type == ROLE) == (kind == "ROLE") else None
    if kind in BROKER_KINDS:
        mapping = getattr(database.broker, BROKER_KINDS[kind][1], None)
        if mapping is not None:
            return mapping.get(name)
    if kind in KEY_KINDS:
        return database.keys.get((kind, name.lower()))
    raise context.not_supported(node, f"permissions on {kind}")
