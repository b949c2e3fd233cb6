"""The answer matrix: every combination of our choices, and the small searches that judge it.

A ``Cell`` is a combination of key, recycle, strategy, look-up hint, isolation and caller mode. It
is judged by a few ``STORIES``, each a setup small enough to be exhausted, so that each can be
searched again under every value of every switch it asks for. ``matrix_run`` searches them,
``matrix_page`` prints what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from redial.config.choices import Key, LookupHint, Recycle, TimerStrategy
from redial.config.keys import every_key
from redial_broker.instance.instance import Instance
from redial_broker.instance.session import Session
from redial_lab.explore.checks import all_of, nothing_left_behind
from redial_lab.explore.scenario import LIVELOCK, Scenario
from redial_lab.explore.world import World
from redial_lab.proof import installed
from redial_lab.proof.audit_setups import no_orphan_dialog
from redial_lab.proof.claims import claims
from redial_lab.proof.setups import CALLERS, Setup

if TYPE_CHECKING:
    from redial_lab.explore.scenario import Switches
    from redial_lab.proof.setups import Fields

ISOLATIONS = ("rc", "rcsi")
TRANSITIONS = 60_000
"""Bound of one search."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination. Fields as those of ``Setup``."""

    key: str = "spid"
    recycle: str = "timer"
    strategy: str = "two_phase"
    hint: str = "updlock"
    isolation: str = "rc"
    caller: str = "autocommit"

    def __str__(self) -> str:
        return " ".join(getattr(self, field.name) for field in fields(self))

    @classmethod
    def parse(cls, text: str) -> Cell:
        """The cell ``str`` wrote."""
        return cls(*text.split())

    @property
    def ours(self) -> bool:
        """Nothing in it is for comparison only."""
        return self.strategy == "two_phase" and self.hint == "updlock"

    @property
    def installed(self) -> Cell:
        """The same installation: every caller mode calls it."""
        return replace(self, caller="autocommit")

    def setup(self, story: Story) -> Setup:
        """What is searched of it in a story."""
        return Setup(**asdict(self), **story.fields)


def every_cell() -> list[Cell]:
    """Every legal combination, in the page's order: ours first."""
    found = [
        Cell(*choice)
        for choice in product(Key, Recycle, TimerStrategy, LookupHint, ISOLATIONS, CALLERS)
    ]
    found = [
        replace(
            cell,
            **{name: str(getattr(cell, name)) for name in ("key", "recycle", "strategy", "hint")},
        )
        for cell in found
    ]
    return sorted((cell for cell in found if not refusals(cell)), key=lambda cell: not cell.ours)


def refusals(cell: Cell) -> list[str]:
    """The rules by which the configuration refuses a combination; none for a legal one."""
    return list(_refusals(cell.key, cell.recycle, cell.strategy, cell.hint))


@cache
def _refusals(key: str, recycle: str, strategy: str, hint: str) -> tuple[str, ...]:
    try:
        Setup(key=key, recycle=recycle, strategy=strategy, hint=hint).config  # noqa: B018
    except ValidationError as error:
        return tuple(
            line
            for each in error.errors()
            for line in each["msg"].removeprefix("Value error, ").splitlines()
        )
    return ()


def refused() -> dict[str, list[str]]:
    """What the configuration refuses: 'key recycle strategy hint' -> the rules it breaks."""
    found = {}
    for choice in product(Key, Recycle, TimerStrategy, LookupHint):
        rules = _refusals(*map(str, choice))
        if rules:
            found[" ".join(map(str, choice))] = list(rules)
    return found


# ---------------------------------------------------------------------- the text searched
def essence(cell: Cell) -> str:
    """Digest of what is installed: equal for cells that run the same T-SQL."""
    return _essence(cell.key, cell.recycle, cell.strategy, cell.hint)


@cache
def _essence(*choice: str) -> str:
    return installed.essence(Cell(*choice).setup(STORIES["first"]).config)


