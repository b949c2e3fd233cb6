"""Rules about queries that a server refuses and a reader does not."""

from __future__ import annotations

from collections.abc import Iterator

from redial.lint.model import Module, Rule
from redial.tsql import ast

Findings = Iterator[tuple[ast.Node, str]]

_AGGREGATES = {"AVG", "CHECKSUM_AGG", "COUNT", "COUNT_BIG", "MAX", "MIN", "STDEV", "STDEVP"}
_AGGREGATES |= {"STRING_AGG", "SUM", "VAR", "VARP"}


def mixed_aggregate(module: Module) -> Findings:
    """An aggregate over a column of its own query and one of a query around it, where both are qualified."""
    for call in module.of(ast.FunctionCall):
        select = next((node for node in module.above(call) if isinstance(node, ast.Select)), None)
        if select is None or call.name.name.upper() not in _AGGREGATES or len(call.name.parts) > 1:
            continue
        own = {name for source in select.from_ for name in _names(source)}
        columns = {
            node.parts[-2].lower(): ".".join(node.parts)
            for node in call.walk()
            if isinstance(node, ast.ColumnRef) and len(node.parts) > 1
        }
        inner = [column for name, column in columns.items() if name in own]
        outer = [column for name, column in columns.items() if name not in own]
        if inner and outer:
            said = f"{call.name.name} of {inner[0]}, and of {outer[0]} from the query around it"
            yield call, said


def _names(source: ast.Node) -> Iterator[str]:
    """By which its columns are qualified, in lower case."""
    if isinstance(source, ast.Join | ast.Apply):
        yield from (*_names(source.left), *_names(source.right))
        return
    if isinstance(source, ast.TableRef) and not source.alias:
        yield source.name.name.lower()
    if alias := getattr(source, "alias", None):
        yield alias.lower()


QUERIES = (
    Rule(
        "SB15",
        "mixed_aggregate",
        "A server refuses an aggregate over columns of its own query and of one around it: error 8124, "
        "when the module is created.",
        "Compute the value in a derived table, and aggregate its column.",
        "Error 8124, https://learn.microsoft.com/sql/relational-databases/errors-events/"
        "database-engine-events-and-errors-8000-to-8999: our own ufn_SentAgain had it until 2026-11-28.",
        mixed_aggregate,
    ),
)
