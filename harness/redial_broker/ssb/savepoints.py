"""What a savepoint lies before: verbs on conversations, or RECEIVE alone (F-333)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.journal import MISSING
from redial_broker.ssb.conversation import Endpoint
from redial_broker.ssb.inbox import Inbox

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction


def before_verbs(transaction: Transaction, name: str) -> bool:
    """Whether BEGIN DIALOG, SEND or END came behind the newest savepoint of that name.

    Each changes an endpoint, or puts a message into a queue; RECEIVE only takes messages out.
    """
    undo = next(saved[1] for saved in reversed(transaction.savepoints) if saved[0] == name)
    return any(
        isinstance(part, Endpoint)
        or (isinstance(part, Inbox) and old is MISSING and target is not part.kept)
        for _, part, target, _, old in transaction.undo[undo:]
    )
