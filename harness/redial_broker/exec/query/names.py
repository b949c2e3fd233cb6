"""Names on the level of the syntax tree: who is mentioned where, before anything is compiled.

Join order and access paths are chosen before columns have places in the row, so they look names up
here; the expression compiler looks them up again in the final scope and raises the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from redial.tsql import ast

if TYPE_CHECKING:
    from redial_broker.exec.query.sources import Source

QUERIES = (ast.ScalarSubquery, ast.Exists, ast.InQuery, ast.QuantifiedComparison)


class Names:
    """The sources of one FROM clause, by name."""

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self._columns: dict[str, list[tuple[Source, int]]] = {}
        for source in sources:
            for ordinal, column in enumerate(source.columns):
                self._columns.setdefault(column.name.lower(), []).append((source, ordinal))

    def find(self, ref: ast.ColumnRef) -> list[tuple[Source, int]]:
        """Every (source, column ordinal) the name may mean in this FROM clause."""
        qualifier = tuple(part.lower() for part in ref.parts[:-1])
        found = self._columns.get(ref.parts[-1].lower(), [])
        return [item for item in found if item[0].answers(qualifier)]

    def one(self, node: ast.Node) -> tuple[Source, int] | None:
        """(source, ordinal) when ``node`` is nothing but a column of this FROM clause."""
        if not isinstance(node, ast.ColumnRef):
            return None
        found = self.find(node)
        return found[0] if len(found) == 1 else None

    def mentioned(self, node: ast.Node) -> set[Source]:
        """The sources a node reads; inside subqueries every name that might be meant counts."""
        mentioned: set[Source] = set()
        for ref in column_refs(node):
            mentioned.update(source for source, _ in self.find(ref))
        return mentioned

    def ordinals(self, source: Source, nodes: Iterable[ast.Node | None]) -> frozenset[int]:
        """The columns of ``source`` that any of ``nodes`` may read."""
        found: set[int] = set()
        for node in nodes:
            if node is None:
                continue
            for item in ast.noted(node, _columns_and_stars):
                if isinstance(item, ast.ColumnRef):
                    found.update(i for s, i in self.find(item) if s is source)
                elif self._star_reads(item, source):
                    found.update(range(len(source.columns)))
        return frozenset(found)

    @staticmethod
    def _star_reads(star: ast.Star, source: Source) -> bool:
        return not star.qualifier or source.answers(tuple(q.lower() for q in star.qualifier))

    def canonical(self, node: ast.Node) -> Any:
        """Nested tuples equal for expressions that mean the same columns, however spelled."""
        if isinstance(node, ast.ColumnRef):
            found = self.one(node)
            if found is not None:
                return ("column", id(found[0]), found[1])
            return ("outer", *(part.lower() for part in node.parts))
        if isinstance(node, ast.Variable):
            return ("variable", node.name.lower())
        if isinstance(node, ast.ObjectName):
            return ("name", *(part.lower() for part in node.parts))
        if isinstance(node, ast.Node):
            fields = (self.canonical(getattr(node, name)) for name in ast.child_fields(type(node)))
            return (type(node).__name__, *fields)
        if isinstance(node, (list, tuple)):
            return tuple(self.canonical(item) for item in node)
        return node


def column_refs(node: ast.Node) -> tuple[ast.ColumnRef, ...]:
    """All column references at or below a node."""
    return ast.noted(node, _column_refs)


def _column_refs(node: ast.Node) -> tuple[ast.ColumnRef, ...]:
    return tuple(item for item in node.walk() if isinstance(item, ast.ColumnRef))


def _columns_and_stars(node: ast.Node) -> tuple[ast.ColumnRef | ast.Star, ...]:
    return tuple(item for item in node.walk() if isinstance(item, (ast.ColumnRef, ast.Star)))


def conjuncts(condition: ast.Predicate | None) -> list[ast.Predicate]:
    """The conditions a predicate joins by AND, in order."""
    if condition is None:
        return []
    if isinstance(condition, ast.And):
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def has_subquery(node: ast.Node) -> bool:
    """True when a query stands inside the expression or predicate."""
    return ast.noted(node, _has_subquery)


def _has_subquery(node: ast.Node) -> bool:
    return any(isinstance(item, QUERIES) for item in node.walk())


def contains(node: ast.Node | None, *classes: type) -> bool:
    """True when a node of one of the classes stands at or below ``node``."""
    return node is not None and any(isinstance(item, classes) for item in node.walk())


def walk_here(node: ast.Node) -> Iterator[ast.Node]:
    """Nodes at or below ``node`` that belong to the same query level: subqueries are not entered."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(
            child
            for child in reversed(list(current.children()))
            if not isinstance(child, ast.Query)
        )
