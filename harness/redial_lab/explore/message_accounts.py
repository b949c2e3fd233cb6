"""Total-queue accounting: what became of every message somebody tried to send.

The explorer does not know where messages lie: a scenario tells it (``Places``), and which messages
each batch of each client tries to send. After Kingsbury's total-queue checker: every attempt is
acknowledged, refused or unknown; every message found was attempted; nothing is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial_lab.explore.scenario import CANCELLED
from redial_lab.explore.world import World

if TYPE_CHECKING:
    Message = Any
    """Whatever a scenario knows its messages by: ours by their bodies, others by a column."""

Look = Callable[[World], Iterable[Any]]
KILLED = 596


@dataclass(frozen=True, slots=True)
class Places:
    """Where messages lie; each says what it holds, one entry for each message."""

    landed: Look
    """Where they were to come."""
    pending: Look
    """On the way."""
    dead_lettered: Look = lambda world: ()
    """Set aside, not lost."""


@dataclass(frozen=True, slots=True)
class Account:
    """One state's total. Each field holds the messages themselves."""

    attempted: tuple[Message, ...]
    acknowledged: tuple[Message, ...]
    """Their batch ended without an error."""
    refused: tuple[Message, ...]
    """It ended with one, and no other batch has tried again. The other attempted ones are unknown:
    cancelled, killed, under way or never begun."""
    landed: tuple[Message, ...]
    pending: tuple[Message, ...]
    dead_lettered: tuple[Message, ...]
    lost: tuple[Message, ...]
    """Acknowledged and nowhere."""
    duplicated: tuple[Message, ...]
    """Found more than once."""
    unexpected: tuple[Message, ...]
    """Refused and found, or never attempted."""

    def __str__(self) -> str:
        """The figures in one line."""
        return ", ".join(
            f"{name.replace('_', '-')} {len(getattr(self, name))}" for name in self.__slots__
        )


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is sent and where it may be found."""

    batches: Mapping[tuple[int, int], tuple[Message, ...]]
    """(client, batch) -> the messages that batch tries to send."""
    places: Places
    before: tuple[Message, ...] | None = None
    """What was sent before the search began; None where nobody knows, then only refused messages
    can be unexpected."""

    def __call__(self, world: World) -> Account:
        """The account of this state."""
        attempted: list[Message] = []
        acknowledged: list[Message] = []
        refused: list[Message] = []
        unknown: set[Message] = set()
        for (client, batch), messages in self.batches.items():
            results = world.progress.results[client]
            if batch < world.progress.position[client]:
                attempted += messages
            if batch >= len(results):
                unknown |= set(messages) & set(attempted)
            elif not results[batch]:
                acknowledged += messages
            elif {CANCELLED, KILLED} & set(results[batch]):
                unknown |= set(messages)
            else:
                refused += messages
        tried_again = unknown.union(acknowledged)
        refused = [message for message in refused if message not in tried_again]
        landed, pending, dead = (
            tuple(look(world))
            for look in (self.places.landed, self.places.pending, self.places.dead_lettered)
        )
        found = Counter(landed) + Counter(pending) + Counter(dead)
        wanted = set(acknowledged) | set(self.before or ())
        unexpected = {message for message in refused if found[message]}
        if self.before is not None:
            unexpected |= set(found) - set(attempted) - set(self.before)
        return Account(
            tuple(attempted),
            tuple(acknowledged),
            tuple(refused),
            landed,
            pending,
            dead,
            tuple(sorted(message for message in wanted if not found[message])),
            tuple(sorted(message for message, times in found.items() if times > 1)),
            tuple(sorted(unexpected)),
        )


def balanced(
    ledger: Ledger, *, may_double: Callable[[World], bool] = lambda world: False
) -> Callable[[World], list[str]]:
    """A check, for a state at rest: nothing is lost, doubled or unexpected.

    may_double: whether a message may be there twice by now (a resend whose acknowledgement nobody
    saw).
    """

    def check(world: World) -> list[str]:
        account = ledger(world)
        problems = []
        if account.lost:
            problems.append("acknowledged message lost")
        if account.duplicated and not may_double(world):
            problems.append("message doubled")
        if set(account.unexpected) & set(account.refused):
            problems.append("refused message arrived")
        if set(account.unexpected) - set(account.refused):
            problems.append("message from nowhere")
        return problems

    return check
