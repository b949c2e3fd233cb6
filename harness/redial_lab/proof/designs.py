"""The designs that were compared before copies, searched with the same faults.

What becomes of a message is one of three: ``KEPT`` in every case the search went through; it can be
lost, and where it is its number is ``WRITTEN DOWN``; or it can be ``LOST`` without a word.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from redial_lab.explore import Limits, World, search, shortest
from redial_lab.explore.checks import all_of
from redial_lab.explore.scenario import Scenario
from redial_lab.proof.audit_setups import rows
from redial_lab.proof.setups import Setup

if TYPE_CHECKING:
    from redial_lab.explore.scenario import Switches
    from redial_lab.proof.setups import Fields

DESIGNS: dict[str, str | None] = {
    "queue_only": "queue_only",
    "protocol_only": "protocol_only",
    "retained": "retained",
    "copies": None,
}
"""The mutant or comparator that is each design; None: what we ship."""

KEPT, WRITTEN_DOWN, LOST = "kept", "written down", "lost"
NOT_LOOKED_THROUGH = "bound reached"
NUMBER_ONLY, WITHOUT_A_WORD = "lost, its number is written down", "lost without a word"
FALSE_ALARM = "a number is written down, its message is not lost"
TWICE = "a message is there twice"
SWITCHES: tuple[Switches, ...] = (
    {},
    {"enqueue_at": "commit"},
    {"end_over_open_send": "waits"},
    {"end_over_open_send": "leaves"},
    {"end_over_open_send": "fails"},
    {"send_over_open_end": "waits"},
    {"send_over_open_end": "transmits"},
    {"expiry_waits_for_sender": True},
)
"""Answers to what no document settles about END, SEND and LIFETIME side by side: one by one."""

PLAIN = {"senders": 1, "firings": 0, "caller": "transaction"}
"""One sender with a dialog, a transaction of his own around each batch."""


RETRY = {
    "key": "application",
    "order": "key",
    "delivery": "exactly_once",
    "messages": 1,
    "caller": "autocommit",
    "retries": 1,
}
"""A sender in doubt who sends his message again, with the same id."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table."""

    name: str
    fields: Fields = field(default_factory=dict)
    """Of its ``Setup``."""

    def setup(self, design: str, switches: Switches | None = None) -> Setup:
        """The case with one design's scripts."""
        return Setup(
            **PLAIN | dict(self.fields),  # type: ignore[arg-type]
            mutant=DESIGNS[design],
            switches=switches or {},
        )


def _faults(*names: str, **fields: Any) -> Fields:  # of a ``Setup``
    return {"faults": names, **fields}


MOST = Limits(transitions=60_000)
"""More than these cases have, but for a client's retry under ``retained``."""

CASES = (
    Case("nothing happens", {"firings": 1}),
    Case("a lifetime ends", {"expiries": 1, "target_readers": 1}),
    Case("both lifetimes end", {"expiries": 2}),
    Case(
        "a lifetime ends, two sends in one transaction",
        {"expiries": 1, "target_readers": 1, "sends": 2},
    ),
    Case("target ended", _faults("target_ends_now")),
    Case("target ended with an error", _faults("target_errors_now")),
    Case("target cleaned up", _faults("target_cleaned")),
    Case("target cleaned up, then a recycle", _faults("target_cleaned", firings=1)),
    Case("target ended, two sends in one transaction", _faults("target_ends_now", sends=2)),
    Case("initiator ended", _faults("initiator_ends_now")),
    Case("initiator ended with an error", _faults("initiator_errors_now")),
    Case("initiator cleaned up", _faults("initiator_cleaned")),
    Case("target ended, initiator ended", _faults("target_ends_now", "initiator_ends_now")),
    Case("target ended, initiator cleaned up", _faults("target_ends_now", "initiator_cleaned")),
    Case("target cleaned up, initiator ended", _faults("target_cleaned", "initiator_ends_now")),
    Case("a client's retry, target ended", _faults("target_ends_now", **RETRY)),
)
"""What may happen beside one sender. Each at any moment, whatever lies in the queues."""

CASE = {case.name: case for case in CASES}


def scenario(setup: Setup) -> Scenario:
    """The setup's, which also says of each loss whether its number is written down, and of repeats
    that at_least_once allows.
    """
    made = setup.scenario()
    return replace(made, at_the_end=all_of(made.at_the_end, lambda world: _how(setup, world)))


def _how(setup: Setup, world: World) -> list[str]:
    """Whether as many dead letters without a body have been written as messages are lost."""
    account = setup.ledger(world)
    lost = len(account.lost)
    known = [
        side
        for side, body, kind in rows(world, "DeadLetter", "Side", "Body", "MessageType")
        if side == "initiator" and body is None and kind is None
    ]
    found = [FALSE_ALARM] if len(known) > lost else []
    if account.duplicated:
        found.append(TWICE)
    if lost:
        found.append(NUMBER_ONLY if len(known) >= lost else WITHOUT_A_WORD)
    return found


def outcome(setup: Setup) -> str:
    """What becomes of its messages, by an exhaustive search."""
    result = search(scenario(setup), MOST)
    if WITHOUT_A_WORD in result.violations:
        return LOST
    if NUMBER_ONLY in result.violations:
        return WRITTEN_DOWN
    return KEPT if result.ended else NOT_LOOKED_THROUGH


def worst(case: Case, design: str) -> str:
    """The worst outcome of a case under each of ``SWITCHES``, with the switches it needs."""
    order = (KEPT, NOT_LOOKED_THROUGH, WRITTEN_DOWN, LOST)
    found = {str(switches): outcome(case.setup(design, switches)) for switches in SWITCHES}
    return max(found.values(), key=order.index)


def steps_to(setup: Setup, name: str) -> list[str]:
    """The shortest trace to a violation, as its steps read. Raises KeyError when there is none."""
    made = scenario(setup)
    found = search(made, MOST).violations[name]
    world, told = World(made), []
    for step in shortest(made, found).path:
        told.append(world.describe(step))
        world.take(step)
    return told
