"""Queries inside expressions: what EXISTS, IN and scalar subqueries call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.exec.query.aggregates import has_aggregate
from redial_broker.exec.query.rowset import QueryColumn, Rowset

if TYPE_CHECKING:
    from typing import TypeVar

    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.session import SessionState

    _T = TypeVar("_T")


class Subquery:
    """The object the expression compiler gets for a nested query.

    columns: its output; rows and exists, of (session, variables, row): row is that of the enclosing
    query. One that reads nothing of it is run once per run of the enclosing query block, whose ``memo`` keeps
    the result. What is not asked for is not compiled.
    """

    __slots__ = ("_compile", "_memo", "_node", "_rowset")

    def __init__(
        self, node: ast.Query, compile_query: Callable[..., Rowset], memo: list[Any] | None
    ) -> None:
        self._node = node
        self._compile = compile_query
        self._memo = memo
        self._rowset: Rowset | None = None

    def _whole(self) -> Rowset:
        if self._rowset is None:
            self._rowset = self._compile(self._node, None)
        return self._rowset

    @property
    def columns(self) -> list[QueryColumn]:
        """Its output columns."""
        return self._whole().columns

    @property
    def rows(self) -> Rows:
        """All rows for one outer row."""
        rowset = self._whole()
        return self._kept(rowset.rows, rowset)

    @property
    def exists(self) -> Callable[[SessionState, Values, RowValues], bool]:
        """Whether there is a row: reads, and locks, no further than the first one."""
        rowset = self._compile(_probe(self._node), 1)
        rows = rowset.rows
        return self._kept(
            lambda session, variables, row: bool(rows(session, variables, row)), rowset
        )

    def _kept(
        self, function: Callable[[SessionState, Values, RowValues], _T], rowset: Rowset
    ) -> Callable[[SessionState, Values, RowValues], _T]:
        memo = self._memo
        if memo is None or rowset.correlated:
            return function
        cell = len(memo)
        memo.append(None)

        def run(session: SessionState, variables: Values, row: RowValues) -> _T:
            known: tuple[_T] | None = memo[cell]
            if known is None:
                known = memo[cell] = (function(session, variables, row),)
            return known[0]

        return run


def _probe(node: ast.Query) -> ast.Query:
    """The query of EXISTS without its select list, which is never evaluated."""
    body = node.body
    if (
        not isinstance(body, ast.Select)
        or body.group_by is not None
        or body.having is not None
        or body.distinct
        or any(has_aggregate(item) for item in body.items)
    ):
        return node
    one = ast.SelectItem(node.pos, node.end, ast.Literal(node.pos, node.end, "int", 1), "one")
    return replace(
        node, body=replace(body, items=[one]), order_by=node.order_by if body.top else None
    )
