"""Delivery: straight into the target queue, or by way of the transmission queue.

Everything stays inside one instance: whatever ``routing`` sends elsewhere waits. A message that
cannot be delivered waits with its sender (``Endpoint.pending``) together with the reason, and is
tried again when something that could help has changed. Refusals of the target come back as Error
messages, never as errors of SEND.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.broker_messages import text
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.journal import MISSING
from redial_broker.ssb import closing, names, races, routing
from redial_broker.ssb.conversation import (
    BUSY,
    ENDED,
    PEER_ENDED,
    PEER_ERROR,
    Endpoint,
    Group,
)
from redial_broker.ssb.counters import DEQUEUED, WAITING
from redial_broker.ssb.faults import fault, tell
from redial_broker.ssb.inbox import FAULT, Inbox
from redial_broker.ssb.routing import Refused
from redial_broker.ssb.switches import value
from redial_broker.ssb.validation import failure

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.definitions import Contract, MessageType, Service
    from redial_broker.ssb.queue import Queue

MESSAGE, END, ERROR = "message", "end", "error"
"""Kinds of rows: a user message, EndDialog, Error of END .. WITH ERROR."""

DEFAULT_PRIORITY = 5
NO_MASTER_KEY = 26
"""Error code in message 28054 when there is no master key (seen in error logs)."""


def dispatch(
    transaction: Transaction | None,
    endpoint: Endpoint,
    kind: str,
    sequence: int,
    message_type: MessageType,
    body: bytes | None,
) -> bool:
    """Deliver a row or put it behind the others in the transmission queue; True when delivered."""
    late = value(endpoint.broker.engine, "enqueue_at") == "commit" and transaction is not None
    if not endpoint.pending and not late:
        delivered = _attempt(transaction, endpoint, kind, sequence, message_type, body)
        if delivered:
            return True
    _keep(transaction, endpoint, kind, sequence, message_type, body)
    return False


def _attempt(
    transaction: Transaction | None,
    endpoint: Endpoint,
    kind: str,
    sequence: int,
    message_type: MessageType,
    body: bytes | None,
    ending: Transaction | None = None,
) -> bool:
    try:
        target = _target(endpoint)
    except Refused as refusal:
        fault(transaction, endpoint, refusal.number, *refusal.parameters)
        return kind != MESSAGE
    if isinstance(target, str):
        _set_status(endpoint, target)
        return False
    queue = target.queue
    if _busy(queue, transaction, ending) or (
        kind == MESSAGE and races.held_back(transaction or ending, endpoint)
    ):
        _set_status(endpoint, BUSY)
        return False
    if not queue.enabled:
        _set_status(endpoint, _queue_off(endpoint, queue))
        return False
    return _accept(transaction, endpoint, target, kind, sequence, message_type, body)


def _busy(queue: Queue, transaction: Transaction | None, ending: Transaction | None) -> bool:
    """Whether DDL holds the queue. ending: a transaction whose locks are about to go."""
    locks = queue.broker.engine.locks
    if transaction is not None:
        return not locks.try_acquire(transaction, queue.lock_key, "IX")
    resource = locks.resources.get(queue.lock_key)
    return resource is not None and any(
        mode == "Sch-M" and holder is not ending for holder, mode in resource.granted.items()
    )


def _queue_off(endpoint: Endpoint, queue: Queue) -> str:
    choice = value(endpoint.broker.engine, "target_queue_off_status")
    if choice == "engine":
        return text(9617, queue.name)
    return text(28021) if choice == "undelivered" else "Target queue is disabled."


def _set_status(endpoint: Endpoint, status: str) -> None:
    if endpoint.status != status:
        endpoint.broker.engine.journal.assign(None, endpoint, "status", status)


def _keep(
    transaction: Transaction | None,
    endpoint: Endpoint,
    kind: str,
    sequence: int,
    message_type: MessageType,
    body: bytes | None,
) -> None:
    """A new row of the transmission queue."""
    broker = endpoint.broker
    journal = broker.engine.journal
    broker.counters.add(journal, WAITING)
    if endpoint.handle not in broker.senders:
        journal.put(None, broker, broker.senders, endpoint.handle, endpoint)
    if transaction is not None:
        if endpoint.pending_writer is not transaction:
            journal.assign(transaction, endpoint, "pending_settled", sequence)
            journal.assign(transaction, endpoint, "pending_writer", transaction)
        broker.note(transaction, ("ssb.pending", endpoint))
    journal.put(
        transaction,
        endpoint,
        endpoint.pending,
        sequence,
        (kind, message_type, body, broker.engine.clock.now()),
    )


# ---------------------------------------------------------------------- where to
def _target(endpoint: Endpoint) -> Service | str:
    """The service to deliver to, or the status that says why not yet. Raises Refused."""
    found = routing.find_target(endpoint)
    if isinstance(found, str) or found.broker is endpoint.broker or endpoint.peer is not None:
        return found
    return (
        _key_missing(endpoint, found.broker) or endpoint.broker.no_entry(endpoint, found) or found
    )


def _key_missing(endpoint: Endpoint, target: Broker) -> str | None:
    """Between two databases a secured dialog needs both master keys (dialog security page).

    A remote service binding for the service secures the dialog even with ENCRYPTION = OFF.
    """
    broker = endpoint.broker
    if not endpoint.encrypted and routing.binding_of(broker, endpoint.far_service) is None:
        return None
    for number, side in ((28050, broker), (28051, target)):
        if not side.has_master_key:
            broker.log("spid21s", text(28054, side.database.name, NO_MASTER_KEY))
            return text(number)
    return None


# ---------------------------------------------------------------------- arrival
def _accept(
    transaction: Transaction | None,
    endpoint: Endpoint,
    service: Service,
    kind: str,
    sequence: int,
    message_type: MessageType,
    body: bytes | None,
) -> bool:
    """The target takes a row, or refuses it with an Error message to the sender.

    False: a message was refused. It is never acknowledged, so it stays pending until its sender
    ends the dialog, which is what makes a resend after -8462 possible (seed 004).
    """
    peer = endpoint.peer
    if peer is None:
        if kind == ERROR:
            return True  # the far side never heard of this conversation
        peer = _first_message(transaction, endpoint, service)
        if peer is None:
            return kind != MESSAGE
    if peer.dead:
        if kind == MESSAGE:
            fault(transaction, endpoint, 8462)
        return kind != MESSAGE
    broker = service.broker
    queue = peer.service.queue
    if kind == END:
        tell(transaction, peer, PEER_ENDED)
        queue.put(transaction, peer.inbox, sequence, broker.message_types[names.END_DIALOG], None)
    elif kind == ERROR:
        tell(transaction, peer, PEER_ERROR)
        queue.put_special(
            transaction, peer.inbox, FAULT, sequence, broker.message_types[names.ERROR], body
        )
    else:
        local_type = _check(transaction, endpoint, peer, sequence, message_type, body)
        if local_type is None:
            return False
        queue.put(transaction, peer.inbox, sequence, local_type, body)
    return True


def _first_message(
    transaction: Transaction | None, endpoint: Endpoint, service: Service
) -> Endpoint | None:
    """The target's endpoint, made by the arrival of the first message; None when refused."""
    broker = service.broker
    contract = broker.contracts.get(endpoint.contract.name)
    refusal: tuple[Any, ...] | None = None  # error number, what its text names
    if contract is None:
        refusal = (8425, endpoint.contract.name)
    elif contract.name not in service.contracts:
        refusal = (8408, service.name, contract.name)
    elif not broker.may_send(endpoint, service):
        refusal = (8494, service.name)
    if refusal is not None:
        fault(transaction, endpoint, *refusal)
        return None
    engine = broker.engine
    handle = stream_guid(engine.seed, f"target/{endpoint.handle}", 0)
    group = Group(broker, stream_guid(engine.seed, f"target group/{endpoint.handle}", 0), service)
    peer = Endpoint(
        service,
        handle,
        endpoint.conversation_id,
        group,
        cast("Contract", contract),
        endpoint.service.name,
        False,
    )
    peer.inbox = Inbox(peer)
    peer.peer = endpoint
    peer.far_broker = endpoint.broker.guid
    peer.lifetime, peer.expires = endpoint.lifetime, endpoint.expires
    peer.encrypted = endpoint.encrypted
    peer.priority = broker.priority(
        cast("Contract", contract).name, service.name, endpoint.service.name
    )
    broker.add_endpoint(transaction, peer)
    engine.journal.assign(transaction, endpoint, "peer", peer)
    return peer


