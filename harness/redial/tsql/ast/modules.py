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
    """A parameter of a procedure or function.

    data_type: None for CURSOR VARYING; nullable: NULL/NOT NULL as stated, else None.
    """

    variable: Variable
    data_type: DataType | None
    default: Expression | None
    output: bool
    readonly: bool
    nullable: bool | None = None


@node
class ModuleDefinition(Statement):
    """Base of modules.

    verb: CREATE, ALTER or CREATE OR ALTER; name: schema and name;
    options: RECOMPILE, ENCRYPTION, SCHEMABINDING, NATIVE_COMPILATION, VIEW_METADATA,
    CALLED ON NULL INPUT, RETURNS NULL ON NULL INPUT, INLINE; execute_as: CALLER, SELF, OWNER, a
    string Literal, or None.
    """

    verb: str
    name: ObjectName
    options: list[Option]
    execute_as: str | Literal | None


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
    """A trigger on rows of a table or view. timing: AFTER or INSTEAD OF; events: INSERT ..."""

    table: ObjectName
    timing: str
    events: list[str]
    body: list[Statement]
    not_for_replication: bool = False


@node
class CreateDdlTrigger(ModuleDefinition):
    """A trigger on definitions. scope: DATABASE or ALL SERVER; events: event names."""

    scope: str
    events: list[str]
    body: list[Statement]
