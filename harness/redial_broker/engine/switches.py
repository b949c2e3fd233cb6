"""What no document settles and the embedded broker must decide: each a named switch.

A room declares its switches in its own ``switches.py`` (``engine``, ``ssb``, ``exec``) with
``declare``; ``SWITCHES`` gathers them. ``value(engine, name)`` reads one. The explorer varies them,
``invoke broker --switch name=value`` and ``Instance(switches={...})`` set them, ``sql/probes``
settles them on a real server, and the coverage page lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redial_broker.engine.kernel import Engine


class SwitchError(ValueError):
    """A switch or a value there is none of; the text lists what is allowed."""


@dataclass(frozen=True, slots=True)
class Switch:
    """One undecided fact.

    values[0] is the default.
    """

    name: str
    values: tuple[Any, ...]
    fact: str
    """Its number in docs/facts.md."""
    meaning: str
    """What each value does."""
    probe: str
    """The script in sql/probes whose row names the value a server has."""
    by_hand: str = ""
    """What to do where no script can. Any: a value is a text, a number or a truth."""

    @property
    def default(self) -> Any:
        """The value of an instance that was told nothing."""
        return self.values[0]

    def parse(self, text: str) -> Any:
        """The value written ``text``. Raises SwitchError."""
        for allowed in self.values:
            if shown(allowed) == text.strip().lower():
                return allowed
        raise self.refusal(repr(text))

    def refusal(self, given: str) -> SwitchError:
        """Says what may be given instead."""
        allowed = ", ".join(shown(allowed) for allowed in self.values)
        return SwitchError(f"switch {self.name}: {given} is none of its values: {allowed}")


SWITCHES: dict[str, Switch] = {}
"""Every switch of the rooms that are loaded, by name."""


def declare(
    name: str, values: tuple[Any, ...], fact: str, meaning: str, probe: str = "", by_hand: str = ""
) -> Switch:
    """Add a switch to the registry. probe: when its script is not named like the switch."""
    if name in SWITCHES:
        raise ValueError(f"switch {name} is declared twice")
    switch = SWITCHES[name] = Switch(
        name, values, fact, meaning, "" if by_hand else probe or name, by_hand
    )
    return switch


def value(engine: Engine, name: str) -> Any:
    """The value of a switch: as the instance was given it, else the default."""
    chosen = engine.switches
    return chosen[name] if name in chosen else SWITCHES[name].values[0]


def silent(engine: Engine, name: str) -> Any:
    """The same without a note that somebody asked: for digests, of which nothing follows."""
    return engine.switches.get(name, SWITCHES[name].values[0])


class Chosen(dict):  # type: ignore[type-arg]  # dict[str, Any] would be another base
    """The values an instance was given; ``read`` holds the names of all switches asked for.

    What is read once and kept (at the creation of a queue, when a text is compiled) is in it too.
    """

    def __init__(self, values: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(values)
        self.read = read

    def __contains__(self, name: object) -> bool:
        """Whether a value was given; notes that somebody asked."""
        self.read.add(str(name))
        return super().__contains__(name)


_GIVEN: ContextVar[tuple[Mapping[str, Any], set[str] | None]] = ContextVar(
    "given", default=({}, None)
)


@contextmanager
def given(values: Mapping[str, Any], read: set[str] | None = None) -> Iterator[None]:
    """Every instance made inside has these values, unless it is told otherwise itself.

    read: filled with the names of the switches those instances ask for, inside and later on.
    Raises SwitchError.
    """
    token = _GIVEN.set((check(values), read))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def of_an_instance(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What ``Engine.switches`` is to be: chosen, over what ``given`` says. Raises SwitchError."""
    values, read = _GIVEN.get()
    found = {**values, **check(chosen)}
    return found if read is None else Chosen(found, read)


def shown(value: Any) -> str:
    """A value as command lines, probes and pages write it: true, false, 0, at once."""
    return str(value).lower()