# ---------------------------------------------------------------------- stories
@dataclass(frozen=True, slots=True)
class Story:
    """A setup to judge cells by."""

    title: str
    """In words."""
    fields: Fields
    """Of ``Setup``."""
    told: Callable[[Cell], bool] = lambda cell: True
    """Whether it is told of a cell."""
    varied: bool = True
    """Searched under every value of every switch too, else at the defaults only, unless violated
    there."""
    fault: bool = False
    """Somebody is stopped in the middle of it, so it says nothing of the cell as such."""

    @property
    def large(self) -> bool:
        """Whether it adds to a verdict that stands without it."""
        return not self.varied and not self.fault


def _shares(cell: Cell) -> bool:
    return every_key()[cell.key].shared


def _with_rows(cell: Cell) -> bool:
    return every_key()[cell.key].has_rows


STORIES: dict[str, Story] = {
    "first": Story("two senders, the first message of each", {"warm": 0, "firings": 0}),
    "timer": Story(
        "one sender with a dialog, its timer fires at any moment",
        {"senders": 1},
        lambda cell: cell.recycle == "timer",
    ),
    "aged": Story(
        "one sender, two messages, each send finds its dialog past its age",
        {"senders": 1, "messages": 2, "firings": 0},
        lambda cell: cell.recycle == "aged_out",
    ),
    "shared": Story(
        "two senders of one key (slot, dialog) that has a dialog", {"firings": 0}, _shares
    ),
    "dies": Story(
        "one sender, the target ends its dialog at any moment",
        {"senders": 1, "firings": 0, "faults": ("target_ends",)},
    ),
    "job": Story(
        "one sender with an idle dialog, the retire job at any moment",
        {"senders": 1, "firings": 0, "retire": True},
        lambda cell: cell.ours and _with_rows(cell) and cell.recycle != "never",
    ),
    "resend": Story(
        "one sender, the lifetime of its dialog ends while messages pend",
        {"senders": 1, "firings": 0, "lifetimes": 1},
        lambda cell: cell.ours,
    ),
    "wide": Story(
        "two senders, one with a dialog, its timer fires at any moment",
        {},
        lambda cell: cell.ours and cell.recycle == "timer",
        varied=False,
    ),
    "both die": Story(
        "two senders of one key, the target ends its dialog at any moment",
        {"firings": 0, "faults": ("target_ends",)},
        lambda cell: _shares(cell) and cell.strategy == "two_phase",
        varied=False,
    ),
    "killed": Story(
        "one sender with a dialog, its timer, and KILL of anybody at any moment",
        {"senders": 1, "faults": ("kill",)},
        lambda cell: cell.ours,
        varied=False,
        fault=True,
    ),
    "cancelled": Story(
        "one sender with a dialog, its timer, and the client cancels at any moment",
        {"senders": 1, "faults": ("cancel",)},
        lambda cell: cell.ours,
        varied=False,
        fault=True,
    ),
}
"""What a cell is judged by, the smallest first."""


def stories(cell: Cell) -> dict[str, Story]:
    """Those told of a cell."""
    return {name: story for name, story in STORIES.items() if story.told(cell)}


# ---------------------------------------------------------------------- what is looked for
@dataclass(slots=True)
class Watch:
    """What was met on the way and ends no run: deadlocks, and who waited for whose lock."""

    deadlocks: set[str]
    waits: set[str]

    def __init__(self) -> None:
        self.deadlocks, self.waits = set(), set()


ROLES = {
    "usp_SenderActivation": "the activated reader",
    "usp_TargetActivation": "the target",
    "usp_RetireIdle": "the job",
    "usp_InitiatorQueueHandler": "the activated reader",
    "usp_PurgeConversations": "the job",
}


def deadlocks(world: World) -> list[str]:
    """Every deadlock there has been, whoever took part: 'deadlock of ...: WHO dies'."""
    found = []
    for deadlock in world.incidents.deadlocks:
        who = {waiter.name: _outermost(waiter.procedures) for waiter in deadlock.waiters}
        name = who.get(deadlock.victim, "")
        victim = ROLES.get(
            name, "a sender" if deadlock.victim.startswith("sender") else deadlock.victim
        )
        found.append(f"deadlock of {' and '.join(sorted(who.values()))}: {victim} dies")
    return found


