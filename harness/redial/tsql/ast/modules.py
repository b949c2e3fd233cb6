"""Procedures, functions, triggers and views."""

from __future__ import annotations

from redial.tsql.ast.base import (
    DataType,
    Expression,
    Node,
    ObjectName,
    Option,
    Statement,
    node,
)
from redial.tsql.ast.ddl import TableElement
from redial.tsql.ast.expressions import Literal, Variable
from redial.tsql.ast.queries import Query


@node
class Parameter(Node):
    """A parameter of a procedure or function."""

    variable: Variable
    data_type: DataType | None
    """None for CURSOR VARYING."""
    default: Expression | None
    output: bool
    readonly: bool
    nullable: bool | None = None
    """NULL/NOT NULL as stated, else None."""


@node
class ModuleDefinition(Statement):
    """Base of modules."""

    verb: str
    """CREATE, ALTER or CREATE OR ALTER."""
    name: ObjectName
    """Schema and name."""
    options: list[Option]
    """RECOMPILE, ENCRYPTION, SCHEMABINDING, NATIVE_COMPILATION, VIEW_METADATA, CALLED ON NULL
    INPUT, RETURNS NULL ON NULL INPUT, INLINE."""
    execute_as: str | Literal | None
    """CALLER, SELF, OWNER, a string Literal, or None."""


@node
class CreateProcedure(ModuleDefinition):
    """CREATE or ALTER PROCEDURE."""

    parameters: list[Parameter]
    body: list[Statement]
    """Statements up to the end of the batch."""
    number: int | None = None
    """Of ``name;number``."""
    for_replication: bool = False


@node
class CreateScalarFunction(ModuleDefinition):
    """A function that RETURNS a value."""

    parameters: list[Parameter]
    returns: DataType
    body: list[Statement]
    """The statements between BEGIN and END."""


@node
class CreateInlineFunction(ModuleDefinition):
    """RETURNS TABLE AS RETURN query."""

    parameters: list[Parameter]
    query: Query


@node
class CreateTableFunction(ModuleDefinition):
    """A function that RETURNS variable TABLE (elements)."""

    parameters: list[Parameter]
    variable: Variable
    elements: list[TableElement]
    body: list[Statement]
    """The statements between BEGIN and END."""


@node
class CreateView(ModuleDefinition):
    """CREATE or ALTER VIEW."""

    columns: list[str] | None
    """None when not given."""
    query: Query
    check_option: bool


@node
class CreateTrigger(ModuleDefinition):
    """A trigger on rows of a table or view."""

    table: ObjectName
    timing: str
    """AFTER or INSTEAD OF."""
    events: list[str]
    """INSERT ..."""
    body: list[Statement]
    not_for_replication: bool = False


@node
class CreateDdlTrigger(ModuleDefinition):
    """A trigger on definitions."""

    scope: str
    """DATABASE or ALL SERVER."""
    events: list[str]
    """Event names."""
    body: list[Statement]
