"""RECEIVE and GET CONVERSATION GROUP: one core for every form.

``receive`` takes the messages and returns them; the statement builds its output from them, and only
then calls ``received``: a RECEIVE that fails in its column list was never seen by the queue monitor
(observed: activation gets stuck in NOTIFIED and no poison is counted).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.ssb.conversation import GONE
from redial_broker.ssb.counters import RECEIVES
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.conversation import Endpoint, Group
    from redial_broker.ssb.inbox import Inbox
    from redial_broker.ssb.needs import Caller
    from redial_broker.ssb.queue import Queue

RECEIVE_LOG, MESSAGE_LOG = 388, 200
"""Approximate bytes of log: the seed's reader had 588 after one message."""

Taken = tuple["Endpoint", tuple]  # type: ignore[type-arg]  # Stored


def _enter(queue: Queue, session: Caller) -> tuple[Transaction, bool]:
    """Begin to read a queue: its lock, no longer among those who wait, and it must be on.

    Returns the transaction and whether the lock is new to it. Raises SqlError 9617; Wait for DDL.
    """
    transaction = session.work()
    fresh = queue.lock_key not in transaction.locks
    if fresh:
        queue.broker.engine.locks.acquire(transaction, queue.lock_key, "IX")
    if session.id in queue.waiters:
        queue.stop_waiting(session)
    if not queue.enabled:
        raise SqlError(9617, queue.name)
    return transaction, fresh


def receive(
    queue: Queue,
    session: Caller,
    top: int | None = None,
    *,
    handle: str | None = None,
    group_id: str | None = None,
    by_handle: bool = False,
    by_group: bool = False,
) -> list[Taken]:
    """Take up to ``top`` messages (None: all) of one conversation group, and lock the group.

    by_handle, by_group: a WHERE clause was given. Returns (endpoint, message) pairs, none when
    nothing can be received now. Raises SqlError 9617, 8418, 8420, 8426, 8436; Wait only for DDL.
    """
    transaction, fresh = _enter(queue, session)
    own = value(queue.broker.engine, "own_message_visible")
    if by_handle:
        taken = _of_handle(queue, transaction, handle, top, own)
    elif by_group:
        taken = _of_group(queue, transaction, group_id, top, own)
    else:
        taken = _of_any(queue, transaction, top, own)
    queue.broker.counters.add(queue.broker.engine.journal, RECEIVES)
    if taken:
        transaction.log_used += RECEIVE_LOG + MESSAGE_LOG * len(taken)
    elif fresh:
        # A session that waits must not keep ALTER QUEUE from the queue.
        queue.broker.engine.locks.release(transaction, queue.lock_key)
    return taken


def received(queue: Queue, session: Caller, taken: list[Taken], named: bool = False) -> None:
    """The RECEIVE has succeeded: the monitor sees it, a rollback from now on counts as poison."""
    transaction = session.transaction
    last = None
    for endpoint, message in taken:
        if endpoint is not last:
            last = endpoint
            queue.broker.note(transaction, ("ssb.received", endpoint.inbox, message[1]))  # type: ignore[arg-type]
    if queue.activation is not None or queue.watched:
        queue.monitor.received(session, len(taken), named)


def wait_for_message(queue: Queue, session: Caller, timeout_ms: int, named: bool = False) -> None:
    """WAITFOR with nothing to receive: raises Wait, unless the time is over.

    timeout_ms below 0: for ever. The statement runs again when a message may be there.
    """
    if session.expired or timeout_ms == 0:
        return
    queue.wait(session, named)
    session.wait_for("queue", queue, timeout_ms)


def get_group(queue: Queue, session: Caller) -> str | None:
    """GET CONVERSATION GROUP: lock the next group that has messages; None when there is none.

    Groups this transaction has locked already come last, so that repeated calls lock several.
    """
    transaction, fresh = _enter(queue, session)
    own = value(queue.broker.engine, "own_message_visible")
    locked: Group | None = None
    for inbox in list(queue.ready.values()):
        if not inbox.readable(transaction, own):
            continue
        group = inbox.endpoint.group
        if group.lock_key in transaction.locks:
            locked = locked or group
        elif _lock(queue, transaction, group):
            return group.group_id
    if locked is None and fresh:
        queue.broker.engine.locks.release(transaction, queue.lock_key)
    return locked.group_id if locked else None