def _outermost(procedures: Iterable[str]) -> str:
    ours = [name.split(".")[-1] for name in procedures if name.split(".")[-2:-1] == ["audit"]]
    return ours[-1] if ours else "a batch"


def waits(world: World) -> set[str]:
    """Who waits for whose lock just now: 'a sender waits for a sender'."""
    found = set()
    locks = world.instance.engine.locks
    for session in world.instance.sessions.values():
        if session.wait is None or session.wait.kind != "lock":
            continue
        for other in locks.blockers(session.wait.request.transaction):
            if other.owner is not None and other.owner is not session:
                found.add(
                    f"{_role(world, session)} waits for {_role(world, cast(Session, other.owner))}"
                )
    return found


def _role(world: World, session: Session) -> str:
    if session.background:
        return "a reader of the initiator" if "InitiatorQueue" in session.stream else "the target"
    name = world.name_of(session)
    return "a sender" if name.startswith("sender") else f"the {name}"


def scenario(
    cell: Cell,
    story: Story,
    watch: Watch | None = None,
    *,
    switches: Switches | None = None,
    prepare: Callable[[], Instance] | None = None,
) -> Scenario:
    """What is searched. Every claim is looked at, and every deadlock counts, of senders too.

    watch: filled; then a deadlock ends no run, and what comes after it is judged too. Without it a
    deadlock is a violation where it happens. prepare: makes the instance instead.
    """
    setup = replace(cell.setup(story), switches=dict(switches or {}))
    made = setup.scenario()
    always = {name: claim for name, claim in setup.always.items() if name != "S1"}
    held = claims(setup.subject, always)
    rest = (claims(setup.subject, setup.at_rest), *((_orphan,) if setup.foreign else ()))

    def on_every_state(world: World) -> list[str]:
        if watch is None:
            return held(world) + deadlocks(world)
        watch.deadlocks.update(deadlocks(world))
        watch.waits.update(waits(world))
        return held(world)

    return replace(
        made,
        name=f"{cell}, {story.title}",
        on_every_state=on_every_state,
        at_the_end=all_of(*rest, nothing_left_behind),
        prepare=prepare or made.prepare,
    )


def _orphan(world: World) -> list[str]:
    return ["L1 a dialog nobody can find again"] if no_orphan_dialog(world) else []


# ---------------------------------------------------------------------- verdicts
CLASSES: dict[str, tuple[str, ...]] = {
    "deadlocks": ("deadlock",),
    "loses": ("S2 message after", "S3 acknowledged message lost", "S7 silent"),
    "duplicates": ("S3 message doubled", "S2 EndOfStream twice"),
    "out of order": ("S4",),
    "misreports": ("S3 refused", "S3 message from nowhere", "S7 an error"),
    "leaks": ("S5", "S6", "L1", "lock left", "transaction left"),
    "stalls": ("L2", LIVELOCK, "S7 a caller never"),
}
"""Classes of violation by the beginnings of their names."""


def class_of(name: str) -> str:
    """The class of a violation. Raises KeyError for a name nobody has classed."""
    for found, beginnings in CLASSES.items():
        if name.startswith(beginnings):
            return found
    raise KeyError(f"violation {name!r} belongs to no class of the matrix")


def classes(names: Iterable[str]) -> list[str]:
    """The classes of violations, in the order of ``CLASSES``; deadlocks with who dies."""
    names = list(names)
    found = {class_of(name) for name in names}
    said = []
    for each in CLASSES:
        if each == "deadlocks" and each in found:
            dead = sorted(
                {
                    name.rpartition(": ")[2].removesuffix(" dies")
                    for name in names
                    if class_of(name) == each
                }
            )
            said.append(f"deadlocks ({' or '.join(dead)} dies)")
        elif each in found:
            said.append(each)
    return said
