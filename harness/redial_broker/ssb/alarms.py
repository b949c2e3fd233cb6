"""Arming the timers of a conversation: its own timer, and its lifetime where one was stated.

Timers are armed when their transaction has committed. One that is about to change the answer marks
the endpoint (``alarm_writer``); a timer that comes due meanwhile is armed again at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.ssb.conversation import BROKER_ERROR, OPEN

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.conversation import Endpoint


def arm(endpoint: Endpoint) -> None:
    """Arm what the endpoint's committed state asks for, disarm the rest."""
    if endpoint.dead or endpoint.alarm_writer is not None or endpoint.creator is not None:
        return
    timers = endpoint.broker.engine.timers
    key = (endpoint.broker.database.id, endpoint.handle)
    if endpoint.timer_due is not None and endpoint.own == OPEN:
        timers.set(None, "ssb.timer", key, endpoint.timer_due)
    else:
        timers.cancel(None, "ssb.timer", key)
    if endpoint.expires and endpoint.said != BROKER_ERROR:
        timers.set(None, "ssb.lifetime", key, endpoint.lifetime)
    else:
        timers.cancel(None, "ssb.lifetime", key)


def disarm(endpoint: Endpoint) -> None:
    """The conversation is over."""
    timers = endpoint.broker.engine.timers
    key = (endpoint.broker.database.id, endpoint.handle)
    for kind in ("ssb.timer", "ssb.lifetime", "ssb.closed"):
        timers.cancel(None, kind, key)


def will_change(transaction: Transaction | None, endpoint: Endpoint) -> None:
    """``transaction`` changes what timers may do here; they are armed anew when it ends."""
    if transaction is None:
        return
    endpoint.broker.engine.journal.assign(transaction, endpoint, "alarm_writer", transaction)
    endpoint.broker.note(transaction, ("ssb.alarm", endpoint))