# ---------------------------------------------------------------------- which group
def _lock(queue: Queue, transaction: Transaction, group: Group) -> bool:
    """Lock a group unless another transaction has it: such groups are skipped."""
    if group.lock_key in transaction.locks:
        return True
    if not queue.broker.engine.locks.try_acquire(transaction, group.lock_key, "X"):
        return False
    queue.broker.note(transaction, ("ssb.group", group))
    return True


def _of_any(queue: Queue, transaction: Transaction, top: int | None, own: bool) -> list[Taken]:
    stale: list[Inbox] = []
    taken: list[Taken] = []
    held = queue.broker.engine.locks.resources
    for inbox in queue.ready.values():
        if not inbox.readable(transaction, own):
            # Whoever holds the group's lock may still roll back to a savepoint.
            if inbox.oldest() is None and inbox.endpoint.group.lock_key not in held:
                stale.append(inbox)
            continue
        if _lock(queue, transaction, inbox.endpoint.group):
            taken = _from_group(queue, transaction, inbox.endpoint.group, top, own)
            break
    for inbox in stale:
        queue.unlist(inbox)
    return taken


def _of_handle(
    queue: Queue, transaction: Transaction, handle: str | None, top: int | None, own: bool
) -> list[Taken]:
    if handle is None:
        raise SqlError(8418)
    endpoint = queue.broker.endpoints.get(handle)
    if endpoint is not None and endpoint.service.queue is queue:
        fresh = endpoint.group.lock_key not in transaction.locks
        if not _lock(queue, transaction, endpoint.group):
            return []
        if endpoint.own != GONE:
            taken: list[Taken] = []
            _take(transaction, endpoint.inbox, top, own, taken)
            return taken or _nothing(queue, transaction, endpoint.group, fresh)
    if value(queue.broker.engine, "receive_unknown") == "empty":
        return []
    raise SqlError(8426, handle)


def _of_group(
    queue: Queue, transaction: Transaction, group_id: str | None, top: int | None, own: bool
) -> list[Taken]:
    if group_id is None:
        raise SqlError(8420)
    group = queue.broker.groups.get(group_id)
    if group is not None and group.service.queue is queue:
        fresh = group.lock_key not in transaction.locks
        if not _lock(queue, transaction, group):
            return []
        return _from_group(queue, transaction, group, top, own) or _nothing(
            queue, transaction, group, fresh
        )
    if value(queue.broker.engine, "receive_unknown") == "empty":
        return []
    raise SqlError(8436, group_id)


def _nothing(queue: Queue, transaction: Transaction, group: Group, fresh: bool) -> list[Taken]:
    """Nothing to receive: a WAITFOR must not keep the group from others while it waits."""
    if fresh:
        queue.broker.engine.locks.release(transaction, group.lock_key)
    return []


# ---------------------------------------------------------------------- taking messages
def _from_group(
    queue: Queue, transaction: Transaction, group: Group, top: int | None, own: bool
) -> list[Taken]:
    """Conversation by conversation: the higher priority first, then by handle."""
    taken: list[Taken] = []
    members = list(group.members.values())
    if len(members) > 1:
        members.sort(key=lambda endpoint: (-endpoint.priority, endpoint.handle))
    for endpoint in members:
        if not endpoint.inbox.ended:
            _take(transaction, endpoint.inbox, top, own, taken)
    return taken


def _take(
    transaction: Transaction, inbox: Inbox, top: int | None, own: bool, taken: list[Taken]
) -> None:
    """Take one conversation's messages: DialogTimer, Error, then by sequence number."""
    endpoint = inbox.endpoint
    if inbox.ended:
        return
    journal = endpoint.broker.engine.journal
    if inbox.special:
        retention = endpoint.service.queue.retention
        for key in inbox.visible_special(transaction, own):
            if top is not None and len(taken) >= top:
                return
            message = inbox.special[key][0]
            journal.put(transaction, inbox, inbox.special, key, MISSING)
            if retention:
                journal.put(transaction, inbox, inbox.kept, key[1], message)
            taken.append((endpoint, message))
    head, end = inbox.head, inbox.end(transaction, own)
    if top is not None:
        end = min(end, head + top - len(taken))
    if head >= end:
        return
    rows = inbox.rows
    taken += [(endpoint, rows[sequence]) for sequence in range(head, end)]
    journal.assign(transaction, inbox, "head", end)


def looked(queue: Queue, session: Caller, group_id: str | None) -> None:
    """A GET CONVERSATION GROUP was run: for the queue monitor it is a RECEIVE."""
    if queue.activation is not None or queue.watched:
        queue.monitor.received(session, 0 if group_id is None else 1, False)
