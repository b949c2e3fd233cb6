"""SELECT and what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql.ast.base import (
    DataType,
    Expression,
    Identifier,
    Node,
    ObjectName,
    Option,
    Predicate,
    Statement,
    TableSource,
    node,
)
from redial.tsql.ast.expressions import (
    ColumnRef,
    FunctionCall,
    MethodCall,
    Over,
    Variable,
)

if TYPE_CHECKING:
    from redial.tsql.ast.dml import Delete, Insert, InsertBulk, Merge, Update


@node
class XmlNamespace(Node):
    """uri AS prefix; prefix None for DEFAULT."""

    uri: str
    prefix: str | None


@node
class CommonTable(Node):
    """name (columns) AS (query); columns None when not given."""

    name: str
    columns: list[str] | None
    query: Query


@node
class With(Node):
    """The WITH in front of a statement."""

    namespaces: list[XmlNamespace]
    """XMLNAMESPACES."""
    tables: list[CommonTable]
    """Common tables."""


@node
class Top(Node):
    """TOP (count) [PERCENT] [WITH TIES]."""

    count: Expression
    percent: bool
    with_ties: bool
    parenthesised: bool
    """The count stood in parentheses."""


@node
class SelectItem(Node):
    """One item of a select, RECEIVE or OUTPUT list."""

    value: Expression
    alias: str | None = None
    """Column name given, by AS, by juxtaposition or ``alias = value``."""
    variable: Variable | None = None
    op: str | None = None
    """variable, op: for ``@v = value`` and ``@v += value``, op is the operator."""


@node
class OrderItem(Node):
    """value [ASC|DESC]."""

    value: Expression
    descending: bool = False


@node
class Offset(Node):
    """OFFSET skip ROWS [FETCH NEXT count ROWS ONLY]."""

    skip: Expression
    count: Expression | None


@node
class GroupBy(Node):
    """GROUP BY items; an item is an Expression or a GroupingSet."""

    items: list[Expression | GroupingSet]


@node
class GroupingSet(Node):
    """One set of a GROUP BY."""

    kind: str
    """ROLLUP, CUBE, GROUPING SETS or TUPLE ("()" and "(a, b)")."""
    items: list[Expression | GroupingSet]
    """Nested likewise."""


@node
class ForXml(Node):
    """FOR XML."""

    mode: str
    """RAW, AUTO, PATH or EXPLICIT."""
    element: str | None
    """Name in parentheses or None."""
    root: str | None = None
    """None without ROOT, "root" when unnamed."""
    typed: bool = False
    elements: str | None = None
    """None, "ELEMENTS", "XSINIL", "ABSENT"."""
    binary_base64: bool = False
    schema: str | None = None


@node
class ForJson(Node):
    """FOR JSON."""

    mode: str
    """AUTO or PATH."""
    root: str | None = None
    """None without ROOT, "root" when unnamed."""
    include_null_values: bool = False
    without_array_wrapper: bool = False


@node
class ForBrowse(Node):
    """FOR BROWSE."""


@node
class Select(Node):
    """One SELECT block."""

    distinct: bool
    top: Top | None
    items: list[SelectItem]
    into: ObjectName | None
    """Target of SELECT INTO."""
    from_: list[TableSource]
    """comma-separated sources."""
    where: Predicate | None
    group_by: GroupBy | None
    having: Predicate | None
    windows: list[WindowDefinition] | None = None


@node
class WindowDefinition(Node):
    """name AS (specification) of a WINDOW clause (2022)."""

    name: str
    over: Over


@node
class SetOperation(Node):
    """left op right."""

    op: str
    """UNION, UNION ALL, EXCEPT, INTERSECT; (..) as an operand is a Query."""
    left: Select | SetOperation | Query
    right: Select | SetOperation | Query


@node
class Query(Node):
    """A whole query: block or set operation with what follows it.

    with_ is None unless the query is a statement's, a view's or a cursor's and has a WITH.
    """

    body: Select | SetOperation | Query
    with_: With | None = None
    order_by: list[OrderItem] | None = None
    offset: Offset | None = None
    for_: ForXml | ForJson | ForBrowse | None = None
    options: list[Option] | None = None


@node
class SelectStatement(Statement):
    """A query as a statement."""

    query: Query


@node
class Values(Node):
    """VALUES (..), (..)."""

    rows: list[list[Expression]]
    """Lists of Expression (DefaultValue for DEFAULT)."""


@node
class TableHint(Node):
    """A hint in WITH (..)."""

    name: str
    """Upper case."""
    arguments: list[Expression]
    """As of INDEX (1) or INDEX = x."""


@node
class TableRef(TableSource):
    """A table, view or queue by name."""

    name: ObjectName
    alias: str | None
    hints: list[TableHint]
    sample: Expression | None = None


@node
class VariableTable(TableSource):
    """A table variable."""

    variable: Variable
    alias: str | None


@node
class SchemaColumn(Node):
    """A column of OPENJSON/OPENXML .. WITH."""

    name: str
    data_type: DataType
    path: str | None = None
    """Column path or None."""
    as_json: bool = False
    """AS JSON."""


@node
class FunctionTable(TableSource):
    """A table-valued function."""

    call: FunctionCall
    alias: str | None
    columns: list[str] | None
    """Names after the alias."""
    hints: list[TableHint]
    schema: list[SchemaColumn] | None = None
    """WITH of OPENJSON/OPENXML."""


@node
class NodesTable(TableSource):
    """``x.nodes('..') AS alias(column)``."""

    call: MethodCall
    alias: str | None
    columns: list[str] | None


@node
class DerivedTable(TableSource):
    """(query) AS alias(columns); a data change with OUTPUT may stand in place of a query."""

    query: Query | Values | Insert | InsertBulk | Update | Delete | Merge
    alias: str
    columns: list[str] | None


@node
class Join(TableSource):
    """left kind JOIN right ON condition."""

    kind: str
    """INNER, LEFT, RIGHT, FULL, CROSS."""
    left: TableSource
    right: TableSource
    condition: Predicate | None
    hint: str | None = None
    """LOOP ..."""


@node
class Apply(TableSource):
    """left CROSS|OUTER APPLY right."""

    outer: bool
    """True for OUTER."""
    left: TableSource
    right: TableSource


@node
class Pivot(TableSource):
    """source PIVOT (aggregate FOR column IN (values)) AS alias."""

    source: TableSource
    aggregate: FunctionCall
    column: ColumnRef
    values: list[Identifier]
    alias: str | None


@node
class Unpivot(TableSource):
    """source UNPIVOT (value FOR column IN (columns)) AS alias."""

    source: TableSource
    value: str
    column: str
    columns: list[ColumnRef]
    alias: str | None
