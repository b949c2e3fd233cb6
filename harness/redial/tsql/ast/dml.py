"""Statements that change rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql.ast.base import (
    Expression,
    Node,
    ObjectName,
    Option,
    Predicate,
    Statement,
    TableSource,
    node,
)
from redial.tsql.ast.expressions import MethodCall, Variable
from redial.tsql.ast.queries import (
    Query,
    SelectItem,
    TableHint,
    Top,
    Values,
    With,
)

if TYPE_CHECKING:
    from redial.tsql.ast.ddl import ColumnDef
    from redial.tsql.ast.flow import CursorName, ExecuteProcedure, ExecuteString


@node
class OutputClause(Node):
    """OUTPUT items [INTO into (columns)]; a statement may have one with and one without INTO."""

    items: list[SelectItem]
    into: ObjectName | Variable | None
    columns: list[str] | None


@node
class Assignment(Node):
    """One item of SET."""

    variable: Variable | None
    column: ObjectName | None
    """variable, column: at least one."""
    op: str
    """= += -= *= /= %= &= |= ^=."""
    value: Expression


@node
class ColumnMethod(Node):
    """``column.modify(..)`` or ``column.WRITE(..)`` in SET."""

    call: MethodCall


@node
class CurrentOf(Predicate):
    """WHERE CURRENT OF cursor."""

    cursor: CursorName


@node
class DefaultValues(Node):
    """DEFAULT VALUES as the source of an INSERT."""


@node
class Insert(Statement):
    """INSERT."""

    target: ObjectName | Variable
    """A table or a table variable."""
    columns: list[str] | None
    source: Values | Query | ExecuteProcedure | ExecuteString | DefaultValues
    """Where the rows come from."""
    with_: With | None = None
    top: Top | None = None
    hints: list[TableHint] | None = None
    outputs: list[OutputClause] | None = None
    """Up to two."""
    options: list[Option] | None = None


@node
class Update(Statement):
    """UPDATE."""

    target: ObjectName | Variable
    assignments: list[Assignment | ColumnMethod]
    from_: list[TableSource]
    """Sources of FROM ([] without)."""
    where: Predicate | None
    with_: With | None = None
    top: Top | None = None
    hints: list[TableHint] | None = None
    outputs: list[OutputClause] | None = None
    options: list[Option] | None = None


@node
class Delete(Statement):
    """DELETE."""

    target: ObjectName | Variable
    from_: list[TableSource]
    """Sources of the second FROM ([] without)."""
    where: Predicate | None
    with_: With | None = None
    top: Top | None = None
    hints: list[TableHint] | None = None
    outputs: list[OutputClause] | None = None
    options: list[Option] | None = None


@node
class MergeUpdate(Node):
    """THEN UPDATE SET assignments."""

    assignments: list[Assignment | ColumnMethod]


@node
class MergeDelete(Node):
    """THEN DELETE."""


@node
class MergeInsert(Node):
    """THEN INSERT (columns) VALUES (..) | DEFAULT VALUES."""

    columns: list[str] | None
    source: Values | DefaultValues


@node
class MergeWhen(Node):
    """WHEN of a MERGE."""

    match: str
    """MATCHED, NOT MATCHED or NOT MATCHED BY SOURCE."""
    condition: Predicate | None
    """What stands after AND."""
    action: MergeUpdate | MergeDelete | MergeInsert


@node
class Merge(Statement):
    """MERGE target AS alias USING source ON condition whens."""

    target: ObjectName | Variable
    alias: str | None
    source: TableSource
    condition: Predicate
    whens: list[MergeWhen]
    with_: With | None = None
    top: Top | None = None
    hints: list[TableHint] | None = None
    outputs: list[OutputClause] | None = None
    options: list[Option] | None = None


@node
class TruncateTable(Statement):
    """TRUNCATE TABLE name."""

    name: ObjectName


@node
class InsertBulk(Statement):
    """INSERT BULK, what drivers send before a bulk load."""

    target: ObjectName
    columns: list[ColumnDef]
    """Names and types."""
    options: list[Option]
