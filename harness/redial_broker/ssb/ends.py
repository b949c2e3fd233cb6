"""What follows the end of a transaction.

``transaction_ended`` is called with the events a transaction left (plain tuples); locks are still
held then, so a session woken here runs after they are gone. A rolled-back statement or savepoint
leaves its events behind: each handler looks at the state itself, never trusts the event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.ssb import alarms, notifications, queue_locks, timers, transmission
from redial_broker.ssb.closing import finish, vacate
from redial_broker.ssb.conversation import BUSY, CLOSED, GONE, PEER_ENDED
from redial_broker.ssb.counters import ROLLBACKS
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.conversation import Endpoint, Group
    from redial_broker.ssb.inbox import Inbox
    from redial_broker.ssb.needs import BrokerEvent
    from redial_broker.ssb.queue import Queue


def transaction_ended(transaction: Transaction, committed: bool, events: list[BrokerEvent]) -> None:
    """Watcher of every transaction's end; see the module's docstring.

    What fails for one conversation is raised when the others have had their turn.
    """
    queues: dict[Queue, bool] = {}
    handlers = _COMMITTED if committed else _ROLLED_BACK
    failed: list[Exception] = []
    if not committed:
        _count_rollback(events)
    for event in events:
        handler = handlers.get(event[0])
        if handler is not None:
            try:
                handler(transaction, event, queues)
            except Exception as error:
                failed.append(error)
    for queue in queues:  # True: its rollback is counted already
        try:
            queue.poke()
        except Exception as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _count_rollback(events: list[BrokerEvent]) -> None:
    """Every verb locks a conversation group: a transaction that did has used the broker."""
    group = next((event[1] for event in events if event[0] == "ssb.group"), None)
    if group is not None:
        broker = group.service.broker
        broker.counters.add(broker.engine.journal, ROLLBACKS)


# ---------------------------------------------------------------------- after a commit
def _created(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    endpoint = event[1]
    if endpoint.creator is transaction:
        endpoint.broker.engine.journal.assign(None, endpoint, "creator", None)
        alarms.arm(endpoint)


def _enqueued(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    inbox: Inbox = event[1]
    if inbox.writer is transaction:
        inbox.endpoint.broker.engine.journal.assign(None, inbox, "writer", None)
    if not inbox.endpoint.dead or inbox.left:
        queues.setdefault(inbox.endpoint.service.queue, False)
    vacate(inbox.endpoint)


def _special(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    inbox: Inbox = event[1]
    put = inbox.endpoint.broker.engine.journal.put
    for key, (message, writer) in list(inbox.special.items()):
        if writer is transaction:
            put(None, inbox, inbox.special, key, (message, None))
    if not inbox.endpoint.dead:
        queues.setdefault(inbox.endpoint.service.queue, False)


def _held(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    queue: Queue = event[1]
    for order, row in list(queue.held.items()):
        if row[5] is transaction:
            queue.broker.engine.journal.put(None, queue, queue.held, order, (*row[:5], None))
    if queue.enabled:
        queue.release_held()


def _received(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    inbox: Inbox = event[1]
    queue = inbox.endpoint.service.queue
    if inbox.endpoint.dead and not inbox.left:
        return
    inbox.settle_received()
    queue.relist(inbox)
    vacate(inbox.endpoint)
    if value(queue.broker.engine, "poison_reset") == "commit":
        queue.reset_poison()
    queues.setdefault(queue, False)


def _arrived(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """What the transaction told an endpoint now holds for everybody."""
    endpoint: Endpoint = event[1]
    kind = endpoint.arrivals.get(transaction)
    if kind is None:
        return
    journal = endpoint.broker.engine.journal
    journal.put(None, endpoint, endpoint.arrivals, transaction, MISSING)
    if endpoint.said in {"", PEER_ENDED}:
        journal.assign(None, endpoint, "said", kind)
    transmission.retry(endpoint, transaction)


def _own_end(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    endpoint: Endpoint = event[1]
    peer = endpoint.peer
    if (endpoint.own == GONE and endpoint.dead < 2) or (
        endpoint.own == CLOSED and not endpoint.dead
    ):
        finish(endpoint, at_once=True)
    else:
        # DISCONNECTED_OUTBOUND, if that has just been delivered
        transmission.settle(endpoint, at_once=True)
    if endpoint.inbox.left:
        queues.setdefault(endpoint.service.queue, False)
        vacate(endpoint)
    _release_held_back(peer, transaction)


def _release_held_back(peer: Endpoint | None, ending: Transaction) -> None:
    """Messages that waited in the transmission queue for an END to be decided (F-456)."""
    if peer is not None and peer.pending and peer.status == BUSY:
        transmission.retry(peer, ending)


def _end_undone(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    _release_held_back(event[1].peer, transaction)


def _expired(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """LIFETIME has passed while this transaction was open, which had sent (F-457)."""
    timers.expire(event[1], transaction)


def _pending(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    endpoint: Endpoint = event[1]
    if endpoint.pending_writer is transaction:
        endpoint.broker.engine.journal.assign(None, endpoint, "pending_writer", None)
    transmission.retry(endpoint, transaction)


def _alarm(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    endpoint: Endpoint = event[1]
    if endpoint.alarm_writer is transaction:
        endpoint.broker.engine.journal.assign(None, endpoint, "alarm_writer", None)
    alarms.arm(endpoint)


def _altered(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """Definitions or broker options have changed: monitors and waiting rows may care."""
    broker_altered(event[1], transaction)


def _queue_altered(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    queue_altered(event[1])
    transmission.retry_later(event[1].broker, transaction)


def _watched(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """An event notification for QUEUE_ACTIVATION was created or dropped."""
    event[1].monitor.altered()


def _look(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """Conversations of a queue are gone: sessions that wait there look again."""
    event[1].wake()


def _raised(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """Definitions have changed that event notifications ask for."""
    notifications.committed(event[1], transaction)


def _dropped(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """A queue is gone: whoever waits there fails at once."""
    event[1].wake(SqlError(208, event[1].full_name))


def _moved(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """ALTER SERVICE .. ON QUEUE has held or not: list its messages where the service is now."""
    _, service, both = event
    for endpoint in service.broker.endpoints.values():
        if endpoint.service is service:
            for queue in both:
                if queue is not service.queue:
                    queue.unlist(endpoint.inbox)
            service.queue.relist(endpoint.inbox)
    for queue in both:  # who waits for a conversation that has left fails (RECEIVE page)
        queue.wake()
    queues.setdefault(service.queue, False)


def _group(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """A group becomes free: unread messages of it can be received by others."""
    group: Group = event[1]
    for endpoint in group.members.values():
        inbox = endpoint.inbox
        if inbox.rows or inbox.special:
            queues.setdefault(endpoint.service.queue, False)


def broker_altered(broker: Broker, ending: Transaction | None = None) -> None:
    """Something of the broker has changed and the change has committed."""
    if broker.awake:
        timers.make_up(broker)
    for queue in broker.queues():
        queue.monitor.altered()
    transmission.retry_all(broker, ending)


def switch_off_at_once(queue: Queue) -> None:
    """A poisoned queue goes off whoever uses it."""
    if queue_locks.switch_off(queue, None):
        queue_altered(queue)
        notifications.queue_disabled(queue)


def _went_off(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """The task that switches a poisoned queue off has committed."""
    _queue_altered(transaction, event, queues)
    notifications.queue_disabled(event[1])


def queue_altered(queue: Queue) -> None:
    """A queue's options have changed and the change has committed."""
    if queue.enabled:
        queue.release_held()
    else:
        queue.wake(SqlError(9617, queue.name))
    queue.reset_poison()
    queue.monitor.altered()


