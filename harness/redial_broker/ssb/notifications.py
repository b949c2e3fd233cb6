"""Event notifications: events become messages on a dialog of the server's own.

Source: CREATE EVENT NOTIFICATION, "Event Notifications", "Event-Based Activation" and
"Understanding When Activation Occurs" pages; messages 17001 to 17005 (F-252, F-253).

A notification has one conversation, begun when it is created, from the service every database is
born with. Whatever comes back on it ends it: an Error drops the notification, EndDialog leaves one
whose next event finds nobody to tell.
"""

from __future__ import annotations

from codecs import BOM_UTF16_LE
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.broker_messages import text
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.state import definition
from redial_broker.ssb import error_body, names, transmission, verbs
from redial_broker.ssb.closing import finish
from redial_broker.ssb.conversation import GONE, OPEN
from redial_broker.ssb.queue import Queue
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.conversation import Endpoint
    from redial_broker.ssb.needs import BrokerHome, Caller, HomeServer
    from redial_broker.ssb.transport import Transport

differs(
    "event notifications",
    "A message is in its target queue as soon as the event's transaction has committed; a "
    "server posts it from a background task. SPID is always 20. What BROKER_QUEUE_DISABLED "
    "holds beside the ids of database and queue is taken from other trace events (F-253).",
)

QUEUE_ACTIVATION, QUEUE_DISABLED = "QUEUE_ACTIVATION", "BROKER_QUEUE_DISABLED"
QUEUE, DATABASE, SERVER = "QUEUE", "DATABASE", "SERVER"
SPID = 20
"""Session id of the background task that posts events; activated tasks begin at 21."""


@definition(created="the broker shows it, where T-SQL can read it")
@dataclass(frozen=True, slots=True, eq=False)
class EventNotification:
    """An event notification."""

    object_id: int
    name: str
    scope: str
    parent_id: int
    """Object id of its queue, 0 otherwise."""
    events: tuple[str, ...]
    """Names, those of groups included."""
    groups: tuple[str, ...]
    """For each event the group it was asked for by, or ""."""
    service_name: str
    broker_instance: str
    handle: str
    """Of its conversation."""
    owner: int
    """Principal or (ON SERVER) login id."""
    created: float
    """Clock seconds."""
    creator: bytes | None = None
    """Login sid, None without FAN_IN."""


class SystemQueue(Queue):
    """A queue every database is born with; the server itself reads what arrives."""

    __slots__ = ()

    def poke(self) -> None:
        """Read at once: nobody else does."""
        super().poke()
        for inbox in list(self.ready.values()):
            _heard(inbox.endpoint)


# ---------------------------------------------------------------------- CREATE and DROP
def create(
    home: Broker,
    session: Caller,
    name: str,
    scope: str,
    queue: Queue | None,
    asked: list[tuple[str, str]],
    service_name: str,
    broker_instance: str,
    *,
    object_id: int,
    owner: int,
    creator: bytes | None = None,
) -> EventNotification:
    """CREATE EVENT NOTIFICATION. home: the broker the conversation belongs to (msdb's ON SERVER).

    asked: (event, group or ""). broker_instance: a guid as text. Raises SqlError 2714, 9718, 8413.
    """
    events = tuple(event for event, _ in asked)
    where, key = _place(home, scope, queue, name)
    if key in where.notifications:
        raise SqlError(2714, name, state=6)
    activation = queue.activation if queue is not None else None
    if QUEUE_ACTIVATION in events and activation is not None and activation.enabled:
        raise SqlError(9718, queue.name if queue is not None else "")
    # Nothing leaves the instance, so there is nothing to encrypt.
    handle = verbs.begin_dialog(
        home,
        session,
        names.EVENT_SERVICE,
        service_name,
        broker_instance=broker_instance,
        contract=names.POST_EVENT,
        encryption=False,
    )
    made = EventNotification(
        object_id,
        name,
        scope,
        queue.object_id if queue is not None else 0,
        events,
        tuple(group for _, group in asked),
        service_name,
        str(home.endpoints[handle].far_broker),
        handle,
        owner,
        home.engine.clock.now(),
        creator,
    )
    home.engine.journal.put(session.work(), where, where.notifications, key, made)
    _watch(session.work(), queue, made, 1)
    return made


def drop(
    home: Broker, session: Caller, scope: str, queue: Queue | None, name: str
) -> EventNotification:
    """DROP EVENT NOTIFICATION: its conversation is ended. Raises SqlError 15151."""
    where, key = _place(home, scope, queue, name)
    found = where.notifications.get(key)
    if found is None:
        raise SqlError(15151, "drop", "event notification", name)
    endpoint = home.endpoints.get(found.handle)
    if endpoint is not None and endpoint.own == OPEN:
        _send_before_drop(home, session, found, endpoint)
        verbs.end_conversation(home, session, found.handle)
    home.engine.journal.put(session.work(), where, where.notifications, key, MISSING)
    _watch(session.work(), queue, found, -1)
    return found