def _check(
    transaction: Transaction | None,
    endpoint: Endpoint,
    peer: Endpoint,
    sequence: int,
    message_type: MessageType,
    body: bytes | None,
) -> MessageType | None:
    """The target's own message type of that name, when type and body may arrive; else an Error.

    The sender is told with the number a sender sees; a side that already talks is told as well, and
    of a body that fails validation also one whose first message it is (F-366).
    """
    broker = peer.broker
    local = broker.message_types.get(message_type.name)
    refusal: tuple[Any, ...] | None = None  # error number, what its text names
    told: tuple[Any, ...] | None = None
    if local is None:
        refusal = (8428, message_type.name)
    elif not peer.contract.usages.get(local.name):
        refusal = (8498, local.name)
    elif not peer.contract.usages[local.name] & endpoint.sent_by:
        refusal = (8457 if endpoint.is_initiator else 8437, local.name)
    else:
        problem = failure(
            local.validation,
            body,
            local.collection,
            value(broker.engine, "text_outside_of_elements") == "accepted",
        )
        if problem is None:
            return local
        if local.validation == names.XML:
            where = (
                local.name,
                problem,
                endpoint.conversation_id,
                int(endpoint.is_initiator),
                sequence,
            )
            refusal, told = (9615, *where), (9616, *where)
        else:
            refusal = told = (8430,)
    fault(transaction, endpoint, *refusal)
    if told is not None or peer.inbox.tail or peer.send_sequence:
        fault(transaction, peer, *(told or refusal))
    return None