def check(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The same choice, every name and value known. Raises SwitchError."""
    for name, given in chosen.items():
        switch = known(name)
        if not any(type(given) is type(a) and given == a for a in switch.values):
            raise switch.refusal(repr(given))
    return dict(chosen)


def parse(texts: Iterable[str]) -> dict[str, Any]:
    """Values by name from texts ``name=value``. Raises SwitchError."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, given = text.partition("=")
        if not equals:
            raise SwitchError(f"switch {text}: write name=value")
        found[name.strip()] = known(name.strip()).parse(given)
    return found


def known(name: str) -> Switch:
    """The switch of that name. Raises SwitchError."""
    switch = SWITCHES.get(name)
    if switch is None:
        raise SwitchError(
            f"switch {name}: there is none of that name; the switches are "
            f"{', '.join(sorted(SWITCHES))}"
        )
    return switch


NEVER_MET: dict[str, str] = {
    "order of the locks on endpoint, group and queue rows inside SEND and END": (
        "one lock is taken, that of the conversation group; whether END and SEND wait for each "
        "other's rows besides are switches of their own (F-455, F-456)"
    ),
    "whether the count of poison rollbacks survives a restart": "there is no restart",
    "conversation timers that came due while the server was down": "there is no restart",
    "jitter of conversation timers": "the clock is exact, and in tests virtual",
    "when a network delivery is tried again (4 to 64 seconds)": "nothing leaves the instance",
    "how often the deadlock monitor looks": "deadlocks are found at once",
    "cost of a look-up in sys.conversation_endpoints (F-126)": (
        "it says nothing of results; sql/probes/state_lookup_cost.sql measures it on a server"
    ),
}
"""Unknowns the engine has no need to decide, and why."""


# ---------------------------------------------------------------------- of the engine itself
declare(
    "failed_statement_locks",
    ("kept", "released"),
    "F-132",
    "A statement that fails inside a transaction keeps the locks it has got, or gives back "
    "those it was the first to take.",
)
declare(
    "optimized_locking",
    ("off", "on"),
    "F-548",
    "Under RCSI an UPDATE or DELETE without hints that lock passes over rows whose committed version "
    "does not qualify, without waiting for whoever is changing them (2025, Managed Instance).",
    "optimized_locking",
)
declare(
    "savepoint_locks",
    ("kept", "released"),
    "F-320",
    "ROLLBACK to a savepoint keeps the row and table locks taken since (seen by a probe), or "
    "gives them back (the page).",
)
declare(
    "send_wait_log",
    ("counts", "does not count"),
    "F-273",
    "A transaction that waits for a conversation group is weighed with all the log it has "
    "written when a deadlock's victim is chosen, or with none (the wait belongs to an inner "
    "transaction).",
)
declare(
    "group_lock_timeout_dooms",
    (False, True),
    "F-277",
    "1222 of a verb that waited for a conversation group, caught with XACT_ABORT OFF, leaves a "
    "transaction that can only roll back.",
    "group_lock_timeout",
)
declare(
    "updlock_holdlock_hit",
    ("U", "X"),
    "F-274",
    "Key lock of UPDLOCK with HOLDLOCK on a row found by all columns of a unique index.",
)
declare(
    "snapshot_level_taken",
    ("first access", "begin"),
    "F-207",
    "Error 3951 looks at the level in force when the transaction first touched a table, or "
    "when it was begun.",
    "snapshot_caller",
)
declare(
    "snapshot_3952_ends",
    ("batch", "statement"),
    "F-207",
    "What 3952 ends: the batch and its transaction as 3960 does, or the statement.",
)
declare(
    "snapshot_updlock_conflict",
    ("at read", "at write"),
    "F-207",
    "UPDLOCK under SNAPSHOT on a row changed since: 3960 when it is read, or only when it is "
    "changed.",
)
declare(
    "snapshot_insert_over_deleted",
    ("error", "allowed"),
    "F-207",
    "INSERT under SNAPSHOT of a key deleted and committed since: 3960, or the row goes in.",
)
declare(
    "snapshot_truncate",
    ("ddl", "dml"),
    "F-207",
    "TRUNCATE TABLE makes other SNAPSHOT transactions fail with 3961 as DDL does, or its rows "
    "have versions like deleted ones.",
)
