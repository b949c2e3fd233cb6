"""CREATE QUEUE, ALTER QUEUE, DROP QUEUE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from redial.tsql import ast
from redial_broker.engine.broker_messages import text
from redial_broker.engine.errors import SqlError
from redial_broker.engine.owners import OWNER
from redial_broker.exec.broker.arguments import broker_of
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.common import (
    dotted,
    existing,
    may_create,
    refuse_taken,
    schema_for,
    target_database,
)
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.objects import Function, Procedure
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission
from redial_broker.ssb import ddl, notifications
from redial_broker.ssb.queue import Activation, Queue
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.principals import Principal
    from redial_broker.exec.session import SessionState

FILEGROUPS = frozenset({"DEFAULT", "PRIMARY"})
MAX_QUEUE_READERS = 32767
NO_ACTIVATION = Activation("", 0, None, False)


@compiles(ast.CreateQueue)
def create_queue(node: ast.CreateQueue, context: Context) -> Run:
    """CREATE QUEUE."""
    _check_options(node, context)
    broker_of(context)
    if node.name.name.startswith("#"):
        raise context.not_supported(node.name, "a queue name that starts with #")

    def run(session: SessionState, variables: Values) -> None:
        database = target_database(session, node.name)
        check_length(node.name.name)
        schema = schema_for(session, database, node.name)
        may_create(session, database, schema, "CREATE QUEUE")
        refuse_taken(database, schema.name, node.name.name)
        queue = Queue(database.broker, schema.name, node.name.name, database.next_object_id())
        queue.internal_id = database.next_object_id()
        queue.enabled = node.status is not False
        queue.retention = bool(node.retention)
        queue.poison_handling = node.poison_handling is not False
        if node.activation is not None and not node.activation.drop:
            stated = replace(NO_ACTIVATION, enabled=True)
            queue.activation = _activation(session, queue, stated, node.activation)
        database.put(session.work(), queue)
        session.work().log_used += 500

    return run


@compiles(ast.AlterQueue)
def alter_queue(node: ast.AlterQueue, context: Context) -> Run:
    """ALTER QUEUE .. WITH; waits for open transactions that have received from the queue."""
    _check_options(node, context)
    broker_of(context)

    def run(session: SessionState, variables: Values) -> None:
        queue: Queue = existing(
            session, target_database(session, node.name), node.name, "alter", "queue", (Queue,)
        )
        if queue.is_system:
            raise SqlError(9663)
        transaction = session.work()
        session.engine.locks.acquire(transaction, queue.lock_key, "Sch-M")
        assign = session.engine.journal.assign
        for name, stated in (
            ("enabled", node.status),
            ("retention", node.retention),
            ("poison_handling", node.poison_handling),
        ):
            if stated is not None:
                assign(transaction, queue, name, stated)
        if node.activation is not None:
            changed = (
                None
                if node.activation.drop
                else _activation(session, queue, queue.activation or NO_ACTIVATION, node.activation)
            )
            assign(transaction, queue, "activation", changed)
        ddl.queue_changed(queue, transaction)
        transaction.log_used += 300

    return run


def _check_options(node: ast.CreateQueue | ast.AlterQueue, context: Context) -> None:
    """Raise what can be known before the statement runs: 1921 (filegroup), 102 (readers).

    REBUILD and REORGANIZE need nothing done: there are no pages to put in order. They still lock
    the queue as ALTER does, always offline (ALTER QUEUE page).
    """
    if node.filegroup is not None and node.filegroup.upper() not in FILEGROUPS:
        raise context.fail(node, SqlError(1921, "filegroup", node.filegroup))
    for option in getattr(node, "action_options", None) or []:
        if option.name not in {"MAXDOP", "LOB_COMPACTION"}:
            raise context.not_supported(
                option, f"ALTER QUEUE .. {getattr(node, 'action', None)} WITH {option.name}"
            )
    stated = node.activation
    if (
        stated is not None
        and stated.max_readers is not None
        and stated.max_readers > MAX_QUEUE_READERS
    ):
        raise context.fail(
            node, SqlError(102, str(stated.max_readers), severity=15, aborts="batch")
        )


def _activation(
    session: SessionState, queue: Queue, old: Activation, stated: ast.QueueActivation
) -> Activation:
    """ACTIVATION (..): what is not stated stays. Raises SqlError 9613, 9614, 9653 and others."""
    new = Activation(
        _procedure(session, queue, stated.procedure)
        if stated.procedure is not None
        else old.procedure,
        old.max_readers if stated.max_readers is None else stated.max_readers,
        old.execute_as if stated.execute_as is None else _principal(session, stated.execute_as),
        old.enabled if stated.status is None else stated.status,
    )
    if new.enabled and not new.procedure:
        raise SqlError(9614, queue.full_name)
    if new.enabled and new.execute_as is None:
        raise SqlError(9613, queue.full_name)
    if new.enabled and queue.watched:
        raise SqlError(9717, queue.full_name)
    if new.enabled and not new.max_readers:
        severity = value(session.engine, "zero_readers_severity")
        if severity > 10:
            raise SqlError(9648, queue.full_name, severity=severity)
        session.info(text(9648, queue.full_name), severity, 9648)
    return new


def _procedure(session: SessionState, queue: Queue, name: ast.ObjectName) -> str:
    """The procedure's name as T-SQL; it takes no parameters (CREATE QUEUE page).

    Whether it must exist is a switch (F-292). Raises SqlError 9614, 9620, 9653 and 9742.
    """
    shown = dotted(name)
    if name.name.startswith("#"):
        raise SqlError(9742, shown)
    database = (
        session.database
        if name.database is None
        else session.database.server.database(name.database)
    )
    found = database.resolve(name.schema, name.name, session)
    if isinstance(found, Function):
        raise SqlError(9620, shown)
    if isinstance(found, Procedure):
        if found.node.parameters:
            raise SqlError(9653, shown)
        own = [found.schema, found.name]
    elif found is None and value(session.engine, "missing_activation_procedure") == "allow":
        user = cast("Principal", session.user)
        own = [name.schema or user.default_schema or "dbo", name.name]
    else:
        raise SqlError(9614, queue.full_name)
    parts = ([database.name] if database is not session.database else []) + own
    return ".".join("[" + part.replace("]", "]]") + "]" for part in parts)


def _principal(session: SessionState, stated: ast.Identifier | ast.Literal) -> int:
    """EXECUTE AS SELF, OWNER or 'user'; a user needs IMPERSONATE. Raises SqlError 9611."""
    if isinstance(stated, ast.Identifier):
        return OWNER if stated.text.upper() == "OWNER" else cast("Principal", session.user).id
    found = session.database.principals.get(str(stated.value).lower())
    if found is None or not has_permission(session, "IMPERSONATE", found):
        raise SqlError(9611, str(stated.value))
    return found.id


@drops("QUEUE")
def drop_queue(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP QUEUE: not while a service uses it (3716); whoever waits there fails at once."""
    database = target_database(session, name)
    if if_exists and database.resolve(name.schema, name.name, session) is None:
        return
    queue: Queue = existing(session, database, name, "drop", "queue", (Queue,))
    if queue.is_system:
        raise SqlError(9663)
    ddl.refuse_bound(queue.broker, queue)
    transaction = session.work()
    session.engine.locks.acquire(transaction, queue.lock_key, "Sch-M")
    notifications.drop_of_queue(queue, session)
    database.remove(transaction, queue)
    queue.broker.note(transaction, ("ssb.dropped", queue))
    transaction.log_used += 500