_COMMITTED = {
    "ssb.created": _created,
    "ssb.enqueued": _enqueued,
    "ssb.special": _special,
    "ssb.held": _held,
    "ssb.received": _received,
    "ssb.arrived": _arrived,
    "ssb.end": _own_end,
    "ssb.pending": _pending,
    "ssb.alarm": _alarm,
    "ssb.altered": _altered,
    "ssb.queue": _queue_altered,
    "ssb.off": _went_off,
    "ssb.dropped": _dropped,
    "ssb.group": _group,
    "ssb.moved": _moved,
    "ssb.watched": _watched,
    "ssb.raised": _raised,
    "ssb.look": _look,
    "ssb.expired": _expired,
}


# ---------------------------------------------------------------------- after a rollback
def _received_again(
    transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]
) -> None:
    """The messages are back. Five times in a row, and the queue is switched off."""
    _, inbox, first = event
    queue = inbox.endpoint.service.queue
    queue.relist(inbox)
    counted = queues.get(queue, False)
    queues[queue] = True
    if not counted and queue.enabled and queue.rolled_back((inbox.endpoint.handle, first)):
        queue.broker.poisoned(queue)


def _undone(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    """What was put in is out again; the ready list may still name the inbox."""
    inbox: Inbox = event[1]
    inbox.endpoint.service.queue.relist(inbox)
    vacate(inbox.endpoint)


def _alarm_back(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    alarms.arm(event[1])


def _pending_back(transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]) -> None:
    if event[1].pending:
        transmission.retry(event[1], transaction)


def _queue_altered_back(
    transaction: Transaction, event: BrokerEvent, queues: dict[Queue, bool]
) -> None:
    """Rows that found the queue busy may go on."""
    transmission.retry_all(event[1].broker, transaction)


_ROLLED_BACK = {
    "ssb.queue": _queue_altered_back,
    "ssb.moved": _moved,
    "ssb.received": _received_again,
    "ssb.enqueued": _undone,
    "ssb.special": _undone,
    "ssb.alarm": _alarm_back,
    "ssb.pending": _pending_back,
    "ssb.group": _group,
    "ssb.end": _end_undone,
    "ssb.expired": _expired,
}
