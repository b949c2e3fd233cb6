"""BEGIN DIALOG, SEND, END, MOVE and BEGIN CONVERSATION TIMER.

Each function takes all its locks before it changes anything: a ``Wait`` undoes the statement and
runs it again from its start. ``s`` is the session (``work()``, ``new_guid()``), handles and group
ids are 36-character upper-case strings, names compare byte by byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.errors import SqlError
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.journal import MISSING
from redial_broker.ssb import alarms, error_body, names, transmission
from redial_broker.ssb.conversation import (
    CLOSED,
    ENDED,
    GONE,
    OPEN,
    PEER_ENDED,
    Endpoint,
    Group,
)
from redial_broker.ssb.counters import DEQUEUED, SENDS
from redial_broker.ssb.faults import tell
from redial_broker.ssb.inbox import Inbox
from redial_broker.ssb.queue_locks import send_meets_ddl
from redial_broker.ssb.races import end_meets_rows, send_meets_end
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.definitions import Contract, MessageType, Service
    from redial_broker.ssb.needs import Caller

CURRENT_DATABASE = "CURRENT DATABASE"
MAX_NAME = 256
MAX_BODY = 2**31 - 1
SEND_LOG, BEGIN_LOG, END_LOG = 340, 560, 480
"""Approximate bytes of log per verb; only their being there matters to the deadlock victim."""


# ---------------------------------------------------------------------- finding and locking
def lock_group(broker: Broker, transaction: Transaction, group: Group) -> None:
    """X on a conversation group to the end of the transaction. Raises Wait, 1222, 1205."""
    key = group.lock_key
    if key not in transaction.locks:
        # Before it may wait: run again, the statement finds the lock granted and goes past here.
        broker.note(transaction, ("ssb.group", group))
        heeds = value(broker.engine, "group_lock_timeout") == "1222"
        broker.engine.locks.acquire(transaction, key, "X", timeout=None if heeds else -1)


def conversation(
    broker: Broker, transaction: Transaction, handle: str | None, position: int = 0
) -> Endpoint:
    """The endpoint of a handle, its group locked.

    position: in a SEND to several. Raises SqlError 8418, 8426, or with a position 8441, 8435.
    """
    if handle is None:
        raise SqlError(8441, position) if position else SqlError(8418)
    endpoint = broker.endpoints.get(handle)
    if endpoint is not None:
        group = endpoint.group
        if group.lock_key not in transaction.locks:
            lock_group(broker, transaction, group)
        if endpoint.own != GONE:
            return endpoint
    raise SqlError(8435, handle, position) if position else SqlError(8426, handle)


# ---------------------------------------------------------------------- BEGIN DIALOG
def begin_dialog(
    broker: Broker,
    session: Caller,
    from_service: str | None,
    to_service: str | None,
    *,
    broker_instance: str | None = None,
    contract: str | None = names.DEFAULT,
    related_conversation: str | None = None,
    related_group: str | None = None,
    lifetime: int | None = None,
    encryption: bool = True,
) -> str:
    """A new dialog; returns the initiator's handle. Nothing is sent before the first SEND.

    lifetime: seconds, None when not stated. Raises SqlError 8421, 8423, 8417, 8425, 8411..8413,
    9610 and 8426.
    """
    service, agreed = _parties(broker, from_service, to_service, contract)
    far_broker = _far_broker(broker, broker_instance)
    if lifetime is not None and not 1 <= lifetime <= names.NEVER:
        raise SqlError(8411, lifetime, 1, names.NEVER)
    transaction = session.work()
    group = _related(broker, transaction, service, related_conversation, related_group)
    handle = session.new_guid()
    if group is None:
        group = Group(broker, related_group or session.new_guid(), service)
    lock_group(broker, transaction, group)
    endpoint = Endpoint(
        service,
        handle,
        stream_guid(broker.engine.seed, f"conversation/{handle}", 0),
        group,
        agreed,
        to_service or "",
        True,
    )
    endpoint.inbox = Inbox(endpoint)
    endpoint.far_broker = far_broker
    endpoint.expires = lifetime is not None and lifetime < names.NEVER
    endpoint.lifetime = broker.engine.clock.now() + (lifetime or names.NEVER)
    endpoint.encrypted = encryption
    endpoint.priority = broker.priority(agreed.name, service.name, endpoint.far_service)
    broker.add_endpoint(transaction, endpoint)
    transaction.log_used += BEGIN_LOG
    return handle


def _parties(
    broker: Broker, from_service: str | None, to_service: str | None, contract: str | None
) -> tuple[Service, Contract]:
    if from_service is None or to_service is None:
        raise SqlError(8421)
    service = broker.services.get(from_service)
    if service is None:
        raise SqlError(8423, from_service)
    if not to_service or len(to_service) > MAX_NAME:
        raise SqlError(8412, to_service[:MAX_NAME])
    if contract is None:
        raise SqlError(8417)
    agreed = broker.contracts.get(contract)
    if agreed is None:
        raise SqlError(8425, contract)
    return service, agreed


def _far_broker(broker: Broker, instance: str | None) -> str | None:
    if instance is None:
        return None
    if instance.upper() == CURRENT_DATABASE:
        return broker.guid
    text = instance.strip("{}").upper()
    digits = text.replace("-", "")
    if len(text) != 36 or len(digits) != 32 or any(c not in "0123456789ABCDEF" for c in digits):
        raise SqlError(8413, instance[:MAX_NAME])
    return text


def _related(
    broker: Broker,
    transaction: Transaction,
    service: Service,
    handle: str | None,
    group_id: str | None,
) -> Group | None:
    """The existing group the dialog joins, locked; None when it gets a new one."""
    if handle is not None:
        group = conversation(broker, transaction, handle).group
        option, given = "RELATED_CONVERSATION", handle
    elif group_id is not None:
        # The lock first: another transaction may be making the group of that id just now.
        lock_group(broker, transaction, Group(broker, group_id, service))
        group = broker.groups.get(group_id)  # type: ignore[assignment]
        option, given = "RELATED_CONVERSATION_GROUP", group_id
        if group is None:
            return None
    else:
        return None
    if group.service is not service:
        raise SqlError(9610, service.name, group.service.name, option, given)
    return group


# ---------------------------------------------------------------------- SEND
def send(
    broker: Broker, session: Caller, handle: str | None, type_name: str | None, body: bytes | None
) -> None:
    """SEND ON CONVERSATION one handle. body: None when omitted or empty."""
    transaction = session.work()
    endpoint = conversation(broker, transaction, handle)
    message_type = _sendable(endpoint, transaction, type_name, body)
    send_meets_end(transaction, endpoint)
    send_meets_ddl(transaction, endpoint)
    _send(transaction, endpoint, message_type, body)
    broker.counters.add(broker.engine.journal, SENDS)


def send_many(
    broker: Broker,
    session: Caller,
    handles: list[str | None],
    type_name: str | None,
    body: bytes | None,
) -> None:
    """SEND ON CONVERSATION (several): all or none. Errors name the position, from 1."""
    transaction = session.work()
    seen: set[str] = set()
    for position, handle in enumerate(handles, 1):
        if handle is not None and handle in seen:
            raise SqlError(8451, handle, position)
        seen.add(handle or "")
    endpoints = [
        conversation(broker, transaction, handle, position)
        for position, handle in enumerate(handles, 1)
    ]
    types = [_sendable(endpoint, transaction, type_name, body) for endpoint in endpoints]
    for endpoint in endpoints:
        send_meets_end(transaction, endpoint)
        send_meets_ddl(transaction, endpoint)
    for endpoint, message_type in zip(endpoints, types):
        _send(transaction, endpoint, message_type, body)
    broker.counters.add(broker.engine.journal, SENDS)


def _sendable(
    endpoint: Endpoint, transaction: Transaction, type_name: str | None, body: bytes | None
) -> MessageType:
    """The message type, when this side may send it now."""
    name = names.DEFAULT if type_name is None else type_name
    message_type = endpoint.broker.message_types.get(name)
    if message_type is None:
        raise SqlError(8428, name)
    if not endpoint.usable(transaction):
        raise SqlError(8429, endpoint.state_text(transaction))
    allowed = endpoint.contract.usages.get(name)
    if allowed is None:
        raise SqlError(8431, name)
    if not allowed & endpoint.sent_by:
        raise SqlError(8432 if endpoint.is_initiator else 8434, name)
    if body is not None and len(body) > MAX_BODY:
        raise SqlError(8459, MAX_BODY)
    queue = endpoint.service.queue
    if queue.retention and not queue.enabled:
        raise SqlError(9618, queue.name)
    return message_type


def _send(
    transaction: Transaction, endpoint: Endpoint, message_type: MessageType, body: bytes | None
) -> None:
    """Number the message and hand it to delivery; the common case is written out flat."""
    engine = endpoint.broker.engine
    sequence = endpoint.send_sequence
    lost = transaction.savepoints and value(engine, "undone_send_number") == "lost"
    engine.journal.assign(None if lost else transaction, endpoint, "send_sequence", sequence + 1)
    transaction.log_used += SEND_LOG + (len(body) if body else 0)
    queue = endpoint.service.queue
    if queue.retention:
        _retain(transaction, endpoint, sequence, message_type, body)
    peer = endpoint.peer
    if (
        peer is not None
        and not peer.own
        and not endpoint.pending
        and message_type.validation == names.NONE
        and peer.broker is endpoint.broker
        and peer.broker.enabled
        and (target := peer.service.queue).enabled
        and (
            target.lock_key in transaction.locks
            or engine.locks.try_acquire(transaction, target.lock_key, "IX")
        )
        and value(engine, "enqueue_at") == "send"
    ):
        target.put(transaction, peer.inbox, sequence, message_type, body)
        return
    transmission.dispatch(transaction, endpoint, transmission.MESSAGE, sequence, message_type, body)


def _retain(
    transaction: Transaction,
    endpoint: Endpoint,
    sequence: int,
    message_type: MessageType,
    body: bytes | None,
) -> None:
    """RETENTION = ON: a copy of the own message in the own queue, status 3, until END."""
    queue, journal = endpoint.service.queue, endpoint.broker.engine.journal
    order = queue.next_order
    journal.assign(None, queue, "next_order", order + 1)
    inbox = endpoint.inbox
    journal.put(
        transaction,
        inbox,
        inbox.sent,
        order,
        (order, sequence, message_type, body, endpoint.broker.engine.clock.now()),
    )


# ---------------------------------------------------------------------- END CONVERSATION
def end_conversation(broker: Broker, session: Caller, handle: str | None) -> None:
    """END CONVERSATION: EndDialog follows what this side has sent before."""
    transaction = session.work()
    endpoint = _endable(broker, transaction, handle)
    if not endpoint.usable(transaction) or endpoint.state(transaction) == "SO":
        _close(transaction, endpoint)
        return
    send_meets_ddl(transaction, endpoint)
    if not value(broker.engine, "end_keeps_pending"):
        _drop_pending(transaction, endpoint)
    sequence = endpoint.send_sequence
    broker.engine.journal.assign(transaction, endpoint, "send_sequence", sequence + 1)
    delivered = transmission.dispatch(
        transaction,
        endpoint,
        transmission.END,
        sequence,
        broker.message_types[names.END_DIALOG],
        None,
    )
    _leave(transaction, endpoint, delivered)


def end_with_error(
    broker: Broker, session: Caller, handle: str | None, code: int | None, description: str | None
) -> None:
    """END CONVERSATION WITH ERROR: pending messages of this side are dropped (END page).

    Raises SqlError 8419, 8422 or 8424 for missing parts, 8418, 8426, 8427.
    """
    if code is None:
        raise SqlError(8424 if description is None else 8419)
    if description is None:
        raise SqlError(8422)
    if code <= 0:
        raise SqlError(value(broker.engine, "end_error_code_number"))
    transaction = session.work()
    endpoint = _endable(broker, transaction, handle)
    if not endpoint.usable(transaction) or endpoint.state(transaction) == "SO":
        _close(transaction, endpoint)
        return
    send_meets_ddl(transaction, endpoint)
    _drop_pending(transaction, endpoint)
    sequence = endpoint.send_sequence
    broker.engine.journal.assign(transaction, endpoint, "send_sequence", sequence + 1)
    delivered = transmission.dispatch(
        transaction,
        endpoint,
        transmission.ERROR,
        sequence,
        broker.message_types[names.ERROR],
        error_body.encode(
            code,
            description[:3000],
            bom=value(broker.engine, "error_body_bom"),
            references=value(broker.engine, "error_text_characters") == "reference",
        ),
    )
    _leave(transaction, endpoint, delivered)


def end_with_cleanup(broker: Broker, session: Caller, handle: str | None) -> None:
    """END CONVERSATION WITH CLEANUP: everything of this side goes, the peer is not told.

    The caller has checked that a CLOSED conversation is cleaned by a db_owner (28006).
    """
    transaction = session.work()
    endpoint = conversation(broker, transaction, handle)
    end_meets_rows(transaction, endpoint)
    _drop_pending(transaction, endpoint)
    _own(transaction, endpoint, GONE)


def _endable(broker: Broker, transaction: Transaction, handle: str | None) -> Endpoint:
    endpoint = conversation(broker, transaction, handle)
    if endpoint.own != OPEN:
        raise SqlError(8427, endpoint.state_text(transaction))
    end_meets_rows(transaction, endpoint)
    return endpoint


def _close(transaction: Transaction, endpoint: Endpoint) -> None:
    """END with nobody left to tell: the peer has ended, failed, or was never there.

    Rows of this side that still wait in the transmission queue are gone from now on.
    """
    _drop_pending(transaction, endpoint)
    peer = endpoint.peer
    if peer is not None and peer.own == ENDED and not peer.dead:
        tell(transaction, peer, PEER_ENDED)  # it was only waiting for this acknowledgement
    _own(transaction, endpoint, GONE if endpoint.is_initiator else CLOSED)


def _leave(transaction: Transaction, endpoint: Endpoint, delivered: bool) -> None:
    """END whose EndDialog or Error was handed over, or waits in the transmission queue."""
    patient = (
        endpoint.is_initiator
        and value(endpoint.broker.engine, "initiator_end_acknowledged") == "never"
    )
    if not delivered or patient:
        _own(transaction, endpoint, ENDED)
    else:
        _own(transaction, endpoint, GONE if endpoint.is_initiator else CLOSED)


def _own(transaction: Transaction, endpoint: Endpoint, own: str) -> None:
    alarms.will_change(transaction, endpoint)
    endpoint.broker.engine.journal.assign(transaction, endpoint, "own", own)
    endpoint.broker.note(transaction, ("ssb.end", endpoint))
    transaction.log_used += END_LOG


def _drop_pending(transaction: Transaction, endpoint: Endpoint) -> None:
    for sequence in sorted(endpoint.pending):
        endpoint.broker.engine.journal.put(
            transaction, endpoint, endpoint.pending, sequence, MISSING
        )
        endpoint.broker.counters.add(endpoint.broker.engine.journal, DEQUEUED)


# ---------------------------------------------------------------------- TIMER and MOVE
def begin_timer(broker: Broker, session: Caller, handle: str | None, seconds: int | None) -> None:
    """BEGIN CONVERSATION TIMER: one per side, replaced by the next.

    seconds: from now. Raises SqlError 8418, 8426, 8458 and 8410.
    """
    transaction = session.work()
    endpoint = conversation(broker, transaction, handle)
    state = endpoint.state(transaction)
    if state in {"DI", "ER"}:
        allowed = value(broker.engine, "timer_in_dead_state") == "allow"
    else:
        allowed = state in {"SO", "SI", "CO"}
    if not allowed:
        raise SqlError(8458, endpoint.state_text(transaction))
    if seconds is None or (seconds <= 0 and value(broker.engine, "timer_zero") == "error"):
        raise SqlError(8410)
    engine = broker.engine
    due = engine.clock.now() + max(0, seconds)
    if due > endpoint.lifetime:
        raise SqlError(8410)
    alarms.will_change(transaction, endpoint)
    engine.journal.assign(transaction, endpoint, "timer_due", due)
    transaction.log_used += SEND_LOG


def move_conversation(
    broker: Broker, session: Caller, handle: str | None, group_id: str | None
) -> None:
    """MOVE CONVERSATION handle TO group: both groups are locked, both of one service.

    Raises SqlError 8418, 8420, 8426, 8436, 8438 and 8439.
    """
    transaction = session.work()
    if group_id is None:
        raise SqlError(8420)
    endpoint = conversation(broker, transaction, handle)
    dead = endpoint.state(transaction) in {"DI", "ER"}
    if endpoint.own != OPEN or (dead and value(broker.engine, "move_in_dead_state") == "error"):
        raise SqlError(8438, endpoint.state_text(transaction))
    target = broker.groups.get(group_id)
    if target is None:
        raise SqlError(8436, group_id)
    lock_group(broker, transaction, target)
    if group_id not in broker.groups:
        raise SqlError(8436, group_id)
    if target.service is not endpoint.service:
        raise SqlError(8439, group_id)
    source = endpoint.group
    if source is target:
        return
    put = broker.engine.journal.put
    put(transaction, source, source.members, endpoint.handle, MISSING)
    put(transaction, target, target.members, endpoint.handle, endpoint)
    broker.engine.journal.assign(transaction, endpoint, "group", target)
    if not source.members:
        put(transaction, broker, broker.groups, source.group_id, MISSING)


def transmission_status(broker: Broker, handle: str | None) -> str:
    """GET_TRANSMISSION_STATUS: why the last attempt failed, '' when there is nothing to say."""
    endpoint = broker.endpoints.get(handle or "")
    return endpoint.status if endpoint is not None and endpoint.pending else ""
