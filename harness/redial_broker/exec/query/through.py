"""What reading through a view means: whose rights are asked, which hints its tables get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.query.hints import ACCESS, Hints, parse_hints

if TYPE_CHECKING:
    from redial_broker.exec.context import Context


def chained(found: Any, context: Context) -> bool:
    """Whether a view is being read whose owner owns this object too: only the view is checked.

    A chain does not cross databases ("Ownership chains" page).
    """
    owner = context.chain
    home = getattr(found, "database", None)
    return owner is not None and home is context.database and home.owner_of(found) == owner


def with_inherited(node: ast.TableRef, table: Table, hints: Hints, context: Context) -> Hints:
    """The hints of a table with those given to the view or common table it is read through.

    Raises 4138 when they contradict each other ("Table hints" page: hints on a view go to all
    tables of the view).
    """
    if not context.inherited:
        return hints
    try:
        return parse_hints([*node.hints, *context.inherited], context)
    except SqlError as error:
        if error.number != 1047:
            raise
        raise context.fail(node, SqlError(4138, table.name, aborts="scope")) from None


def refuse_on_view(node: ast.TableRef, context: Context) -> None:
    """Index hints on a view are refused by name."""
    for hint in node.hints:
        if hint.name in ACCESS:
            raise context.not_supported(hint, f"{hint.name} on a view")


def binding_error(error: SqlError, view: Any, node: ast.TableRef, context: Context) -> SqlError:
    """A view that names what is no longer there: its own error, then 4413."""
    if error.number not in {207, 208, 4502}:
        return error
    error.procedure = error.procedure or view.name
    unusable: SqlError = context.fail(
        node, SqlError(4413, ".".join(node.name.parts), aborts="scope")
    )
    unusable.before = (*error.before, error)
    return unusable
