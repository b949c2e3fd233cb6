"""Where verbs meet a definition change of a queue: ALTER QUEUE, DROP QUEUE, a poisoned queue going
off. Who wants Sch-M waits for every transaction that has received from the queue or sent into it
(IX, to their end), and whoever asks later queues up behind (F-130, F-485, F-486).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.ssb import routing
from redial_broker.ssb.routing import Refused
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.conversation import Endpoint
    from redial_broker.ssb.queue import Queue


def send_meets_ddl(transaction: Transaction, endpoint: Endpoint) -> None:
    """SEND and END while somebody changes a queue's definition, or waits to: wait, or go on.

    Called before the verb changes anything. What goes on without a lock finds the queue busy
    (9749) and stays in the transmission queue. Raises Wait, SqlError 1222 and 1205.
    """
    engine, own = endpoint.broker.engine, endpoint.service.queue
    locks = engine.locks
    target = None if endpoint.pending else _target_queue(endpoint)
    own_waits = locks.would_wait(transaction, own.lock_key, "Sch-S")
    target_waits = target is not None and locks.would_wait(transaction, target.lock_key, "IX")
    if not own_waits and not target_waits:
        return
    choice = value(engine, "send_behind_queue_ddl")
    if choice == "own queue" and own_waits:
        locks.acquire(transaction, own.lock_key, "Sch-S", short=True)
    elif choice == "waits" and target is not None and value(engine, "enqueue_at") == "send":
        locks.acquire(transaction, target.lock_key, "IX")


def _target_queue(endpoint: Endpoint) -> Queue | None:
    """The queue a row of this endpoint would go into now; None when it cannot be delivered."""
    if endpoint.peer is not None:
        return endpoint.peer.service.queue
    try:
        found = routing.find_target(endpoint)
    except Refused:
        return None
    return None if isinstance(found, str) else found.queue


def switch_off(queue: Queue, transaction: Transaction | None) -> bool:
    """A poisoned queue goes off; False when it is off already, or handles poison by itself.

    transaction: the one that has Sch-M on it; None for at once, by nobody.
    """
    if not queue.enabled or not queue.poison_handling:
        return False
    queue.broker.engine.journal.assign(transaction, queue, "enabled", False)
    return True
