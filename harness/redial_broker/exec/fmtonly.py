"""SET FMTONLY ON: statements tell the columns of their results and do nothing else.

Drivers ask this way for a table's columns before a bulk load. A batch that turns it on, or that
starts with it on, is compiled with each of its statements wrapped; no other batch pays for it.
Flow of control, calls and DDL are refused by name while it is on. Source: SET FMTONLY page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial.tsql.ast.base import node as ast_node
from redial_broker.engine.errors import NotSupported
from redial_broker.engine.types import SELECT_DONE
from redial_broker.exec.context import Context
from redial_broker.exec.registry import FLOW, REGISTRY, Run, compiles, describe

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_AS_EVER = (ast.SetOption, ast.SetValue, ast.Use, ast.DeclareVariable, ast.DeclareTableVariable)
_NOTHING_HAPPENS = (ast.Insert, ast.Update, ast.Delete, ast.Merge, ast.SetVariable)


@ast_node
class FormatOnly(ast.Statement):
    """A statement of a batch in which FMTONLY may be on."""

    statement: ast.Statement


def turned_on(nodes: list[Any], session: SessionState) -> bool:
    """Whether FMTONLY may be on somewhere in a batch of these statements."""
    return session.options.fmtonly or any(
        isinstance(node, ast.SetOption) and node.on and "FMTONLY" in node.names for node in nodes
    )


def wrapped(nodes: list[Any], not_supported: Any) -> list[Any]:
    """The statements of such a batch. not_supported: (node, construct) -> the refusal."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, _AS_EVER):
            found.append(node)
        elif type(node) in FLOW and not isinstance(node, ast.Insert):
            raise not_supported(node, f"{describe(node)} in a batch with SET FMTONLY ON")
        else:
            found.append(FormatOnly(node.pos, node.end, node))
    return found


def result_columns(node: ast.Node, context: Context) -> list[Any] | None:
    """The columns a SELECT sends to the client; None when it assigns, creates or is no SELECT."""
    if not isinstance(node, ast.SelectStatement):
        return None
    body = node.query.body
    if isinstance(body, ast.Select) and (
        body.into is not None or any(item.variable is not None for item in body.items)
    ):
        return None
    rowset = context.query_compiler().query(node.query, context.scope)
    return [column.result() for column in rowset.columns]


@compiles(FormatOnly)
def compile_format_only(node: FormatOnly, context: Context) -> Run:
    """The statement itself while FMTONLY is off, its columns while it is on."""
    inner = node.statement
    entry = REGISTRY.get(type(inner))
    if entry is None or isinstance(
        getattr(inner, "source", None), (ast.ExecuteProcedure, ast.ExecuteString)
    ):
        raise context.not_supported(inner, f"{describe(inner)} in a batch with SET FMTONLY ON")
    columns = result_columns(inner, context)
    silent = columns is None and isinstance(inner, (*_NOTHING_HAPPENS, ast.SelectStatement))
    run = entry.compile(inner, context)

    def step(session: SessionState, variables: Values) -> int | None:
        if not session.options.fmtonly:
            return run(session, variables)
        if columns is not None:
            session.result(columns, [])
            session.done(SELECT_DONE, 0)
        elif silent:
            session.set_rowcount(0)
        else:
            raise NotSupported(f"{describe(inner)} under SET FMTONLY ON")
        return None

    return step
