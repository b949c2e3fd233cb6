"""What to search, as data: applications, faults, checks, bounds. Nothing here runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redial_lab.explore.faults import Fault

if TYPE_CHECKING:
    Switches = Mapping[str, Any]
    """Values of switches of the engine by name: each switch has a type of its own."""

    from redial_broker.instance.instance import Instance
    from redial_lab.explore.world import World

LIVELOCK = "livelock"
"""What a search names the violation that states go round without time passing."""

CANCELLED = -1
"""Stands for an error number where the client cancelled: it knows of no outcome."""

GOING_ON = frozenset({"run", "timer", "expire", "resume"})
"""Kinds of step that are no faults: where none is possible, everything has come to rest."""


@dataclass(frozen=True, slots=True)
class Client:
    """An application's session."""

    name: str
    """As traces show it."""
    batches: tuple[str, ...]
    """Run one after the other, searched."""
    database: str = ""
    warm: tuple[str, ...] = ()
    """Run before the search begins, each to quiescence (a dialog that exists already, say)."""
    on_cancel: str = ""
    """What the application runs after it cancelled a batch (a transaction it began itself is its
    own to roll back)."""
    on_error: str = ""
    """After a batch that raised an error."""


@dataclass(frozen=True, slots=True)
class Step:
    """One transition."""

    kind: str
    """Run, timer, expire, resume, or a fault's."""
    who: Any  # int or tuple[str, ...]: ``kind`` says which
    """Session id or timer key."""

    def __str__(self) -> str:
        return f"{self.kind} {self.who}"


@dataclass(frozen=True, slots=True)
class Witness:
    """Something that must have been possible, or a claim has had nothing to say."""

    claim: str
    """Its name."""
    what: str
    """What must have happened, in words: "a message has landed"."""
    seen: Callable[[World], bool]
    """Whether it is so in a state."""
    at_rest: bool = False
    """It is looked for only where everything has come to rest."""

    @property
    def name(self) -> str:
        """Claim and witness, as reports show them."""
        return f"{self.claim}: {self.what}"


@dataclass(slots=True)
class Scenario:
    """What to search."""

    name: str
    prepare: Callable[[], Instance]
    """Makes the instance: databases, objects, data (before recording starts)."""
    clients: tuple[Client, ...]
    """The applications."""
    on_every_state: Callable[[World], list[str]] = lambda world: []
    at_the_end: Callable[[World], list[str]] = lambda world: []
    """on_every_state, at_the_end: checks; each returns the names of what is violated."""
    in_one_go: frozenset[str] = frozenset()
    """Names of queues whose activated readers run in a single step (their inner interleavings are
    not searched; say so where the result is quoted)."""
    timer_kinds: frozenset[str] = frozenset({"ssb.timer"})
    """Which timers may fire, at any moment."""
    firings: int = 1
    kills: int = 0
    cancels: int = 0
    """firings, kills, cancels: how many of each at most in one run."""
    notes: tuple[str, ...] = field(default=())
    faults: tuple[Fault, ...] = ()
    """What else may go wrong (one of each kind)."""
    statements_atomic: bool = False
    """Nobody comes in inside a statement, between two locks it asks for or two rows it reads."""
    each_statement: bool = False
    """Each is a step, also one that nobody else sees. A search sets it that finds it must be so
    (``counted``): its traces are of such steps."""
    switches: Switches = field(default_factory=dict)
    """Values of the engine's switches."""
    timer_limits: Mapping[str, int] = field(default_factory=dict)
    """Of a kind of timer, how many may fire; firings bounds all."""
    account: Callable[[World], object] | None = None
    """What became of every message, at rest."""
    livelock: str = ""
    """Name of the violation that states go round without time passing; '' where nobody asks."""
    asked: str = ""
    """Database in which checks put questions in T-SQL (``queries.ask``)."""
    watched: Callable[[World], object] | None = None
    """What of a state the checks of every state look at and that may change back, as a value to
    compare; None where nobody knows: then the search of ``persistent`` leaves nothing out."""
    witnesses: tuple[Witness, ...] = ()
    """What must be met, or a claim passes in vain."""
    counts: bool = False
    """How often each statement of each module runs is counted (``heat``)."""
    listens: bool = False
    """What applications are shown, rows and printed lines, is part of the state too."""

    @property
    def to_witness(self) -> dict[str, Witness]:
        """The witnesses by their names."""
        return {witness.name: witness for witness in self.witnesses}

    @property
    def all_faults(self) -> tuple[Fault, ...]:
        """Every fault that may strike. Raises ValueError when a kind is there twice."""
        found = (Fault("kill", self.kills), Fault("cancel", self.cancels), *self.faults)
        kept = tuple(fault for fault in found if fault.times > 0)
        if len({fault.kind for fault in kept}) < len(kept):
            raise ValueError(f"scenario {self.name}: a kind of fault is there twice")
        return kept
