"""What a rule is, what it sees, what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar, overload

from redial.tsql import ast

N = TypeVar("N", bound=ast.Node)
N2 = TypeVar("N2", bound=ast.Node)
N3 = TypeVar("N3", bound=ast.Node)


@dataclass(frozen=True, slots=True)
class Options:
    """What rules have to know about the scripts."""

    table: str = "SessionConversations"
    """Name of the table that holds the open conversations (R)."""
    handle: str = "Handle"
    """Its column with the conversation handle."""
    file_settings: bool = True
    """Whether files are object files, which begin with their SET options (rule SB12); a snippet is
    not one."""


@dataclass(frozen=True, slots=True)
class Script:
    """What only the whole script tells."""

    activated: frozenset[str]
    """Names (lower case, without schema) of the procedures that run inside activation."""
    settings: frozenset[str]
    """Options that are ON before the script does anything else than setting some."""


class Module:
    """One batch as rules see it: the tree, each node's parents, the module it defines.

    number: of the batch in its file, from 0. operator: the batch says of itself that it is an
    operator's procedure (``/* lint: operator */``), for rules that leave those alone.
    """

    def __init__(
        self,
        batch: ast.Batch,
        number: int,
        options: Options,
        script: Script,
    ) -> None:
        self.batch = batch
        self.script = script
        self.number = number
        self.options = options
        self.nodes: list[ast.Node] = []
        self._parents: dict[ast.Node, ast.Node] = {}
        for node in batch.walk():
            self.nodes.append(node)
            for child in node.children():
                self._parents[child] = node
        self.operator = "/* lint: operator */" in batch.source.text

    @overload
    def of(self, kind: type[N], /) -> Iterator[N]: ...

    @overload
    def of(self, kind: type[N], second: type[N2], /) -> Iterator[N | N2]: ...

    @overload
    def of(self, kind: type[N], second: type[N2], third: type[N3], /) -> Iterator[N | N2 | N3]: ...

    def of(self, *kinds: type[ast.Node]) -> Iterator[ast.Node]:
        """Nodes of those classes, in the order of the text."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def above(self, node: ast.Node) -> Iterator[ast.Node]:
        """The node's parents, nearest first."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def is_table(self, name: ast.Node) -> bool:
        """Whether a name is that of the table of open conversations."""
        return isinstance(name, ast.ObjectName) and name.name.lower() == self.options.table.lower()


def script_of(batches: list[ast.Batch]) -> Script:
    """What those batches, in the order of the script, tell together."""
    return Script(_activated(batches), _settings(batches))


def _settings(batches: list[ast.Batch]) -> frozenset[str]:
    found: set[str] = set()
    for batch in batches:
        for statement in batch.statements:
            if isinstance(statement, ast.SetValue | ast.SetIsolationLevel):
                continue
            if not isinstance(statement, ast.SetOption):
                return frozenset(found)
            found = found | set(statement.names) if statement.on else found - set(statement.names)
    return frozenset(found)


def _activated(batches: list[ast.Batch]) -> frozenset[str]:
    """Procedures that receive, those a queue names, and whatever these call."""
    found: set[str] = set()
    calls: dict[str, set[str]] = {}
    for batch in batches:
        nodes = list(batch.walk())
        found |= {
            node.procedure.name.lower()
            for node in nodes
            if isinstance(node, ast.QueueActivation) and node.procedure is not None
        }
        made = next((node for node in nodes if isinstance(node, ast.CreateProcedure)), None)
        if made is None:
            continue
        name = made.name.name.lower()
        if any(isinstance(node, ast.Receive) for node in nodes):
            found.add(name)
        calls[name] = {
            node.procedure.name.lower()
            for node in nodes
            if isinstance(node, ast.ExecuteProcedure) and isinstance(node.procedure, ast.ObjectName)
        }
    while more := set().union(*(calls.get(name, set()) for name in found)) - found:
        found |= more
    return frozenset(found)


Check = Callable[[Module], Iterator[tuple[ast.Node, str]]]
"""Yields the node and what is wrong with it, in words that name it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    code: str
    """Stable, never given to another rule."""
    name: str
    """For sqlfluff and people."""
    why: str
    """What happens otherwise."""
    instead: str
    """What to write."""
    example: str
    """Where it has happened, public or historical."""
    check: Check


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something a rule found."""

    line: int
    column: int
    """line, column: 1-based, in the file."""
    code: str
    text: str = field(compare=False)
