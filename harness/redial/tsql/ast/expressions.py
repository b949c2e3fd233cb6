"""Values and conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql.ast.base import DataType, Expression, Identifier, ObjectName, Predicate, node

if TYPE_CHECKING:
    from redial.tsql.ast.queries import OrderItem, Query


@node
class Literal(Expression):
    """A constant."""

    kind: str
    """Int, decimal, float, money, string, nstring, binary or null."""
    value: object
    """Int, Decimal, float, Decimal, str, str, bytes, None. Whole numbers beyond int are decimal, as
    on the server."""


@node
class Variable(Expression):
    """``@name``."""

    name: str
    """As written, with the @."""


@node
class GlobalVariable(Expression):
    """``@@NAME``."""

    name: str
    """Upper case, with both @."""


@node
class ColumnRef(Expression):
    """A column."""

    parts: tuple[str, ...]
    """One to four names, the column last; ``$action``, ``$identity`` included."""


@node
class Star(Expression):
    """``*`` or ``t.*``."""

    qualifier: tuple[str, ...] = ()
    """Name parts before the star, () when none."""


@node
class DefaultValue(Expression):
    """The keyword DEFAULT in place of a value."""


@node
class UnaryOp(Expression):
    """An operator with one operand."""

    op: str
    """- + or ~."""
    operand: Expression


@node
class BinaryOp(Expression):
    """An operator between two operands."""

    op: str
    """+ - * / % & | ^."""
    left: Expression
    right: Expression


@node
class Collate(Expression):
    """operand COLLATE collation."""

    operand: Expression
    collation: str


@node
class AtTimeZone(Expression):
    """operand AT TIME ZONE zone."""

    operand: Expression
    zone: Expression


@node
class When(Expression):
    """One arm of CASE."""

    condition: Predicate | Expression
    """Predicate, or Expression when the CASE has an operand."""
    result: Expression


@node
class Case(Expression):
    """CASE."""

    operand: Expression | None
    """None for a searched CASE."""
    whens: list[When]
    otherwise: Expression | None
    """The ELSE value or None."""


@node
class JsonObject(Expression):
    """JSON_OBJECT(key: value, ..)."""

    keys: list[Expression]
    values: list[Expression]
    absent: bool
    """ABSENT ON NULL."""


@node
class JsonArray(Expression):
    """JSON_ARRAY(value, ..)."""

    values: list[Expression]
    absent: bool
    """ABSENT ON NULL, which is what it does unless told."""


@node
class Iif(Expression):
    """IIF(condition, when_true, when_false)."""

    condition: Predicate
    when_true: Expression
    when_false: Expression


@node
class WindowFrame(Expression):
    """ROWS or RANGE of a window."""

    unit: str
    """ROWS or RANGE."""
    start: tuple[str, Expression | None]
    """(kind, n), kind in UNBOUNDED PRECEDING, PRECEDING, CURRENT ROW, FOLLOWING, UNBOUNDED
    FOLLOWING."""
    finish: tuple[str, Expression | None] | None
    """The same; None without BETWEEN."""


@node
class Over(Expression):
    """OVER (window PARTITION BY partition ORDER BY order frame), or OVER window."""

    partition: list[Expression]
    order: list[OrderItem]
    frame: WindowFrame | None
    window: str | None = None
    """Name of the WINDOW clause it begins with (2022), None without."""


@node
class FunctionCall(Expression):
    """A function by name, built in or user defined."""

    name: ObjectName
    """One to four parts."""
    arguments: list[Expression]
    """Star for COUNT(*), DefaultValue for DEFAULT, Identifier for a date part."""
    distinct: bool = False
    """As in COUNT(DISTINCT x)."""
    over: Over | None = None
    within_group: list[OrderItem] | None = None
    without_parentheses: bool = False
    """CURRENT_TIMESTAMP and kin."""
    nulls: str | None = None
    """IGNORE or RESPECT of LAG, LEAD, FIRST_VALUE, LAST_VALUE (2022)."""


@node
class Cast(Expression):
    """CAST, TRY_CAST, CONVERT, TRY_CONVERT, PARSE or TRY_PARSE."""

    function: str
    """Which, upper case."""
    operand: Expression
    data_type: DataType
    style: Expression | None = None
    """Third argument of CONVERT, culture of PARSE."""


@node
class MethodCall(Expression):
    """An XML method."""

    target: Expression
    """Column, variable or any expression."""
    method: str
    """As written."""
    arguments: list[Expression]


@node
class NextValueFor(Expression):
    """NEXT VALUE FOR sequence."""

    sequence: ObjectName
    over: Over | None = None


@node
class IdentityFunction(Expression):
    """IDENTITY(data_type, seed, increment) AS name, in SELECT INTO."""

    data_type: DataType
    seed: int
    increment: int


@node
class ScalarSubquery(Expression):
    """(SELECT ...) as a value."""

    query: Query


@node
class And(Predicate):
    """Conditions joined by AND."""

    operands: list[Predicate]
    """Two or more, all must hold."""


@node
class Or(Predicate):
    """Conditions joined by OR."""

    operands: list[Predicate]
    """Two or more, one must hold."""


@node
class Not(Predicate):
    """NOT operand."""

    operand: Predicate


@node
class Comparison(Predicate):
    """Two values compared."""

    op: str
    """= <> < > <= >= (the spellings != !< !> are kept as <> >= <=)."""
    left: Expression
    right: Expression


@node
class QuantifiedComparison(Predicate):
    """left op ALL | ANY (query); SOME is kept as ANY."""

    op: str
    left: Expression
    quantifier: str
    query: Query


@node
class IsNull(Predicate):
    """operand IS [NOT] NULL."""

    operand: Expression
    negated: bool


@node
class IsDistinctFrom(Predicate):
    """left IS [NOT] DISTINCT FROM right (2022)."""

    left: Expression
    right: Expression
    negated: bool


@node
class InList(Predicate):
    """operand [NOT] IN (items)."""

    operand: Expression
    items: list[Expression]
    negated: bool


@node
class InQuery(Predicate):
    """operand [NOT] IN (query)."""

    operand: Expression
    query: Query
    negated: bool


@node
class Like(Predicate):
    """operand [NOT] LIKE pattern [ESCAPE escape]."""

    operand: Expression
    pattern: Expression
    escape: Expression | None
    negated: bool


@node
class Between(Predicate):
    """operand [NOT] BETWEEN low AND high."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@node
class Exists(Predicate):
    """EXISTS (query)."""

    query: Query


@node
class UpdatedColumn(Predicate):
    """UPDATE(column) in a trigger."""

    column: Identifier
