"""What a recursive common table may look like, and its rounds.

Source: "WITH common_table_expression" page, Guidelines for recursive common table expressions: the
anchors come first; UNION ALL joins the members to them; FROM of a member names the table once; the
types of both parts are the same; no DISTINCT, TOP, OFFSET, GROUP BY, HAVING, aggregate, PIVOT or
outer join. The numbers are those of the errors-events pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT
from redial_broker.exec.query.aggregates import is_aggregate
from redial_broker.exec.query.names import QUERIES

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.query.rowset import QueryColumn
    from redial_broker.exec.session import SessionState

MAX_RECURSION = 100
"""Levels of a recursive common table without OPTION (MAXRECURSION)."""
MOST_RECURSION = 32767
"""The largest limit OPTION (MAXRECURSION) takes."""


def refers(node: ast.Node, name: str) -> bool:
    """Whether a query reads the common table of that name."""
    return any(_is_reference(part, name) for part in node.walk())


def _is_reference(node: ast.Node, name: str) -> bool:
    return (
        isinstance(node, ast.TableRef)
        and len(node.name.parts) == 1
        and node.name.name.lower() == name.lower()
    )


def split(table: ast.CommonTable, context: Context) -> tuple[Any, list[Any]]:
    """(anchors, recursive members) of a common table that reads itself.

    Raises 246, 247 or 252 for another form, and what a member may not contain.
    """

    def refused(number: int) -> SqlError:
        return context.fail(table, SqlError(number, table.name, aborts="scope"))

    members: list[Any] = []
    body = _bare(table.query)
    while isinstance(body, ast.SetOperation) and refers(body.right, table.name):
        if body.op != "UNION ALL":
            raise refused(252)
        members.insert(0, body.right)
        body = _bare(body.left)
    if refers(body, table.name):
        if isinstance(body, ast.SetOperation):  # what follows the recursive part is an anchor
            raise refused(247 if body.op == "UNION ALL" else 252)
        raise refused(246 if members else 252)
    for member in members:
        _check(member, table.name, context)
    return body, members


def _bare(body: Any) -> Any:
    """A set operation without the parentheses around it."""
    while isinstance(body, ast.Query) and not (body.order_by or body.offset or body.for_):
        body = body.body
    return body


def _check(member: ast.Node, name: str, context: Context) -> None:
    """Raise what stands in a recursive member and may not; derived tables and subqueries count."""
    references = 0
    for node, nested in _inside(member, name):
        wrong = _wrong(node)
        if wrong is not None:
            raise context.fail(node, SqlError(wrong, name, aborts="scope"))
        if isinstance(node, ast.SetOperation):
            if not node.op.startswith("UNION"):
                raise context.not_supported(node, f"{node.op} inside a recursive member")
            raise context.fail(node, SqlError(466, name, aborts="scope"))
        if not _is_reference(node, name):
            continue
        if nested:
            raise context.fail(node, SqlError(465, aborts="scope"))
        if getattr(node, "hints", None):
            raise context.fail(node, SqlError(4150, name, aborts="scope"))
        references += 1
        if references > 1:
            raise context.fail(node, SqlError(253, name, aborts="scope"))


def _wrong(node: ast.Node) -> int | None:
    if isinstance(node, ast.Select):
        if node.distinct:
            return 460
        if node.top is not None:
            return 461
        return 467 if node.group_by is not None or node.having is not None else None
    if isinstance(node, ast.Query):
        return 461 if node.offset is not None else None
    if isinstance(node, ast.Join):
        return 462 if node.kind in {"LEFT", "RIGHT", "FULL"} else None
    if isinstance(node, ast.Apply):
        return 462 if node.outer else None
    if isinstance(node, ast.Pivot):
        return 4190
    return 467 if is_aggregate(node) else None


def _inside(node: ast.Node, name: str, nested: bool = False) -> Iterator[tuple[ast.Node, bool]]:
    """(node, whether inside a subquery), in the order of the text.

    A server does not look into the branches of a set operation that does not read the table.
    """
    if isinstance(node, ast.SetOperation) and not refers(node, name):
        return
    yield node, nested
    pivoted = node.aggregate if isinstance(node, ast.Pivot) else None
    for child in node.children():
        if child is not pivoted:
            inner = isinstance(node, QUERIES) and isinstance(child, ast.Query)
            yield from _inside(child, name, nested or inner)


def check_types(
    table: ast.CommonTable, anchor: list[QueryColumn], member: list[QueryColumn], context: Context
) -> None:
    """205 for another number of columns, 240 for a column of another type.

    A bare NULL is an int in the anchor and takes any type in a member.
    """
    if len(member) != len(anchor):
        raise context.fail(table, SqlError(205, aborts="scope"))
    for one, two in zip(anchor, member):
        if two.untyped:
            continue
        expected = INT if one.untyped else one.type
        if two.type is not expected:
            raise context.fail(table, SqlError(240, one.name, table.name, aborts="scope"))


def rounds(
    anchor: Rows,
    members: list[tuple[Rows, Callable[[list[RowValues]], list[RowValues]]]],
    before: list[Any],
    limit: int,
) -> Rows:
    """The anchor's rows, then those of each round, until one is empty.

    before: where members find the rows of the round before. Raises 530 when round ``limit`` is
    followed by one that has rows; 0 is no limit.
    """

    def rows(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
        last = anchor(session, variables, outer)
        found = last[:]
        level = 0
        meter = session.engine.meter
        while last:
            meter.blank(before)  # kept with the statement where that is suspended
            before[0] = last
            last = [
                row
                for member, convert in members
                for row in convert(member(session, variables, outer))
            ]
            if last and level == limit and limit:
                raise SqlError(530, limit)
            level += 1
            found += last
            meter.tick(1 + len(last), found)
        return found

    return rows
