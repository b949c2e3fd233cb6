"""Telling an endpoint that its conversation is over, with and without an Error message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.broker_messages import text
from redial_broker.ssb import error_body, names
from redial_broker.ssb.conversation import BROKER_ERROR, PEER_ENDED, Endpoint
from redial_broker.ssb.inbox import FAULT
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction


def tell(transaction: Transaction | None, endpoint: Endpoint, kind: str = BROKER_ERROR) -> None:
    """Say to an endpoint that its peer ended, or that there was an error.

    The transaction sees it at once, others when it has committed: the other side may be working on
    the endpoint at the same time.
    """
    journal = endpoint.broker.engine.journal
    if transaction is None:
        if endpoint.said in {"", PEER_ENDED}:
            journal.assign(None, endpoint, "said", kind)
        return
    journal.put(transaction, endpoint, endpoint.arrivals, transaction, kind)
    endpoint.broker.note(transaction, ("ssb.arrived", endpoint))


def fault(transaction: Transaction | None, endpoint: Endpoint, number: int, *args: object) -> None:
    """An error of the engine's own: Error message with the negated number, endpoint in ERROR."""
    broker = endpoint.broker
    tell(transaction, endpoint)
    endpoint.service.queue.put_special(
        transaction,
        endpoint.inbox,
        FAULT,
        value(broker.engine, "system_message_sequence"),
        broker.message_types[names.ERROR],
        error_body.encode(-number, text(number, *args), bom=value(broker.engine, "error_body_bom")),
    )
