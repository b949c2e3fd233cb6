"""DROP of everything by kind. Other packages add their kinds with ``drops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.common import dotted, lock_definition
from redial_broker.exec.ddl.logins import drop_login, drop_server_role
from redial_broker.exec.ddl.principals import drop_principal
from redial_broker.exec.ddl.tables import drop_table
from redial_broker.exec.ddl.types import drop_schema, drop_type
from redial_broker.exec.dependencies import refuse_bound
from redial_broker.exec.objects import Function, Procedure, Sequence, Synonym, Trigger, View
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

DropOne = Callable[[Any, Any, bool], None]
DROPPERS: dict[str, DropOne] = {}
"""kind of ``ast.DropObject`` -> function (session, name, if_exists) that drops one thing."""


def drops(*kinds: str) -> Callable[[DropOne], DropOne]:
    """Register who drops things of some kinds."""

    def register(function: DropOne) -> DropOne:
        for kind in kinds:
            DROPPERS[kind] = function
        return function

    return register


@compiles(ast.DropObject)
def drop_object(node: ast.DropObject, context: Context) -> Run:
    """DROP kind [IF EXISTS] names."""
    kind = node.kind if node.on is None else f"{node.kind} ON {node.on}"
    drop_one = DROPPERS.get(kind)
    if drop_one is None:
        raise context.not_supported(node, f"DROP {kind}")

    def run(session: SessionState, variables: Values) -> None:
        for name in node.names or (None,):  # DROP MASTER KEY names nothing
            drop_one(session, name, node.if_exists)

    return run


def _drop_in_schema(kinds: tuple[type[Any], ...], what: str) -> DropOne:
    """Drops modules and sequences: Sch-M, then out of the database."""

    def drop(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
        database = session.database
        if name.name.startswith("#") and name.name.lower() in session.temp_procedures:
            session.engine.journal.put(
                session.work(), session, session.temp_procedures, name.name.lower(), MISSING
            )
            return
        if name.database is not None and name.database.lower() != database.name.lower():
            raise SqlError(166, f"DROP {what.upper()}")
        found = database.resolve(name.schema, name.name, session)
        if not isinstance(found, kinds):
            if found is None and if_exists:
                return
            if found is not None:
                raise SqlError(3705, what.upper(), dotted(name), what)
            raise SqlError(3701, "drop", what, dotted(name), state=5)
        if not has_permission(session, "CONTROL", found) and not has_permission(
            session, "ALTER", database.schema_of(found)
        ):
            raise SqlError(3701, "drop", what, dotted(name), state=20)
        transaction = session.work()
        lock_definition(session, transaction, database, found.object_id)
        refuse_bound(database, found, f"DROP {what.split(maxsplit=1)[0].upper()}", dotted(name))
        for trigger in database.modules(Trigger):
            if trigger.parent_id == found.object_id:
                database.remove(transaction, trigger)
        database.remove(transaction, found)
        transaction.log_used += 500

    return drop


drops("TABLE")(drop_table)
drops("PROCEDURE", "PROC")(_drop_in_schema((Procedure,), "procedure"))
drops("TRIGGER")(_drop_in_schema((Trigger,), "trigger"))
drops("VIEW")(_drop_in_schema((View,), "view"))
drops("FUNCTION")(_drop_in_schema((Function,), "function"))
drops("SEQUENCE")(_drop_in_schema((Sequence,), "sequence object"))
drops("SYNONYM")(_drop_in_schema((Synonym,), "synonym"))
drops("TYPE")(drop_type)


@drops("SCHEMA")
def _drop_schema(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    drop_schema(session, name.name, if_exists)


@drops("USER")
def _drop_user(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    drop_principal(session, "user", name.name, if_exists)


@drops("ROLE")
def _drop_role(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    drop_principal(session, "role", name.name, if_exists)


@drops("LOGIN")
def _drop_login(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    drop_login(session, name.name)


@drops("SERVER ROLE")
def _drop_server_role(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    drop_server_role(session, name.name)
