"""What each search for a mutant gave, kept beside the register, so that hunting goes on where it
stopped and only what changed is searched again.

A result counts for the mutant's text, its case and what is installed there, and for the source of
the broker, the explorer and the claims: comments, docstrings and layout of these apart.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "sql" / "mutants" / "found.json"
SOURCES = ("harness/broker/engine", "harness/broker/exec", "harness/broker/ssb",
           "harness/broker/instance", "harness/broker/catalog", "harness/explore", "harness/tsql")
CHECKS = ("accounting", "audit", "claims", "hunt", "outcomes", "setups", "reached")
"""Modules of harness/proof that decide what a search finds."""


def digest(*parts: str) -> str:
    """A short one of some texts."""
    return blake2b("\0".join(parts).encode(), digest_size=4).hexdigest()


@cache
def sources(checks: tuple[str, ...] = CHECKS) -> str:
    """One of all code a search runs. checks: the modules of harness/proof that decide what it
    finds.
    """
    files = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    files += [path for name in checks
              if (path := ROOT / "harness" / "proof" / f"{name}.py").exists()]
    return digest(*(bare(path.read_text("utf-8")) for path in files))


def bare(source: str) -> str:
    """Python without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) \
                and isinstance(node.body[0], ast.Expr) \
                and isinstance(node.body[0].value, ast.Constant):
            node.body[0].value = ast.Constant(None)
    return ast.dump(tree)


@dataclass(frozen=True, slots=True)
class Search:
    """One search for one mutant. key: what it counts for; ran: False when the case never comes to
    the changed statement; claim: '' when it was not found; steps: of its trace as it was met;
    seconds: of a processor, its installation included.
    """

    key: str
    ran: bool = True
    claim: str = ""
    states: int = 0
    transitions: int = 0
    steps: int = 0
    seconds: float = 0.0


class Remembered:
    """Results by mutant and case. path: None remembers nothing beyond this process. Raises
    ValueError for a file that is none of ours.
    """

    def __init__(self, path: Path | None = KEPT) -> None:
        self.path = path
        self.found: dict[str, dict[str, Search]] = {}
        if path is not None and path.exists():
            try:
                for name, searches in json.loads(path.read_text("utf-8")).items():
                    self.found[name] = {case: _read(row) for case, row in searches.items()}
            except (AttributeError, TypeError, json.JSONDecodeError) as error:
                raise ValueError(f"{path}: not what `invoke mutants` writes ({error}). Next: "
                                 "remove it, all is searched anew") from None

    def search(self, name: str, case: str, key: str) -> Search | None:
        """What a search gave, where it still counts."""
        known = self.found.get(name, {}).get(case)
        return known if known is not None and known.key == key else None

    def finder(self, name: str) -> str:
        """The case that found a mutant when it was last hunted; ''."""
        return next((case for case, each in self.found.get(name, {}).items() if each.claim), "")

    def keep(self, name: str, searches: dict[str, Search]) -> None:
        """What a hunt gave."""
        self.found[name] = searches

    def write(self, names: Iterable[str]) -> None:
        """The file: one line to a mutant, in this order; others are left out."""
        lines = []
        for name in names:
            if name in self.found:
                searches = {case: _row(each) for case, each in self.found[name].items()}
                lines.append(f"{json.dumps(name)}: {json.dumps(searches, separators=(',', ':'))}")
        part = self.path.with_suffix(".part")
        part.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        part.replace(self.path)


def _row(search: Search) -> list | str:
    """As short as can be: most are cases that never come to the statement."""
    return list(asdict(search).values())[:1] + list(asdict(search).values())[2:] \
        if search.ran else search.key


def _read(row: list | str) -> Search:
    return Search(row, False) if isinstance(row, str) else Search(row[0], True, *row[1:])
