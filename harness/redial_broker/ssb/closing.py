"""The committed end of a conversation on one side."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from redial_broker.engine.journal import MISSING
from redial_broker.ssb import alarms
from redial_broker.ssb.conversation import CLOSED, GONE, PEER_ENDED
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.ssb.conversation import Endpoint

CLOSED_RETENTION_S = 30 * 60
"""How long a target's row stays after END (observed: about 30 minutes)."""


def settle_end(endpoint: Endpoint, *, at_once: bool = False) -> None:
    """The END of a side that was DISCONNECTED_OUTBOUND has been acknowledged."""
    own = GONE if endpoint.is_initiator else CLOSED
    endpoint.broker.engine.journal.assign(None, endpoint, "own", own)
    finish(endpoint, at_once=at_once)


def finish(endpoint: Endpoint, *, at_once: bool = False) -> None:
    """END has committed on this side and nothing is left to send.

    The initiator's row goes at once; the target's stays CLOSED for its retention time, so that a
    replayed first message would be recognized. After WITH CLEANUP either row goes. at_once: END
    itself has just committed, so what it has not found in the queue may stay there (F-455).
    """
    broker, inbox = endpoint.broker, endpoint.inbox
    journal = broker.engine.journal
    later = (
        at_once
        and inbox.cut is not None
        and inbox.tail > inbox.cut
        and value(broker.engine, "end_over_open_send") == "leaves"
    )
    endpoint.service.queue.forget(inbox, but_later=later)
    for sequence in list(endpoint.pending):
        journal.put(None, endpoint, endpoint.pending, sequence, MISSING)
    if endpoint.handle in broker.senders:
        journal.put(None, broker, broker.senders, endpoint.handle, MISSING)
    alarms.disarm(endpoint)
    journal.assign(None, endpoint, "dead", 1)
    if endpoint.own != GONE:
        _retain(endpoint)
    if not later:
        _vacate(endpoint)


def vacate(endpoint: Endpoint) -> None:
    """Rows that have outlived their conversation: when the last is gone, all of it is over."""
    inbox = endpoint.inbox
    if inbox.left and inbox.writer is None and not inbox.rows:
        endpoint.broker.engine.journal.assign(None, inbox, "left", False)
        endpoint.service.queue.unlist(inbox)
        _vacate(endpoint)


def _vacate(endpoint: Endpoint) -> None:
    broker = endpoint.broker
    journal = broker.engine.journal
    broker.remove_member(endpoint)
    if endpoint.own == GONE:
        journal.assign(None, endpoint, "dead", 2)
        broker.remove_endpoint(endpoint)
    else:
        _slim(endpoint)


def _retain(endpoint: Endpoint) -> None:
    """Keep a CLOSED row for its time."""
    broker = endpoint.broker
    engine = broker.engine
    lifetime = value(engine, "fire_and_forget_retention") == "lifetime"
    if lifetime and endpoint.said == PEER_ENDED:
        until = endpoint.lifetime + CLOSED_RETENTION_S
    else:
        until = engine.clock.now() + CLOSED_RETENTION_S
        engine.journal.assign(None, endpoint, "security_timestamp", until)
    engine.timers.set(None, "ssb.closed", (broker.database.id, endpoint.handle), until)


# Any: it stands for empty mappings of several types.
_NOTHING: Any = MappingProxyType({})
"""What a CLOSED endpoint has of everything; a write to it is a mistake and raises TypeError."""


def _slim(endpoint: Endpoint) -> None:
    """Give back what only a living endpoint needs.

    With a dialog per message at 1,000 a second some two million CLOSED rows are kept at any time
    (seed 001), so what one of them takes decides whether that can be run at all.
    """
    assign = endpoint.broker.engine.journal.assign
    assign(None, endpoint, "peer", None)
    for name in ("pending", "arrivals"):
        assign(None, endpoint, name, _NOTHING)
    for name in ("rows", "special", "kept", "sent"):
        assign(None, endpoint.inbox, name, _NOTHING)
    if not endpoint.group.members:
        assign(None, endpoint.group, "members", _NOTHING)
