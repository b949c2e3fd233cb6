"""Where END, SEND and LIFETIME meet a transaction of the other side that is still open.

No document says what a server does there (F-455, F-456, F-457), so each is a switch, which is only
asked where two such transactions do meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from redial_broker.engine.errors import SqlError
from redial_broker.engine.locks import TIMEOUT_STATES
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.conversation import Endpoint


def end_meets_rows(transaction: Transaction, endpoint: Endpoint) -> None:
    """END of a side in whose queue there may be rows that another transaction has not committed.

    Called before END changes anything. Notes which rows END has found (``Inbox.cut``). Raises
    SqlError 1222, 1205 and Wait, as the switch says.
    """
    inbox = endpoint.inbox
    engine, queue = endpoint.broker.engine, endpoint.service.queue
    theirs = inbox.writer is not None and inbox.writer is not transaction
    if theirs or inbox.special:
        met = [
            (message[0], writer)
            for _, message, writer in inbox.stored()
            if writer is not None and writer is not transaction
        ]
        choice = value(engine, "end_over_open_send") if met else ""
        if choice == "fails":
            raise SqlError(1222, state=TIMEOUT_STATES["KEY"])
        if choice == "waits":  # for the same lock as a SELECT of the row (Queue.select_rows)
            for order, writer in met:
                engine.locks.wait_for_writer(
                    transaction, writer, ("KEY", queue.lock_key, (endpoint.handle, order))
                )
    engine.journal.assign(transaction, inbox, "cut", inbox.settled if theirs else inbox.tail)


def open_end(transaction: Transaction | None, endpoint: Endpoint) -> Transaction | None:
    """The open transaction of another that has ended the peer of an endpoint; None without one.

    It holds the peer's conversation group, so it is the last that has changed what timers do there.
    """
    peer = endpoint.peer
    if peer is None or not peer.own or peer.dead or peer.alarm_writer is transaction:
        return None
    return peer.alarm_writer


def send_meets_end(transaction: Transaction, endpoint: Endpoint) -> None:
    """SEND to a side that another transaction has ended and not committed: wait for it, or not.

    Called before SEND changes anything. Raises Wait, SqlError 1222 and 1205.
    """
    ender = open_end(transaction, endpoint)
    if ender is None or endpoint.pending:
        return
    engine, peer = endpoint.broker.engine, cast("Endpoint", endpoint.peer)
    if value(engine, "send_over_open_end") == "waits" and value(engine, "enqueue_at") == "send":
        # The endpoint's row, which END has changed: the lock a reader of the view waits for, too.
        row = ("endpoint", peer.broker.database.id)
        engine.locks.wait_for_writer(transaction, ender, ("KEY", row, (peer.handle,)))


def held_back(transaction: Transaction | None, endpoint: Endpoint) -> bool:
    """Whether a message must stay in the transmission queue until the peer's END is decided.

    What is delivered when its sender commits cannot wait for anybody: it stays there as well.
    """
    return (
        open_end(transaction, endpoint) is not None
        and value(endpoint.broker.engine, "send_over_open_end") != "enqueues"
    )


def open_sender(endpoint: Endpoint, ending: Transaction | None = None) -> Transaction | None:
    """An open transaction that has sent on the dialog of this endpoint, from either side.

    ending: one whose end is under way; it counts no more.
    """
    for side in (endpoint, endpoint.peer):
        for writer in (side.pending_writer, side.inbox.writer) if side is not None else ():
            if writer is not None and writer is not ending:
                return writer
    return None


def expiry_waits(endpoint: Endpoint, ending: Transaction | None = None) -> bool:
    """LIFETIME has passed: whether that is told only when an open sender has ended.

    It is told at that moment (event ``ssb.expired``), which comes to the endpoint again.
    """
    sender = open_sender(endpoint, ending)
    if sender is None or not value(endpoint.broker.engine, "expiry_waits_for_sender"):
        return False
    endpoint.broker.note(sender, ("ssb.expired", endpoint))
    return True
