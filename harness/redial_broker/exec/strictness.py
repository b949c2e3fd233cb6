"""Statements that run under the required SET options only (1934).

Source: "SET QUOTED_IDENTIFIER" page and its kin, "CREATE INDEX" page, Required SET options for
filtered indexes: methods of XML, and changes of tables with a filtered index or an index on a
computed column. A module's QUOTED_IDENTIFIER and ANSI_NULLS are those it was created under (F-103);
the others are the session's when the statement runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.registry import Run, describe

if TYPE_CHECKING:
    from redial_broker.engine.storage import Table
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


def uses_methods(node: ast.Node) -> bool:
    """For ``ast.noted``: whether a method of the xml type is called; .WRITE is none."""
    return any(
        isinstance(part, ast.MethodCall) and part.method.upper() != "WRITE" for part in node.walk()
    )


def require(session: SessionState, verb: str) -> None:
    """Raise SqlError 1934 when an option is not as required."""
    wrong = session.options.wrong_settings
    if wrong:
        raise SqlError(1934, verb, wrong)


def strict(run: Run, node: ast.Node) -> Run:
    """The statement's run under the required options only."""
    verb = _verb(node)

    def checked(session: SessionState, variables: Values) -> int | None:
        require(session, verb)
        return run(session, variables)

    return checked


def _verb(node: ast.Node) -> str:
    if isinstance(node, (ast.If, ast.While)):
        return "CONDITIONAL"
    return describe(node).split()[0]


def strict_index(columns: list[Any], ordinals: list[int], where: Any) -> bool:
    """Whether an index has a filter, or a computed column among its keys."""
    return where is not None or any(columns[i].computed is not None for i in ordinals)


def strict_table(table: Table) -> bool:
    """Whether rows of a table change under the required options only."""
    return any(
        strict_index(table.columns, list(index.columns), index.where)
        for index in (table.rows, *table.indexes)
    )
