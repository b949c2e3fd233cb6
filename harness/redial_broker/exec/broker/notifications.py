"""CREATE and DROP EVENT NOTIFICATION.

Here exist the two events of queues, QUEUE_ACTIVATION on a queue and BROKER_QUEUE_DISABLED on a
queue or on the server, and the DDL events of a database, on the database or on the server. Every
other event (of the server's own definitions, of SQL Trace) is refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.broker.arguments import broker_of
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.common import dotted, target_database
from redial_broker.exec.ddl.events import ALL, GROUPS
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission, has_server_permission
from redial_broker.ssb import notifications
from redial_broker.ssb.notifications import DATABASE, QUEUE, SERVER
from redial_broker.ssb.queue import Queue

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_VALID = {
    notifications.QUEUE_ACTIVATION: {QUEUE},
    notifications.QUEUE_DISABLED: {QUEUE, SERVER},
}
"""Where each event may be asked for; the second one is a trace event, so of the server too."""


@compiles(ast.CreateEventNotification)
def create_notification(node: ast.CreateEventNotification, context: Context) -> Run:
    """CREATE EVENT NOTIFICATION .. TO SERVICE 'name', 'guid' | 'current database'."""
    broker_of(context)
    asked = _events(node, context)
    service, instance = str(node.service.value), str(node.broker_instance.value)

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.text)
        queue = _queue(session, node.queue)
        _may_create(session, node.scope, queue, asked)
        home = _home(session, node.scope)
        guid = session.database.broker.guid if instance.lower() == "current database" else instance
        login = session.database.server.logins.get(session.login_name.lower())
        principal = login if node.scope == SERVER else session.user
        notifications.create(
            home,
            session,
            node.name.text,
            node.scope,
            queue,
            asked,
            service,
            guid,
            object_id=home.database.next_object_id(),
            owner=principal.id if principal else 1,
            creator=login.sid if node.fan_in and login is not None else None,
        )
        _recompile(session, node.scope)

    return run


def _recompile(session: SessionState, scope: str) -> None:
    """Statements compiled before know of no listener, or of one too many."""
    transaction = session.work()
    transaction.log_used += 500
    for database in (
        session.database.server.databases.values() if scope == SERVER else [session.database]
    ):
        database.bump(transaction)


def _events(node: ast.CreateEventNotification, context: Context) -> list[tuple[str, str]]:
    """(event, group or "") of the FOR clause; a group stands for its events (its page).

    Raises SqlError 1095 (twice), 1098 (not in this scope); NotSupported for an event there is
    none of here.
    """
    found: dict[str, str] = {}
    for place, word in enumerate(node.events):
        if word not in _VALID and word not in ALL and word not in GROUPS:
            raise context.not_supported(node, f"an event notification FOR {word}")
        if word in node.events[:place]:
            raise context.fail(node, SqlError(1095, word, aborts="batch"))
        if node.scope not in _VALID.get(word, {DATABASE, SERVER}):
            raise context.fail(node, SqlError(1098, aborts="batch"))
        for event in sorted(GROUPS.get(word, {word})):
            found.setdefault(event, word if word in GROUPS else "")
    return list(found.items())


def _queue(session: SessionState, name: ast.ObjectName | None) -> Queue | None:
    """The queue of ON QUEUE. Raises SqlError 15151; 9663 for one of the system's."""
    if name is None:
        return None
    found = target_database(session, name).resolve(name.schema, name.name, session)
    if not isinstance(found, Queue) or found.database is not session.database:
        raise SqlError(15151, "find", "queue", dotted(name))
    if found.is_system:
        raise SqlError(9663)
    return found


def _home(session: SessionState, scope: str) -> Any:
    """Whose broker holds the conversation: msdb's for the server (page on dialog security)."""
    return (
        session.database.server.databases["msdb"].broker
        if scope == SERVER
        else session.database.broker
    )


def _may_create(
    session: SessionState, scope: str, queue: Queue | None, asked: list[tuple[str, str]]
) -> None:
    if queue is not None:
        if not has_permission(session, "ALTER", queue):
            raise SqlError(15151, "find", "queue", queue.name)
    elif scope == DATABASE:
        if not has_permission(session, "CREATE DATABASE DDL EVENT NOTIFICATION", session.database):
            raise SqlError(262, "CREATE DATABASE DDL EVENT NOTIFICATION", session.database.name)
    else:
        traced = any(event in _VALID for event, _ in asked)
        defined = any(event not in _VALID for event, _ in asked)
        for needed, what in ((traced, "TRACE"), (defined, "DDL")):
            if needed and not has_server_permission(session, f"CREATE {what} EVENT NOTIFICATION"):
                raise SqlError(15247)


@compiles(ast.DropEventNotification)
def drop_notification(node: ast.DropEventNotification, context: Context) -> Run:
    """DROP EVENT NOTIFICATION: by its owner, or with ALTER on the queue (page of the statement)."""
    broker_of(context)

    def run(session: SessionState, variables: Values) -> None:
        queue = _queue(session, node.queue)
        home = _home(session, node.scope)
        for name in node.names:
            found = notifications.find(home, node.scope, queue, name.text)
            if found is not None and not _may_drop(session, node.scope, queue, found):
                raise SqlError(15151, "drop", "event notification", name.text)
            notifications.drop(home, session, node.scope, queue, name.text)
        _recompile(session, node.scope)

    return run


def _may_drop(session: SessionState, scope: str, queue: Queue | None, found: Any) -> bool:
    if scope == SERVER:
        return has_server_permission(session, "ALTER ANY EVENT NOTIFICATION")
    if session.user is not None and found.owner == session.user.id:
        return True
    if queue is not None:
        return has_permission(session, "ALTER", queue)
    return has_permission(session, "ALTER ANY DATABASE EVENT NOTIFICATION", session.database)
