"""What many trials came to: counts, and what of all that could be met was met."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from redial_broker.engine.switches import SWITCHES
from redial_lab.torture.caller import STYLES
from redial_lab.torture.caller_journal import OK, Journal
from redial_lab.torture.calls import WAYS
from redial_lab.torture.draw import SWITCH_NAMES
from redial_lab.torture.journal_verdict import Finding
from redial_lab.torture.nemesis import KINDS
from redial_lab.torture.plan import LEVELS, Plan
from redial_lab.torture.trial import Outcome


@dataclass
class Result:
    """One trial, in a form that goes from process to process."""

    plan: Plan
    findings: list[Finding]
    counts: Counter[str]
    struck: Counter[str]
    errors: Counter[int]
    acknowledged: Counter[tuple[str, str]]
    seconds: float


def result(outcome: Outcome) -> Result:
    """What is kept of a trial."""
    errors: Counter[int] = Counter()
    for journal in outcome.journals:
        errors.update(journal.errors)
    return Result(
        outcome.plan,
        outcome.verdict.findings,
        outcome.verdict.counts,
        outcome.struck,
        errors,
        acknowledged(outcome.plan, outcome.journals),
        outcome.seconds,
    )


def acknowledged(plan: Plan, journals: list[Journal]) -> Counter[tuple[str, str]]:
    """Acknowledged messages by what they met: (what, which)."""
    found: Counter[tuple[str, str]] = Counter()
    clients = {client.number: client for client in plan.clients}
    chosen = {name: plan.switches.get(name, SWITCHES[name].default) for name in SWITCH_NAMES}
    for journal in journals:
        client = clients.get(journal.client)  # None: an example of docs/callers
        level = client.level if client else "READ COMMITTED"
        xact_abort = client is None or client.xact_abort
        for entry in journal.entries:
            if entry.outcome != OK:
                continue
            found["way", entry.way] += 1
            found["style", entry.style] += 1
            found["level", level] += 1
            found["XACT_ABORT", "ON" if xact_abort else "OFF"] += 1
    total = found["XACT_ABORT", "ON"] + found["XACT_ABORT", "OFF"]
    found["variant", plan.name] += total
    found["read committed snapshot", "on" if plan.rcsi else "off"] += total
    for name, value in chosen.items():
        found["switch", f"{name} = {shown(value)}"] += total
    return found


def shown(value: object) -> str:
    """A switch's value as command lines write it."""
    return str(value).lower()


@dataclass
class Tally:
    """The sum of many results."""

    variants: tuple[str, ...]
    """Names of all that were to be tried."""
    switches: tuple[str, ...] = tuple(SWITCH_NAMES)
    """Of the embedded broker, set by plans; none on a server, which answers as it does."""
    trials: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    acknowledged: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)

    def add(self, one: Result) -> None:
        """Count a trial in."""
        self.trials += 1
        self.seconds += one.seconds
        self.counts.update(one.counts)
        self.struck.update(one.struck)
        self.errors.update(one.errors)
        self.acknowledged.update(
            {
                met: number
                for met, number in one.acknowledged.items()
                if met[0] != "switch" or self.switches
            }
        )
        self.found.update({finding.kind for finding in one.findings})

    def wanted(self) -> dict[str, list[str]]:
        """Everything that could be met, by what it is."""
        return {
            "variant": list(self.variants),
            "way": list(WAYS),
            "style": [name for name in STYLES if name not in {"rollback", "leaves"}],
            "level": list(LEVELS),
            "XACT_ABORT": ["ON", "OFF"],
            "read committed snapshot": ["on", "off"],
            "switch": [
                f"{name} = {shown(value)}"
                for name in self.switches
                for value in SWITCHES[name].values
            ],
        }

    def missed(self) -> list[str]:
        """What no acknowledged message met, and what trouble never struck."""
        found = [
            f"{what} {which}"
            for what, every in self.wanted().items()
            for which in every
            if not self.acknowledged[what, which]
        ]
        return found + [f"event {name}" for name in KINDS if not self.struck[name]]