def drop_of_queue(queue: Queue, session: Caller) -> None:
    """DROP QUEUE takes the queue's notifications along."""
    for found in of_queue(queue):
        drop(queue.broker, session, QUEUE, queue, found.name)


def find(home: Broker, scope: str, queue: Queue | None, name: str) -> EventNotification | None:
    """The notification of that name in its scope, None without one."""
    where, key = _place(home, scope, queue, name)
    return where.notifications.get(key)


def of_queue(queue: Queue, event: str = "") -> list[EventNotification]:
    """The notifications on a queue (for one event), by name."""
    return sorted(
        (
            n
            for n in queue.broker.notifications.values()
            if n.parent_id == queue.object_id and (not event or event in n.events)
        ),
        key=lambda n: n.name,
    )


def _place(
    home: Broker, scope: str, queue: Queue | None, name: str
) -> tuple[Broker | Transport, Any]:
    """(what keeps the notifications of a scope, the key of one there: Any, for a server it is the
    name, else the object id of a queue with it).
    """
    if scope == SERVER:
        return home.database.server.transport, name.lower()
    return home, (queue.object_id if queue is not None else 0, name.lower())


def _watch(
    transaction: Transaction | None,
    queue: Queue | None,
    notification: EventNotification,
    change: int,
) -> None:
    """A queue counts who wants QUEUE_ACTIVATION: its monitor exists for them."""
    if queue is None or QUEUE_ACTIVATION not in notification.events:
        return
    queue.broker.engine.journal.assign(transaction, queue, "watched", queue.watched + change)
    if transaction is not None:
        queue.broker.note(transaction, ("ssb.watched", queue))


# ---------------------------------------------------------------------- events of definitions
def listeners_for(broker: Broker, event: str) -> list[tuple[Broker, EventNotification]]:
    """Notifications ON DATABASE and ON SERVER for a DDL event, with the brokers they send from."""
    server = getattr(broker.database, "server", None)
    transport = getattr(server, "transport", None)
    found = [
        (broker, n)
        for _, n in sorted(broker.notifications.items())
        if n.scope == DATABASE and event in n.events
    ]
    if transport is not None and transport.notifications:
        home = cast("HomeServer", server).databases["msdb"].broker
        found += [
            (home, n) for _, n in sorted(transport.notifications.items()) if event in n.events
        ]
    return found


def raised(
    listeners: list[tuple[Broker, EventNotification]],
    transaction: Transaction,
    event: str,
    body: str,
) -> None:
    """A definition has changed: its notifications are posted when the transaction commits.

    "If an event transaction that activates a notification is rolled back, the sending of the event
    notification is also rolled back."
    """
    for home, notification in _merged(listeners):
        key = max(home.raised, default=0) + 1
        home.engine.journal.put(
            transaction, home, home.raised, key, (transaction, notification, event, _encoded(body))
        )
        home.note(transaction, ("ssb.raised", home))


def committed(home: Broker, transaction: Transaction) -> None:
    """The transaction has committed: post what it raised. What was dropped since says nothing."""
    for key in sorted(home.raised):
        writer, notification, event, body = home.raised[key]
        if writer is transaction:
            home.engine.journal.put(None, home, home.raised, key, MISSING)
            if _alive(home, notification):
                _post(home, notification, event, body)


def _send_before_drop(
    home: Broker, session: Caller, notification: EventNotification, endpoint: Endpoint
) -> None:
    """Events of the very transaction that drops the notification are sent, then it is dropped."""
    transaction = session.work()
    verbs.lock_group(home, transaction, endpoint.group)
    for key in sorted(home.raised):
        writer, asked, _, body = home.raised[key]
        if writer is transaction and asked is notification:
            home.engine.journal.put(transaction, home, home.raised, key, MISSING)
            _send(home, transaction, endpoint, body)


def _alive(home: Broker, notification: EventNotification) -> bool:
    server = getattr(home.database, "server", None)
    where: Broker | Transport = (
        server.transport if server and notification.scope == SERVER else home
    )
    return any(found is notification for found in where.notifications.values())


# ---------------------------------------------------------------------- events of queues
def activation_needed(queue: Queue) -> None:
    """QUEUE_ACTIVATION: there is work for one more reader."""
    database = queue.broker.database
    fields = [
        ("ServerName", _server_name(database)),
        ("LoginName", "sa"),
        ("UserName", "dbo"),
        ("DatabaseName", database.name),
        ("SchemaName", queue.schema),
        ("ObjectName", queue.name),
        ("ObjectType", "QUEUE"),
    ]
    _raise(queue, QUEUE_ACTIVATION, fields)


