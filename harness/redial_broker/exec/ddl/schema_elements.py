"""What CREATE SCHEMA makes within its schema: tables, views and permissions.

Rules (CREATE SCHEMA page): the statement is atomic; a name without a schema is of the new one; the
elements may stand in any order, so that a view may come before its table, a foreign key before the
table it refers to and a permission before its object, but a view comes behind the views it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.exec.context import Context
from redial_broker.exec.registry import REGISTRY

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

Element = ast.CreateTable | ast.CreateView | ast.Permission
_COLUMNS = (ast.ColumnDef, ast.ComputedColumn)


def elements_in_order(node: ast.CreateSchema, home: str, context: Context) -> list[Element]:
    """The statements inside, their names complete, in an order in which each finds what it needs.

    Raises NotSupported for tables that refer to each other.
    """
    tables = [
        complete_table(part, home) for part in node.statements if isinstance(part, ast.CreateTable)
    ]
    views: list[Element] = [
        replace(part, name=complete(part.name, home))
        for part in node.statements
        if isinstance(part, ast.CreateView)
    ]
    permissions: list[Element] = [
        complete_permission(part, home)
        for part in node.statements
        if isinstance(part, ast.Permission)
    ]
    ordered: list[Element] = []
    while tables:
        waiting = {key(table.name) for table in tables}
        ready = [table for table in tables if not (referenced(table) - {key(table.name)}) & waiting]
        if not ready:
            raise context.not_supported(
                tables[0], "tables that refer to each other inside CREATE SCHEMA"
            )
        ordered += ready
        tables = [table for table in tables if table not in ready]
    return ordered + views + permissions


def run_elements(
    session: SessionState, variables: Values, node: ast.CreateSchema, home: str, context: Context
) -> None:
    """Execute what stands inside, now that the schema is there."""
    for element in elements_in_order(node, home, context):
        REGISTRY[type(element)].compile(element, context)(session, variables)


def key(name: ast.ObjectName) -> tuple[str, str]:
    """A table's name as names are compared."""
    return (name.schema or "dbo").lower(), name.name.lower()


def complete(name: ast.ObjectName, home: str) -> ast.ObjectName:
    """The name with the new schema, when it has none."""
    return (
        name
        if len(name.parts) > 1 or name.name.startswith("#")
        else replace(name, parts=(home, name.name))
    )


def constraints(element: Any) -> Sequence[Any]:
    """The constraints of a column, or the one of the table that the element is."""
    return element.constraints or () if isinstance(element, _COLUMNS) else [element]


def referenced(table: ast.CreateTable) -> set[tuple[str, str]]:
    """What its foreign keys refer to."""
    return {
        key(part.table)
        for element in table.elements
        for part in constraints(element)
        if isinstance(part, ast.ForeignKey)
    }


def complete_table(node: ast.CreateTable, home: str) -> ast.CreateTable:
    """The table and what its foreign keys refer to, in the new schema."""

    def reference(part: Any) -> Any:
        return (
            replace(part, table=complete(part.table, home))
            if isinstance(part, ast.ForeignKey)
            else part
        )

    elements = [
        replace(element, constraints=[reference(part) for part in constraints(element)])
        if isinstance(element, _COLUMNS)
        else reference(element)
        for element in node.elements
    ]
    return replace(node, name=complete(node.name, home), elements=elements)


def complete_permission(node: ast.Permission, home: str) -> ast.Permission:
    """The permission, on an object of the new schema where none is named."""
    on = node.securable
    if on is None or on.kind not in {None, "OBJECT"}:
        return node
    return replace(node, securable=replace(on, name=complete(on.name, home)))