# ---------------------------------------------------------------------- again
def retry(endpoint: Endpoint, ending: Transaction | None = None) -> None:
    """Deliver what waits with an endpoint, as far as it goes and is committed.

    ending: the transaction whose end is the reason.
    """
    journal = endpoint.broker.engine.journal
    while endpoint.pending and not endpoint.dead:
        sequence = min(endpoint.pending)
        if endpoint.pending_writer is not None and sequence >= endpoint.pending_settled:
            return
        if ending is not None and ending in endpoint.arrivals:
            return  # it told the endpoint something: that event of it retries
        if endpoint.said:
            # Held until the application ends this side: the window for a resend.
            ended = endpoint.said == PEER_ENDED
            _set_status(endpoint, text(9779 if ended else 9784))
            break
        kind, message_type, body, _ = endpoint.pending[sequence]
        if not _attempt(None, endpoint, kind, sequence, message_type, body, ending):
            if endpoint.said:
                continue  # refused
            return
        journal.put(None, endpoint, endpoint.pending, sequence, MISSING)
        endpoint.broker.counters.add(journal, DEQUEUED)
        _set_status(endpoint, "")
    settle(endpoint)


def settle(endpoint: Endpoint, *, at_once: bool = False) -> None:
    """Finish a side whose END has been delivered, or need not be any more.

    at_once: its END has just committed (``closing.finish``).
    """
    broker = endpoint.broker
    if not endpoint.pending and endpoint.handle in broker.senders:
        broker.engine.journal.put(None, broker, broker.senders, endpoint.handle, MISSING)
    if endpoint.own != ENDED or endpoint.dead or endpoint.alarm_writer is not None:
        return
    acknowledged = value(broker.engine, "initiator_end_acknowledged") == "at once"
    if endpoint.said or (not endpoint.pending and acknowledged):
        closing.settle_end(endpoint, at_once=at_once)


def retry_all(broker: Broker, ending: Transaction | None = None) -> None:
    """Something that could help has changed: every sender of the instance is tried.

    Higher priorities first, over all transmission queues of the instance, where the sender's
    database has HONOR_BROKER_PRIORITY ON (conversation priorities page).
    """
    waiting = [
        (_rank(endpoint), other, handle)
        for other in broker.brokers()
        for handle, endpoint in other.senders.items()
    ]
    for _, other, handle in sorted(waiting, key=lambda item: item[0]):
        endpoint = other.senders.get(handle)
        if endpoint is not None:
            retry(endpoint, ending)


def _rank(endpoint: Endpoint) -> tuple[int, float, int, str]:
    """Order of transmission: priority, then who has waited longest; handles make it repeatable."""
    options = getattr(endpoint.broker.database, "options", {})
    level = endpoint.priority if options.get("honor_broker_priority") else DEFAULT_PRIORITY
    first = min(endpoint.pending, default=None)
    since = endpoint.pending[first][3] if first is not None else 0.0
    return -level, since, endpoint.broker.database.id, endpoint.handle


def retry_later(broker: Broker, ending: Transaction | None = None) -> None:
    """A queue was altered: try at once, or after the delay the switch names."""
    engine = broker.engine
    delay = value(engine, "retry_delay_s")
    if not delay:
        retry_all(broker, ending)
    elif any(other.senders for other in broker.brokers()):
        engine.timers.set(
            None, "ssb.retry", (broker.database.id, "all"), engine.clock.now() + delay
        )
