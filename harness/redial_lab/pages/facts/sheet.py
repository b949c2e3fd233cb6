"""docs/facts.md, read: its facts, and which of them are open."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from redial.paths import DOCS, TEMPLATES
from redial_broker.engine.switches import SWITCHES, Switch

for _room in ("engine", "exec", "ssb"):
    import_module(f"redial_broker.{_room}.switches")

SHEET = DOCS / "facts.md"
FACT = re.compile(r"^\*\*(F-\d{3})\*\*(.*?)(?=^\*\*F-|^#|\Z)", re.M | re.S)
CITED = re.compile(r"\bF-\d{3}\b")
MARK = re.compile(
    r"\*(unknown|inferred|documents disagree)\*|\((inferred)\b|\b(in disagreement|our reading)\b",
    re.I,
)
"""What the sheet calls an answer that no document gives alone."""
MODULE = re.compile(r"`((?:usp|ufn)_\w+)`")
WORDS = 90
"""Letters of a fact that are shown."""


@dataclass(frozen=True)
class Fact:
    """One entry of the sheet."""

    number: str
    body: str

    @cached_property
    def marks(self) -> list[str]:
        """The words that make it open, each once, the most open first."""
        order = ["unknown", "documents disagree", "in disagreement", "inferred", "our reading"]
        found = {next(filter(None, match)).lower() for match in MARK.findall(self.body)}
        return sorted(found, key=order.index)

    @cached_property
    def switches(self) -> list[Switch]:
        """Those that stand for it: declared for it, or named in it."""
        return [
            switch
            for switch in SWITCHES.values()
            if switch.fact == self.number or f"`{switch.name}`" in self.body
        ]

    @property
    def open(self) -> bool:
        """Whether an answer is missing, or is no document's."""
        return bool(self.marks or self.switches)

    @cached_property
    def modules(self) -> set[str]:
        """Our procedures and functions it speaks of."""
        return set(MODULE.findall(self.body))

    @property
    def begins(self) -> str:
        """Its first words, without marks."""
        words = re.sub(r"[*`]|\s*\(inferred\b[^)]*\)", "", " ".join(self.body.split()))
        if len(words) <= WORDS:
            return words
        return words[:WORDS].rpartition(" ")[0].rstrip(" .,;:") + " ..."


def facts(text: str) -> dict[str, Fact]:
    """Every fact of a sheet by its number, in the sheet's order."""
    return {number: Fact(number, body) for number, body in FACT.findall(text)}


def opened(text: str) -> list[Fact]:
    """Those that are open."""
    return [fact for fact in facts(text).values() if fact.open]


def citing(numbers: Iterable[str]) -> dict[str, list[str]]:
    """The templates that cite each number, by their stems."""
    found: dict[str, list[str]] = {number: [] for number in numbers}
    for path in sorted(TEMPLATES.rglob("*.j2")):
        for number in set(CITED.findall(path.read_text("utf-8"))) & found.keys():
            found[number].append(path.name.partition(".")[0])
    return found
