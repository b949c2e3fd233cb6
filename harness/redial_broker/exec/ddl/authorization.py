"""ALTER AUTHORIZATION: another owner; the permissions given on the securable are dropped.

Rules: ALTER AUTHORIZATION page, its table of what may be owned by whom included.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.owners import DBO
from redial_broker.engine.storage import Table
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.securables import BROKER_KINDS, KEY_KINDS, class_word, find_securable
from redial_broker.exec.ddl.server_permissions import change_role_owner
from redial_broker.exec.objects import Module, Sequence
from redial_broker.exec.principals import GUEST, ROLE, USER
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import (
    OBJECT,
    PRINCIPAL,
    SCHEMA,
    TYPE,
    Securable,
    has_permission,
    identities,
    user_for_login,
)

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@compiles(ast.AlterAuthorization)
def alter_authorization(node: ast.AlterAuthorization, context: Context) -> Run:
    """ALTER AUTHORIZATION ON securable TO principal: permissions on it are dropped."""

    def run(session: SessionState, variables: Values) -> None:
        database: Database = session.database
        if node.securable.kind == "DATABASE":
            change_database_owner(session, node)
            return
        if node.securable.kind == "SERVER ROLE":
            change_role_owner(session, node)
            return
        target = find_securable(session, node.securable, context)
        if not has_permission(session, "TAKE OWNERSHIP", target):
            raise SqlError(15151, "find", class_word(target), target.name)
        owner = None
        if node.owner is not None:
            owner = database.principals.get(node.owner.text.lower())
            if owner is None:
                raise SqlError(15151, "find", "principal", node.owner.text)
            may_own(session, target, owner)
        change_owner(session, node, context, target, owner.id if owner else None)
        for key in [k for k in database.permissions if _drops(target, k)]:
            session.engine.journal.put(session.work(), database, database.permissions, key, MISSING)
        database.bump(session.work())

    return run


def _drops(target: Securable, permission: tuple[Any, ...]) -> bool:
    """Whether a permission is lost: one on the securable, or on what has no owner of its own in a schema."""
    class_, major = permission[0], permission[1]
    if class_ == target.class_ and major == target.major:
        return True
    if target.class_ != SCHEMA:
        return False
    database, schema = target.database, target.name.lower()
    if class_ == TYPE:
        return any(
            t.user_type_id == major and t.schema.lower() == schema for t in database.types.values()
        )
    item = database.object_by_id(major) if class_ == OBJECT else None
    return item is not None and item.schema.lower() == schema and major not in database.owners


def may_own(session: SessionState, target: Securable, owner: Any) -> None:
    """The new owner: oneself, somebody one may impersonate, or a role one is in.

    Raises SqlError 15151, and 15345 for a certificate or key owned by anything but a user.
    """
    if target.kind in KEY_KINDS and owner.type != USER:
        raise SqlError(15345, class_word(target))
    if session.user is None or session.user.id in {DBO, owner.id}:
        return
    mine = identities(session, target.database) or frozenset()
    if not (
        owner.id in mine if owner.type == ROLE else has_permission(session, "IMPERSONATE", owner)
    ):
        raise SqlError(15151, "find", "principal", owner.name)


def change_owner(
    session: SessionState,
    node: ast.AlterAuthorization,
    context: Context,
    target: Securable,
    owner: int | None,
) -> None:
    """Give something another owner; None (SCHEMA OWNER) for an object that follows its schema."""
    database, journal, transaction = target.database, session.engine.journal, session.work()
    if target.class_ == OBJECT:
        item = database.resolve(target.schema, target.name)
        if not isinstance(item, Table | Module | Sequence) and type(item).__name__ != "Queue":
            raise context.not_supported(node, "ALTER AUTHORIZATION on this object")
        journal.put(
            transaction,
            database,
            database.owners,
            target.major,
            MISSING if owner is None else owner,
        )
    elif target.class_ == SCHEMA:
        old = database.schemas[target.name.lower()]
        journal.put(
            transaction,
            database,
            database.schemas,
            target.name.lower(),
            replace(old, owner=owner if owner is not None else DBO),
        )
    elif target.class_ == PRINCIPAL:
        role = database.principals[target.name.lower()]
        if role.type != "R":
            raise context.not_supported(node, "ALTER AUTHORIZATION on a user")
        journal.put(
            transaction,
            database,
            database.principals,
            target.name.lower(),
            replace(role, owner=owner),
        )
    elif target.kind in BROKER_KINDS:
        change_broker_owner(session, target, owner if owner else DBO)
    elif target.kind in KEY_KINDS:
        key = (target.kind, target.name.lower())
        journal.put(
            transaction,
            database,
            database.keys,
            key,
            replace(database.keys[key], owner=owner if owner else DBO),
        )
    else:
        raise context.not_supported(node, "ALTER AUTHORIZATION on this securable")


def change_broker_owner(session: SessionState, target: Securable, owner: int) -> None:
    """Another owner for a service (which is state) or a definition (which is replaced)."""
    broker = target.database.broker
    mapping = getattr(broker, BROKER_KINDS[target.kind][1])
    item = mapping[target.name]
    if isinstance(item, Part):
        session.engine.journal.assign(session.work(), item, "owner", owner)
    else:
        session.engine.journal.put(
            session.work(), broker, mapping, target.name, replace(item, owner=owner)
        )


def change_database_owner(session: SessionState, node: ast.AlterAuthorization) -> None:
    """ALTER AUTHORIZATION ON DATABASE::name TO login."""
    server = session.database.server
    name = node.securable.name.name
    database = server.databases.get(name.lower())
    login = server.logins.get(node.owner.text.lower()) if node.owner is not None else None
    if database is None or not has_permission(session, "TAKE OWNERSHIP", database):
        raise SqlError(15151, "find", "database", name)
    if login is None or login.type != USER:
        raise SqlError(15151, "find", "principal", node.owner.text if node.owner else "")
    if name.lower() in {"master", "model", "tempdb"}:
        raise SqlError(15109)
    user = user_for_login(database, login)
    if user is not None and user.id > GUEST:
        raise SqlError(15110)
    session.engine.journal.assign(session.work(), database, "owner", login.name)
    database.bump(session.work())
