"""The committed end of a conversation on one side."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from harness.broker.engine.journal import MISSING
from harness.broker.ssb import alarms
from harness.broker.ssb.conversation import CLOSED, GONE, PEER_ENDED
from harness.broker.ssb.switches import value

if TYPE_CHECKING:
    from harness.broker.ssb.conversation import Endpoint

CLOSED_RETENTION_S = 30 * 60
"""How long a target's row stays after END (observed: about 30 minutes)."""


def settle_end(endpoint: Endpoint) -> None:
    """The END of a side that was DISCONNECTED_OUTBOUND has been acknowledged."""
    own = GONE if endpoint.is_initiator else CLOSED
    endpoint.broker.engine.journal.assign(None, endpoint, "own", own)
    finish(endpoint)


def finish(endpoint: Endpoint) -> None:
    """END has committed on this side and nothing is left to send.

    The initiator's row goes at once; the target's stays CLOSED for its retention time, so that a
    replayed first message would be recognized. After WITH CLEANUP either row goes.
    """
    broker = endpoint.broker
    journal = broker.engine.journal
    endpoint.service.queue.forget(endpoint.inbox)
    broker.remove_member(endpoint)
    for sequence in list(endpoint.pending):
        journal.put(None, endpoint, endpoint.pending, sequence, MISSING)
    if endpoint.handle in broker.senders:
        journal.put(None, broker, broker.senders, endpoint.handle, MISSING)
    alarms.disarm(endpoint)
    if endpoint.own == GONE:
        journal.assign(None, endpoint, "dead", 2)
        journal.put(None, broker, broker.endpoints, endpoint.handle, MISSING)
        return
    journal.assign(None, endpoint, "dead", 1)
    _retain(endpoint)
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
