"""What must have been possible in a search, or a claim has had nothing to say.

Each claim of ``claims`` names at least one thing here. Where a setup leaves out what the thing
needs (no timer fires, so nothing is recycled), the scenario's notes say that the claim has nothing
to say; where it could have happened and did not, the run fails (``search.IN_VAIN``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from redial_broker.ssb.counters import ROLLBACKS
from redial_lab.explore.scenario import Witness
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import DATABASE, EVENT, rows, told
from redial_lab.proof.claims import DIED, OPEN, arrived, endpoints
from redial_lab.proof.places import PLACES

if TYPE_CHECKING:
    from redial_lab.proof.setups import Setup


class Needed(NamedTuple):
    """A witness of a claim."""

    what: str
    """In words: what must have been so."""
    seen: Callable[[World], bool]
    at_rest: bool
    may: Callable[[Setup], bool] = lambda setup: True
    """Whether it can be so in a setup at all."""


def _recycles(setup: Setup) -> bool:
    """Whether something ends a dialog by EndOfStream."""
    timed = setup.recycle == "timer" and setup.firings > 0
    return timed or setup.recycle == "aged_out" or setup.retire or setup.drain


def _waited(world: World) -> bool:
    return any(
        session.wait is not None and session.wait.kind == "lock"
        for session in world.instance.sessions.values()
    )


def _many(setup: Setup) -> bool:
    """Whether two can be in each other's way: senders, or one and what recycles its dialog."""
    return setup.senders > 1 or (_recycles(setup) and setup.recycle != "aged_out")


def _ended(world: World) -> bool:
    return any(kind == "EndOfStream" for _, _, kind, _ in arrived(world))


def _two_on_a_dialog(world: World) -> bool:
    dialogs = [dialog for dialog, _, kind, _ in arrived(world) if kind == EVENT]
    return len(set(dialogs)) < len(dialogs)


def _open(world: World) -> bool:
    return any(e.is_initiator and e.state() in OPEN for e in endpoints(world))


def _row(world: World) -> bool:
    return bool(rows(world, "SessionConversations", "Handle"))


def _answered(world: World) -> bool:
    return any(() in results for results in world.progress.results)


def _refused(world: World) -> bool:
    return any(numbers for results in world.progress.results for numbers in results)


def _closed(world: World) -> bool:
    recycled = told(world)
    alive = {e.handle for e in endpoints(world) if e.is_initiator and e.state() in OPEN}
    return bool(recycled - alive)


def _rolled_back(world: World) -> bool:
    broker = world.instance.server.database(DATABASE).broker
    return broker.counters.values[ROLLBACKS] > 0


def _fails(setup: Setup) -> bool:
    """Whether a fault makes a batch fail whose caller hears of it."""
    found = {"cancel", "rollback", "reconnect", "answer_lost", "disk_full"} | (
        {"lock_timeout"} if _many(setup) else set()
    )
    return bool(found & set(setup.faults))


UNDOES = frozenset({"kill", "reader_restart", "restart"})
"""Faults that undo what a reader has received."""

WITNESSES: dict[str, Sequence[Needed]] = {
    "S1": (Needed("a session waited for a lock", _waited, False, _many),),
    "S2": (Needed("an EndOfStream was sent", _ended, False, _recycles),),
    "S3": (
        Needed(
            "a message landed",
            lambda world: bool(PLACES.landed(world)),
            True,
            lambda setup: not setup.lifetimes,  # the target's queue is off
        ),
    ),
    "S4": (
        Needed(
            "two messages were on one dialog",
            _two_on_a_dialog,
            True,
            lambda setup: (
                not setup.traits.per_message
                and setup.recycle != "aged_out"
                and setup.messages * setup.sends + bool(setup.warm) > 1
            ),
        ),
    ),
    "S5": (Needed("a dialog was open for sending", _open, False),),
    "S6": (Needed("a key had its row", _row, False, lambda setup: setup.subject.rows),),
    "S7": (
        Needed("a batch ended without an error", _answered, True),
        Needed("a batch failed", _refused, True, _fails),
    ),
    "S8": (
        Needed("two messages were on one dialog", _two_on_a_dialog, True, lambda s: s.sends > 1),
    ),
    "L1": (
        Needed(
            "a recycled dialog came to its end",
            _closed,
            True,
            lambda setup: setup.subject.ends and _recycles(setup) and not DIED & set(setup.faults),
        ),
    ),
    "L2": (
        Needed(
            "a transaction with messages was rolled back",
            _rolled_back,
            False,
            lambda s: bool(UNDOES & set(s.faults)) and (s.target_readers > 0 or _recycles(s)),
        ),
    ),
    "L4": (
        Needed(
            "a timer fired",
            lambda world: "ssb.timer" in world.progress.fired,
            True,
            lambda setup: bool(setup.subject.oldest and setup.subject.rows and setup.firings),
        ),
    ),
    "L5": (Needed("a session waited for a lock", _waited, False, _many),),
    "L3": (Needed("a run came to its end", lambda world: True, True),),
}
"""By the name of the claim."""


def witnesses(setup: Setup, claims: set[str]) -> tuple[Witness, ...]:
    """What must be met for these claims in a setup."""
    return tuple(
        Witness(claim, needed.what, needed.seen, needed.at_rest)
        for claim, all_of in WITNESSES.items()
        if claim in claims
        for needed in all_of
        if needed.may(setup)
    )


def silent(setup: Setup, claims: set[str]) -> list[str]:
    """Claims that have nothing to say in a setup, with what they would speak of."""
    return [
        f"{claim} has nothing to say here: {all_of[0].what} cannot be"
        for claim, all_of in WITNESSES.items()
        if claim in claims and not any(needed.may(setup) for needed in all_of)
    ]
