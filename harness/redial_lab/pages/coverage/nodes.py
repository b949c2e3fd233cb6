"""Which kinds of syntax tree nodes run: judged by the examples that contain them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from redial.tsql import TsqlSyntaxError, ast, parse_batch
from redial_lab.pages.coverage.examples import REFUSED, RUNS, Example, Outcome, script, setups

HELPERS = frozenset(
    {
        ast.Batch,
        ast.Expression,
        ast.ModuleDefinition,
        ast.Node,
        ast.Predicate,
        ast.Source,
        ast.Statement,
        ast.TableElement,
        ast.TableSource,
    }
)
"""Base classes, and what holds the text."""


@dataclass(slots=True)
class Evidence:
    """What the examples say of one kind of node."""

    runs: int = 0
    refusals: list[str] = field(default_factory=list)
    """Texts, of examples that were refused."""

    @property
    def status(self) -> str:
        """RUNS when an example with it ran, REFUSED when all were refused, "" without one."""
        return RUNS if self.runs else REFUSED if self.refusals else ""


def kinds() -> list[type]:
    """Every concrete node class of the syntax tree, by module and place in it."""
    found = [
        item
        for name in ast.__all__
        if inspect.isclass(item := getattr(ast, name))
        and issubclass(item, ast.Node)
        and item not in HELPERS
        and not any(
            issubclass(getattr(ast, other), item) and getattr(ast, other) is not item
            for other in ast.__all__
            if inspect.isclass(getattr(ast, other))
        )
    ]
    return sorted(found, key=lambda item: (item.__module__, item.__name__))


def nodes_of(texts: Iterable[str]) -> Iterator[type]:
    """The classes of all nodes in some batches; what does not parse has none."""
    for text in texts:
        try:
            batch = parse_batch(text)
        except TsqlSyntaxError:
            continue
        for node in batch.walk():
            yield type(node)


def evidence(outcomes: dict[Example, Outcome]) -> dict[type, Evidence]:
    """What the outcomes of examples say of every kind of node."""
    found = {kind: Evidence() for kind in kinds()}
    for example, outcome in outcomes.items():
        own = set(nodes_of(script(example)))
        if outcome.status == RUNS:
            for kind in (own | set(nodes_of(setups()[example.setup].batches))) & found.keys():
                found[kind].runs += 1
        elif outcome.status == REFUSED:
            for kind in own & found.keys():
                found[kind].refusals.append(outcome.message)
    return found


def title(kind: type) -> str:
    """A node class in words: CreateBrokerPriority -> CREATE BROKER PRIORITY for a statement."""
    words: list[str] = []
    for letter in kind.__name__:
        if letter.isupper() or not words:
            words.append(letter)
        else:
            words[-1] += letter
    text = " ".join(words)
    return text.upper() if issubclass(kind, ast.Statement) else text.lower()
