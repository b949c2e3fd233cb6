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
    """The WITH in front of a statement. namespaces: XMLNAMESPACES; tables: common tables."""

    namespaces: list[XmlNamespace]
    tables: list[CommonTable]


@node
class Top(Node):
    """TOP (count) [PERCENT] [WITH TIES]; parenthesised: count stood in parentheses."""

    count: Expression
    percent: bool
    with_ties: bool
    parenthesised: bool


@node
class SelectItem(Node):
    """One item of a select, RECEIVE or OUTPUT list.

    alias: column name given, by AS, by juxtaposition or ``alias = value``; variable, op: for
    ``@v = value`` and ``@v += value``, op is the operator.
    """

    value: Expression
    alias: str | None = None
    variable: Variable | None = None
    op: str | None = None


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
    """kind: ROLLUP, CUBE, GROUPING SETS or TUPLE ("()" and "(a, b)"); items: nested likewise."""

    kind: str
    items: list[Expression | GroupingSet]


@node
class ForXml(Node):
    """FOR XML. mode: RAW, AUTO, PATH or EXPLICIT; element: name in parentheses or None.

    root: None without ROOT, "root" when unnamed; elements: None, "ELEMENTS", "XSINIL", "ABSENT".
    """

    mode: str
    element: str | None
    root: str | None = None
    typed: bool = False
    elements: str | None = None
    binary_base64: bool = False
    schema: str | None = None


@node
class ForJson(Node):
    """FOR JSON. mode: AUTO or PATH; root: None without ROOT, "root" when unnamed."""

    mode: str
    root: str | None = None
    include_null_values: bool = False
    without_array_wrapper: bool = False


@node
class ForBrowse(Node):
    """FOR BROWSE."""


@node
class Select(Node):
    """One SELECT block. into: target of SELECT INTO; from_: comma-separated sources."""

    distinct: bool
    top: Top | None
    items: list[SelectItem]
    into: ObjectName | None
    from_: list[TableSource]
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
    """left op right. op: UNION, UNION ALL, EXCEPT, INTERSECT; (..) as an operand is a Query."""

    op: str
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
    """VALUES (..), (..). rows: lists of Expression (DefaultValue for DEFAULT)."""

    rows: list[list[Expression]]


@node
class TableHint(Node):
    """A hint in WITH (..). name: upper case; arguments: as of INDEX (1) or INDEX = x."""

    name: str
    arguments: list[Expression]


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
    """A column of OPENJSON/OPENXML .. WITH. path: column path or None; as_json: AS JSON."""

    name: str
    data_type: DataType
    path: str | None = None
    as_json: bool = False


@node
class FunctionTable(TableSource):
    """A table-valued function. columns: names after the alias; schema: WITH of OPENJSON/OPENXML."""

    call: FunctionCall
    alias: str | None
    columns: list[str] | None
    hints: list[TableHint]
    schema: list[SchemaColumn] | None = None


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
    """left kind JOIN right ON condition. kind: INNER, LEFT, RIGHT, FULL, CROSS; hint: LOOP ..."""

    kind: str
    left: TableSource
    right: TableSource
    condition: Predicate | None
    hint: str | None = None


@node
class Apply(TableSource):
    """left CROSS|OUTER APPLY right. outer: True for OUTER."""

    outer: bool
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
