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
    """number: of ``name;number``; body: statements up to the end of the batch."""

    parameters: list[Parameter]
    body: list[Statement]
    number: int | None = None
    for_replication: bool = False


@node
class CreateScalarFunction(ModuleDefinition):
    """RETURNS returns; body: the statements between BEGIN and END."""

    parameters: list[Parameter]
    returns: DataType
    body: list[Statement]


@node
class CreateInlineFunction(ModuleDefinition):
    """RETURNS TABLE AS RETURN query."""

    parameters: list[Parameter]
    query: Query


@node
class CreateTableFunction(ModuleDefinition):
    """RETURNS variable TABLE (elements); body: the statements between BEGIN and END."""

    parameters: list[Parameter]
    variable: Variable
    elements: list[TableElement]
    body: list[Statement]


@node
class CreateView(ModuleDefinition):
    """columns: None when not given."""

    columns: list[str] | None
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
