"""CREATE QUEUE, ALTER QUEUE, DROP QUEUE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.broker.engine.broker_messages import text
from harness.broker.engine.errors import SqlError
from harness.broker.exec.broker.arguments import broker_of
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.ddl.common import (
    dotted,
    existing,
    may_create,
    refuse_taken,
    schema_for,
)
from harness.broker.exec.ddl.drop import drops
from harness.broker.exec.ddl.naming import check_length
from harness.broker.exec.objects import Function, Procedure
from harness.broker.exec.security import has_permission
from harness.broker.ssb import ddl
from harness.broker.ssb.queue import OWNER, Activation, Queue
from harness.tsql import ast

FILEGROUPS = frozenset({"DEFAULT", "PRIMARY"})
NO_ACTIVATION = Activation("", 0, OWNER, False)


@compiles(ast.CreateQueue)
def create_queue(node: ast.CreateQueue, context: Context) -> Run:
    """CREATE QUEUE."""
    _own_database(node, context)
    if node.filegroup is not None and node.filegroup.upper() not in FILEGROUPS:
        raise context.not_supported(node, f"filegroup {node.filegroup}")
    broker = broker_of(context)

    def run(s: Any, v: list) -> None:
        database = s.database
        check_length(node.name.name)
        schema = schema_for(s, database, node.name)
        may_create(s, database, schema, "CREATE QUEUE")
        refuse_taken(database, schema.name, node.name.name)
        queue = Queue(broker, schema.name, node.name.name, database.next_object_id())
        queue.enabled = node.status is not False
        queue.retention = bool(node.retention)
        queue.poison_handling = node.poison_handling is not False
        if node.activation is not None and not node.activation.drop:
            stated = replace(NO_ACTIVATION, enabled=True)
            queue.activation = _activation(s, queue, stated, node.activation)
        database.put(s.work(), queue)
        s.work().log_used += 500

    return run


@compiles(ast.AlterQueue)
def alter_queue(node: ast.AlterQueue, context: Context) -> Run:
    """ALTER QUEUE .. WITH; waits for open transactions that have received from the queue."""
    if node.action is not None:
        raise context.not_supported(node, f"ALTER QUEUE .. {node.action}: there are no pages")
    _own_database(node, context)

    def run(s: Any, v: list) -> None:
        queue: Queue = existing(s, s.database, node.name, "alter", "queue", (Queue,))
        transaction = s.work()
        s.engine.locks.acquire(transaction, queue.lock_key, "Sch-M")
        assign = s.engine.journal.assign
        for name, stated in (("enabled", node.status), ("retention", node.retention),
                             ("poison_handling", node.poison_handling)):
            if stated is not None:
                assign(transaction, queue, name, stated)
        if node.activation is not None:
            changed = None if node.activation.drop else _activation(
                s, queue, queue.activation or NO_ACTIVATION, node.activation)
            assign(transaction, queue, "activation", changed)
        ddl.queue_changed(queue, transaction)
        transaction.log_used += 300

    return run


def _own_database(node: ast.QueueDefinition, context: Context) -> None:
    name = node.name.database
    if name is not None and name.lower() != context.database.name.lower():
        raise context.not_supported(node.name, "a queue of another database in CREATE or ALTER")


def _activation(s: Any, queue: Queue, old: Activation, stated: ast.QueueActivation) -> Activation:
    """ACTIVATION (..): what is not stated stays. Raises SqlError 9613, 9614, 9653 and others."""
    new = Activation(
        _procedure(s, queue, stated.procedure) if stated.procedure is not None else old.procedure,
        old.max_readers if stated.max_readers is None else stated.max_readers,
        old.execute_as if stated.execute_as is None else _principal(s, stated.execute_as),
        old.enabled if stated.status is None else stated.status,
    )
    if new.enabled and not new.procedure:
        raise SqlError(9614, queue.full_name)
    if new.enabled and not new.max_readers:
        s.info(text(9648, queue.full_name), 10, 9648)
    return new


def _procedure(s: Any, queue: Queue, name: ast.ObjectName) -> str:
    """The procedure's name as T-SQL; it must exist and take no parameters (CREATE QUEUE page)."""
    shown = dotted(name)
    if name.name.startswith("#"):
        raise SqlError(9742, shown)
    database = s.database if name.database is None else s.database.server.database(name.database)
    found = database.resolve(name.schema, name.name, s)
    if isinstance(found, Function):
        raise SqlError(9620, shown)
    if not isinstance(found, Procedure):
        raise SqlError(9614, queue.full_name)
    if found.node.parameters:
        raise SqlError(9653, shown)
    parts = ([database.name] if database is not s.database else []) + [found.schema, found.name]
    return ".".join("[" + part.replace("]", "]]") + "]" for part in parts)


def _principal(s: Any, stated: ast.Identifier | ast.Literal) -> int:
    """EXECUTE AS SELF, OWNER or 'user'; a user needs IMPERSONATE. Raises SqlError 9611."""
    if isinstance(stated, ast.Identifier):
        return OWNER if stated.text.upper() == "OWNER" else s.user.id
    found = s.database.principals.get(str(stated.value).lower())
    if found is None or not has_permission(s, "IMPERSONATE", found):
        raise SqlError(9611, str(stated.value))
    return found.id


@drops("QUEUE")
def drop_queue(s: Any, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP QUEUE: not while a service uses it (3716); whoever waits there fails at once."""
    if if_exists and s.database.resolve(name.schema, name.name, s) is None:
        return
    queue: Queue = existing(s, s.database, name, "drop", "queue", (Queue,))
    ddl.refuse_bound(queue.broker, queue)
    transaction = s.work()
    s.engine.locks.acquire(transaction, queue.lock_key, "Sch-M")
    s.database.remove(transaction, queue)
    queue.broker.note(transaction, ("ssb.dropped", queue))
    transaction.log_used += 500
