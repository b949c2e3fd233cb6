"""The verdict table every scenario ends in: the total queue, and what spoils it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.table import Table

from redial.operate.evidence import Evidence, Identity
from redial.operate.verdict import Clients, judge


@dataclass
class Ledger:
    """What all callers know together."""

    attempted: set[Identity] = field(default_factory=set)
    acknowledged: set[Identity] = field(default_factory=set)
    unknown: set[Identity] = field(default_factory=set)
    """The connection broke before the answer."""
    errors: list[tuple[int, str]] = field(default_factory=list)
    """(number, text), in their order."""


@dataclass(frozen=True)
class Expected:
    """What a scenario brings about on purpose, so that it does not spoil the verdict."""

    dead: frozenset[Identity] = frozenset()
    """These messages, all of them and no other, are dead-lettered."""
    errors: frozenset[int] = frozenset()
    """Numbers callers may see."""
    logged: frozenset[int] = frozenset()
    """Numbers ErrorLog may hold."""
    kills: bool = False
    """Answers may be swallowed."""


@dataclass
class TotalQueue:
    """Counts in the order they are shown."""

    attempted: int = 0
    acknowledged: int = 0
    landed: int = 0
    pending: int = 0
    dead_lettered: int = 0
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0
    out_of_order: int = 0
    leaked: int = 0
    deadlocks: int = 0
    victims: int = 0
    errors: int = 0
    dialogs: int = 0
    recycled: int = 0
    problems: list[str] = field(default_factory=list)
    """Why the run is not clean; empty where it is."""

    @property
    def clean(self) -> bool:
        """Whether every message is where it should be and nothing is left over."""
        return not self.problems


ROWS = (
    ("attempted", "messages callers tried to send"),
    ("acknowledged", "of them, those whose callers were told so"),
    ("landed", "in the Landing table"),
    ("pending", "in the transmission or target queue"),
    ("dead_lettered", "kept with code and reason"),
    ("lost", "acknowledged, and nowhere"),
    ("duplicated", "landed again"),
    ("unexpected", "there, though refused or never sent, or with another body"),
    ("out_of_order", "within their conversation"),
    ("leaked", "dialogs alive when all was over"),
    ("deadlocks", "reported by the server or told a caller"),
    ("victims", "callers chosen as victims"),
    ("errors", "callers saw"),
    ("dialogs", "begun"),
    ("recycled", "EndOfStream sent"),
)
"""Field and what it counts."""

_BAD = (
    "pending",
    "lost",
    "duplicated",
    "unexpected",
    "out_of_order",
    "leaked",
    "deadlocks",
    "victims",
)
"""Counts that are 0 in every clean run."""


def total_queue(ledger: Ledger, evidence: Evidence, expected: Expected, quiet: bool) -> TotalQueue:
    """The verdict of one story. ``quiet``: it came to rest before it was looked at."""
    unknown = ledger.unknown if expected.kills else set()
    seen = judge(Clients(ledger.acknowledged, ledger.unknown, ledger.errors), evidence, quiet)
    user = evidence.user_types
    landed = Counter(row.identity for row in evidence.landed if row.type in user)
    dead = {row.identity for row in evidence.dead}
    everywhere = set(landed) | dead | {row.identity for row in evidence.pending}
    strange = everywhere - ledger.acknowledged - ledger.unknown
    alive = {e.conversation for e in evidence.endpoints if e.state != "CLOSED"}
    found = TotalQueue(
        len(ledger.attempted),
        len(ledger.acknowledged),
        seen.landed,
        seen.pending,
        len(evidence.dead),
        seen.lost,
        seen.duplicated,
        len(strange),
        seen.out_of_order,
        len(alive),
        seen.deadlocks,
        sum(number == 1205 for number, _ in ledger.errors),
        len(ledger.errors),
        seen.dialogs_begun,
        seen.recycled,
    )
    found.problems = [text for text in seen.problems if not _meant(text)]
    if alive and not seen.leaked:
        found.problems.append(f"leaked: {len(alive)} dialogs were never recycled")
    if None in strange:
        found.problems.append("unexpected: a body nobody sent, empty or cut off")
    _compare(found, "dead letters", dead - {None}, set(expected.dead) - unknown)
    if None in dead:
        found.problems.append("dead-lettered: a body nobody sent")
    _numbers(found, "callers", ledger.errors, expected.errors)
    _numbers(found, "ErrorLog", evidence.errors, expected.logged)
    if ledger.unknown and not expected.kills:
        found.problems.append(f"unknown: {len(ledger.unknown)} answers were swallowed")
    return found


def _meant(text: str) -> bool:
    """Problems of ``judge`` that are looked at here, against what the story expects."""
    return text.startswith(("dead-lettered:", "sender errors:", "unknown:", "ErrorLog:"))


def _compare(
    found: TotalQueue, what: str, there: set[Identity | None], wanted: set[Identity]
) -> None:
    """The set must be the one the story brought about."""
    if there != wanted:
        found.problems.append(
            f"{what}: {len(there - wanted)} that should not be, {len(wanted - there)} missing"
        )


def _numbers(
    found: TotalQueue, who: str, errors: Sequence[tuple[int | None, str]], allowed: frozenset[int]
) -> None:
    """Errors nobody expects."""
    others = [(number, text) for number, text in errors if number not in allowed]
    if others:
        number, text = others[0]
        found.problems.append(f"{who}: {len(others)} errors, first {number}: {text}")


def table_of(found: TotalQueue, title: str) -> Table:
    """One row per count; what must be 0 and is not is red."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    table.add_column("count", justify="right")
    table.add_column("")
    for name, meaning in ROWS:
        value = getattr(found, name)
        bad = value and name in _BAD
        shown = f"[bold red]{value:,}[/]" if bad else f"{value:,}"
        table.add_row(name.replace("_", " "), shown, meaning)
    return table
