"""The sixteen mistakes of history (``HISTORY``), each found by a search."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from redial.render import render
from redial_lab.explore.checks import all_of, no_deadlock
from redial_lab.explore.scenario import Client, Scenario
from redial_lab.explore.search import Limits, Violation, search
from redial_lab.explore.shorten import readable
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import accounted, article, deployed, send, small_config
from redial_lab.proof.kept_searches import digest
from redial_lab.proof.setups import Setup
from redial_lab.proof.strategies import hinted, lookup, no_sender_victim

OFF = "ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);"
HANDLE = (
    "DECLARE @h uniqueidentifier = (SELECT TOP (1) ce.conversation_handle FROM "
    "sys.conversation_endpoints AS ce WHERE ce.is_initiator = {} AND ce.state <> 'CD'); "
)
"""A live dialog's handle: the initiator's side with 1, the target's with 0."""
REMOVED = HANDLE.format(1) + "END CONVERSATION @h WITH CLEANUP;"
"""A DBA removes the initiator's side of a dialog."""
MOST_TO_FIND = 20_000
"""Bound of one search, in transitions."""


def no_error(world: World) -> list[str]:
    """A caller is told no error of ours: nothing happened that he could mend."""
    told = [n for results in world.progress.results for batch in results for n in batch]
    return ["S7 a caller is told of a dead dialog"] if {8426, 8429} & set(told) else []


def with_mutant(text: str, mutant: str | None, **changes: Any) -> Scenario:  # each its own type
    """A setup with a mutant of ``sql/mutants`` and the checks above. changes: of the scenario,
    ``first`` of what is run after the installation."""
    setup = Setup.parse(text)
    made = replace(setup, mutant=mutant).scenario()
    first = changes.pop("first", None)
    if first is not None:
        changes["prepare"] = lambda: deployed(setup.config, first=first, mutant=mutant)
    at_rest = changes.pop("at_the_end", made.at_the_end)
    return replace(made, at_the_end=all_of(at_rest, no_error), **changes)


def _batches(made: Scenario, *batches: str) -> tuple[Client, ...]:
    return (replace(made.clients[0], batches=batches), *made.clients[1:])


def _long_bodies(mutant: str | None) -> Scenario:
    """Bodies of three bytes, sent again when the lifetime has ended."""
    text = "senders=1 firings=0 lifetimes=1"
    made = Setup.parse(text).scenario()
    return with_mutant(
        text,
        mutant,
        clients=_batches(made, send("A1A2A3")),
        at_the_end=accounted({(0, 0): "A1A2A3"}),
        account=None,
    )


def _dead_before(mutant: str | None, text: str) -> Scenario:
    """A DBA removes our side of a dialog while nobody reads the queue; then a caller sends."""
    wanted = "senders=1 firings=0"
    made = Setup.parse(wanted).scenario()
    return with_mutant(
        wanted,
        mutant,
        first=(OFF,),
        clients=_batches(made, REMOVED, text),
        at_the_end=lambda world: [],
        account=None,
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """One of the sixteen."""

    mutant: str
    """Of sql/mutants."""
    violation: str
    """What the search must find."""
    of: Callable[[str | None], Scenario]
    """The scenario with a mutant or the shipped text."""
    words: str = "senders=1"
    """Of the setup whose text is installed."""

    @property
    def text(self) -> str:
        """Digest of what is installed and searched."""
        config = Setup.parse(self.words).config
        texts = render(config, mutant=self.mutant).values()
        return digest(self.violation, self.words, *texts)

    def scenario(self) -> Scenario:
        """What is searched for it."""
        return self.of(self.mutant)

    def shipped(self) -> Scenario:
        """The same with the shipped text."""
        return self.of(None)


def _setup(mutant: str, violation: str, text: str) -> Listed:
    return Listed(mutant, violation, lambda mutant: with_mutant(text, mutant), text)


def _holdlock(mutant: str | None) -> Scenario:
    return replace(
        lookup("updlock", dead=True, firings=0),
        prepare=lambda: deployed(hinted("updlock"), mutant=mutant),
    )


def _high(mutant: str | None) -> Scenario:
    return replace(
        article(in_transaction=True),
        on_every_state=all_of(no_deadlock, no_sender_victim),
        prepare=lambda: deployed(small_config(), mutant=mutant),
    )


HISTORY: dict[int, Listed] = {
    1: _setup("no_lock_hint", "S2 message after EndOfStream", "senders=1"),
    2: Listed("holdlock", "deadlock", _holdlock),
    3: _setup(
        "one_transaction",
        "S1 deadlock of usp_Send, usp_SenderActivation, victim a sender",
        "senders=1 caller=transaction",
    ),
    4: _setup(
        "end_of_stream_before_delete",
        "S2 message after EndOfStream",
        "senders=1 caller=transaction",
    ),
    5: Listed("article_high_priority", "a sender is the victim", _high),
    6: _setup(
        "end_before_resend", "S3 acknowledged message lost", "senders=1 firings=0 lifetimes=1"
    ),
    7: Listed("resend_one_byte", "acknowledged message lost", _long_bodies),
    8: _setup(
        "resend_out_of_order",
        "S4 out of order on a dialog",
        "senders=1 messages=2 firings=0 lifetimes=1",
    ),
    9: _setup("initiator_ends_first", "L1 a dialog is left half closed", "senders=1"),
    10: _setup("cleanup_in_activation", "L1 a recycled dialog is not closed", "senders=1"),
    11: _setup(
        "error_not_ended",
        "L1 a dialog nobody can find again",
        "senders=1 firings=0 faults=error_message",
    ),
    12: Listed(
        "dead_handle_dooms_caller",
        "S7 a caller is told of a dead dialog",
        lambda mutant: _dead_before(
            mutant, f"SET XACT_ABORT ON; BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;"
        ),
    ),
    13: _setup(
        "row_kept", "S6 row of a dead dialog", "key=pool senders=1 firings=0 faults=target_ends"
    ),
    14: _setup(
        "minutes_for_seconds",
        "S5 a dialog lives longer than configured",
        "senders=1 firings=0 warm=0",
    ),
    15: Listed(
        "same_dead_handle",
        "S7 a caller is told of a dead dialog",
        lambda mutant: _dead_before(mutant, send("A1")),
    ),
    16: _setup("stub_activation", "L1 a message nobody is started for", "senders=1"),
}
"""Mistakes people have made since 2007, by their number in our list."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What the search for one of the sixteen did."""

    number: int
    mutant: str
    violation: str
    others: tuple[str, ...]
    states: int
    transitions: int
    seconds: float
    """Of a processor, for the search with its installation."""
    violated: Violation | None
    scenario: str


def find_listed(number: int, most: int = MOST_TO_FIND) -> Hit:
    """Search for one of the sixteen until it is found, within so many transitions."""
    listed = HISTORY[number]
    started = time.process_time()
    result = search(listed.scenario(), Limits(transitions=most, until=listed.violation))
    took = time.process_time() - started
    found = result.violations.get(listed.violation)
    others = tuple(name for name in result.violations if name != listed.violation)
    return Hit(
        number,
        listed.mutant,
        listed.violation if found else "",
        others,
        result.states,
        result.transitions,
        took,
        found,
        result.scenario,
    )


def shortened(hit: Hit) -> Violation:
    """The shortest trace of what was found, every step needed, in as few turns as were found."""
    assert hit.violated is not None
    return readable(HISTORY[hit.number].scenario(), hit.violated)