def queue_disabled(queue: Queue) -> None:
    """BROKER_QUEUE_DISABLED: poison messages have switched a queue off.

    The fields are columns of the trace event class Broker:Queue Disabled, in column order.
    """
    database = queue.broker.database
    now = queue.broker.engine.clock.utc().isoformat(timespec="milliseconds")
    fields = [
        ("DatabaseID", str(database.id)),
        ("LoginName", "sa"),
        ("StartTime", now),
        ("ObjectID", str(queue.object_id)),
        ("ServerName", _server_name(database)),
        ("LoginSid", "AQ=="),
        ("IsSystem", "1"),
        ("SessionLoginName", ""),
    ]
    _raise(queue, QUEUE_DISABLED, fields)


def _raise(queue: Queue, event: str, fields: list[tuple[str, str]]) -> None:
    """Post an event to whoever asked for it on the queue or (trace events) on the server."""
    broker = queue.broker
    listeners = [(broker, found) for found in of_queue(queue, event)]
    server = getattr(broker.database, "server", None)
    transport = getattr(server, "transport", None)
    if event != QUEUE_ACTIVATION and transport is not None:
        home = cast("HomeServer", server).databases["msdb"].broker
        listeners += [
            (home, found)
            for _, found in sorted(transport.notifications.items())
            if event in found.events
        ]
    if not listeners:
        return
    now = broker.engine.clock.utc().isoformat(timespec="milliseconds")
    known = [("EventType", event), ("PostTime", now), ("SPID", str(SPID)), *fields]
    inner = "".join(
        f"<{name}>{escape(shown, quote=False)}</{name}>" if shown else f"<{name}/>"
        for name, shown in known
    )
    body = _encoded(f"<EVENT_INSTANCE>{inner}</EVENT_INSTANCE>")
    for home, notification in _merged(listeners):
        _post(home, notification, event, body)


def _merged(
    listeners: list[tuple[Broker, EventNotification]],
) -> Iterator[tuple[Broker, EventNotification]]:
    """WITH FAN_IN: one message per service, whatever number of notifications of one creator."""
    merged: set[tuple[bytes, str, str]] = set()
    for home, notification in listeners:
        if notification.creator is not None:
            key = (notification.creator, notification.service_name, notification.broker_instance)
            if key in merged:
                continue
            merged.add(key)
        yield home, notification


def _encoded(body: str) -> bytes:
    """xml as varbinary: UTF-16 with a byte order mark."""
    return BOM_UTF16_LE + body.encode("utf-16-le")


def _server_name(database: BrokerHome) -> str:
    transport = getattr(getattr(database, "server", None), "transport", None)
    return transport.server_name if transport is not None else ""


def _post(home: Broker, notification: EventNotification, event: str, body: bytes) -> None:
    """Send one message; a notification that cannot send is dropped (17005)."""
    endpoint = home.endpoints.get(notification.handle)
    if endpoint is None or endpoint.own or endpoint.said or endpoint.arrivals:
        home.log(
            f"spid{SPID}s",
            text(17001, event, notification.handle, 8426 if endpoint is None else 8429),
        )
        home.log(f"spid{SPID}s", text(17005, notification.name, home.database.name))
        _forget(home, notification)
        return
    _send(home, None, endpoint, body)


def _send(home: Broker, transaction: Transaction | None, endpoint: Endpoint, body: bytes) -> None:
    sequence = endpoint.send_sequence
    home.engine.journal.assign(transaction, endpoint, "send_sequence", sequence + 1)
    transmission.dispatch(
        transaction,
        endpoint,
        transmission.MESSAGE,
        sequence,
        home.message_types[names.EVENT_NOTIFICATION],
        body,
    )


def _forget(home: Broker, notification: EventNotification) -> None:
    """Drop a notification that has lost its conversation."""
    server = getattr(home.database, "server", None)
    where: Broker | Transport = (
        server.transport if server and notification.scope == SERVER else home
    )
    for key, found in list(where.notifications.items()):
        if found is notification:
            home.engine.journal.put(
                None, where, cast("dict[Any, EventNotification]", where.notifications), key, MISSING
            )
    queue = next((q for q in home.queues() if q.object_id == notification.parent_id), None)
    _watch(None, queue, notification, -1)
    if queue is not None:
        queue.monitor.altered()


# ---------------------------------------------------------------------- what comes back
def _heard(endpoint: Endpoint) -> None:
    """The far side has ended, or delivery failed for good: the conversation is over."""
    if endpoint.dead or not endpoint.said:
        return
    broker = endpoint.broker
    errors = [message for message, writer in endpoint.inbox.special.values() if writer is None]
    if errors:
        reason = error_body.decode(cast(bytes, errors[0][3]))[1]
        broker.log(f"spid{SPID}s", text(17003, endpoint.handle, reason))
        if value(broker.engine, "notification_after_error") == "dropped":
            transport = getattr(getattr(broker.database, "server", None), "transport", None)
            for where in (broker, transport):
                for found in list(where.notifications.values()) if where is not None else []:
                    if found.handle == endpoint.handle:
                        _forget(broker, found)
    else:
        broker.log(f"spid{SPID}s", text(17004, endpoint.handle))
    broker.engine.journal.assign(None, endpoint, "own", GONE)
    finish(endpoint)
