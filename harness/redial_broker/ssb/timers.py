"""What happens when a timer of this database comes due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.differences import differs
from redial_broker.engine.journal import MISSING
from redial_broker.ssb import names, transmission
from redial_broker.ssb.closing import settle_end
from redial_broker.ssb.conversation import ENDED, GONE, OPEN, PEER_ENDED, Endpoint
from redial_broker.ssb.faults import fault
from redial_broker.ssb.inbox import TIMER
from redial_broker.ssb.races import expiry_waits
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.needs import TimerKey


differs(
    "conversation timers",
    "They ring at their very second; on a server a background task looks for them, so "
    "they are late by a little.",
)


def due(broker: Broker, kind: str, key: TimerKey) -> None:
    """A timer has come due. A conversation's is remembered while the broker is disabled."""
    if kind == "ssb.monitor":
        for queue in broker.queues():
            if queue.object_id == key[1]:
                queue.monitor.due()
        return
    if kind == "ssb.retry":
        transmission.retry_all(broker)
        return
    endpoint = broker.endpoints.get(key[1])
    if endpoint is None:
        return
    journal = broker.engine.journal
    if kind == "ssb.closed" and endpoint.inbox.left:
        journal.assign(None, endpoint, "own", GONE)  # its rows stay until they are received
    elif kind == "ssb.closed":
        broker.remove_endpoint(endpoint)
        journal.assign(None, endpoint, "dead", 2)
    elif not broker.awake:
        if kind == "ssb.timer" and value(broker.engine, "timer_while_off") == "lost":
            journal.assign(None, endpoint, "timer_due", None)
            return
        journal.put(None, broker, broker.missed, (kind, key), True)
    elif kind == "ssb.lifetime":
        expire(endpoint)
    elif endpoint.alarm_writer is None and not endpoint.dead:
        _ring(endpoint)


def make_up(broker: Broker) -> None:
    """The broker is enabled again: what came due meanwhile happens now."""
    for kind, key in sorted(broker.missed):
        broker.engine.journal.put(None, broker, broker.missed, (kind, key), MISSING)
        due(broker, kind, key)


def _ring(endpoint: Endpoint) -> None:
    """The conversation timer: one DialogTimer row on this side's own queue."""
    broker = endpoint.broker
    if endpoint.timer_due is None or endpoint.own != OPEN:
        return
    broker.engine.journal.assign(None, endpoint, "timer_due", None)
    if not endpoint.service.queue.enabled and value(broker.engine, "timer_while_off") == "lost":
        return
    endpoint.service.queue.put_special(
        None,
        endpoint.inbox,
        TIMER,
        value(broker.engine, "system_message_sequence"),
        broker.message_types[names.DIALOG_TIMER],
        None,
    )


def expire(endpoint: Endpoint, ending: Transaction | None = None) -> None:
    """LIFETIME has passed: -8489 on this side's queue; the peer's own timer tells the peer.

    ending: a transaction whose end is under way, and had to be waited for.
    """
    if endpoint.dead or endpoint.alarm_writer is not None or expiry_waits(endpoint, ending):
        return
    if endpoint.own == ENDED:
        settle_end(endpoint)
    elif endpoint.own == OPEN and endpoint.said in {"", PEER_ENDED}:
        fault(None, endpoint, 8489)
