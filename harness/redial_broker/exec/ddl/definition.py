"""A table's definition, compiled from the parentheses of CREATE TABLE, TYPE or DECLARE @t TABLE.

Rules and error numbers: CREATE TABLE page and the errors-events pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.collation import find_collation, may_be_collation
from redial_broker.engine.columns import Check, Column
from redial_broker.engine.errors import SqlError, not_created
from redial_broker.engine.types import INT, MAX
from redial_broker.exec.conversion import resolve_type
from redial_broker.exec.conversion.rules import OLD_LARGE
from redial_broker.exec.ddl.computed import computed_column
from redial_broker.exec.ddl.index_options import index_options
from redial_broker.exec.ddl.naming import check_length, check_name, default_name, key_name
from redial_broker.exec.ddl.options import exact
from redial_broker.exec.ddl.row_expressions import (
    RowExpressions,
    default_value,
    filters,
    names_of,
    refuse_parts,
    used_names,
)
from redial_broker.exec.ddl.shape import KeySpec, TableDefinition
from redial_broker.exec.ddl.type_facts import sequence_limits
from redial_broker.exec.dml.row_length import refuse_long_row
from redial_broker.exec.registry import describe
from redial_broker.exec.strictness import require, strict_index

if TYPE_CHECKING:
    from redial_broker.exec.context import Context

IDENTITY_TYPES = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "numeric"})


def table_definition(
    elements: list[Any], context: Context, name: str, *, foreign: bool = False
) -> TableDefinition:
    """Compile the elements of a table definition. Raises SqlError and NotSupported.

    foreign: FOREIGN KEYs may be among them (not in table variables and types).
    """
    builder = DefinitionBuilder(context, name)
    builder.may_refer = foreign
    return builder.build(elements)


class DefinitionBuilder:
    """Collects columns and constraints; also used by ALTER TABLE ADD on existing columns."""

    def __init__(self, context: Context, table: str, columns: list[Column] | None = None) -> None:
        check_length(table)
        self.context = context
        self.table = table
        self.columns: list[Column] = list(columns or [])
        self.keys: list[KeySpec] = []
        self.checks: list[Check] = []
        self.system_named: set[str] = set()
        self.early: list[Callable[[], None]] = []
        self.late: list[Callable[[], None]] = []
        self.stated_null: set[str] = set()
        self.clustered_stated = False
        self.may_refer = False
        self.computed_names = {c.name.lower() for c in self.columns if c.computed}
        self.foreign: list[tuple[ast.ForeignKey, str]] = []
        self.expressions = RowExpressions(context, table)
        self.uses: dict[str, tuple[Any, ...]] = {}

    def build(self, elements: list[Any]) -> TableDefinition:
        """Columns first, then whatever refers to them."""
        self.clustered_stated = states_clustered(elements)
        for element in elements:
            self.element(element)
        if not self.columns:
            first = cast("ast.Node", elements[0] if elements else None)
            raise self.context.not_supported(first, "an empty table")
        self.finish()
        return TableDefinition(
            self.table,
            self.columns,
            self.keys,
            self.checks,
            self.system_named,
            self.foreign,
            self.uses,
        )

    def finish(self) -> None:
        """Resolve keys, indexes and checks once all columns are known."""
        for step in (*self.early, *self.late):
            step()
        refuse_long_row(self.table, self.columns)
        if any(strict_index(self.columns, key.columns, key.where) for key in self.keys):
            require(self.context.session, describe(self.context.statement))
        if sum(key.primary for key in self.keys) > 1:
            raise SqlError(8110, self.table)
        if sum(key.clustered for key in self.keys) > 1:
            raise SqlError(8112, self.table)
        for count, number in (
            (sum(c.identity is not None for c in self.columns), 2744),
            (sum(c.rowversion for c in self.columns), 2738),
        ):
            if count > 1:
                raise SqlError(number, self.table)

    def element(self, element: Any) -> None:
        """One element of the parentheses."""
        if isinstance(element, ast.ColumnDef):
            self.column(element)
        elif isinstance(element, ast.ComputedColumn):
            self.computed(element)
        else:
            self.constraint(element, None)

    # ------------------------------------------------------------------ columns
    def column(self, node: ast.ColumnDef) -> Column:
        """One column with its own constraints."""
        check_length(node.name)
        if any(c.name.lower() == node.name.lower() for c in self.columns):
            raise SqlError(2705, node.name, self.table)
        type_, user_type, type_nullable = self.column_type(node.data_type)
        if node.sparse:
            self.check_sparse(node, type_, user_type)
        if node.rowguidcol and type_.name != "uniqueidentifier":
            raise SqlError(2761)
        if node.rowguidcol and any(c.rowguid for c in self.columns):
            raise SqlError(8196)
        constraints = node.constraints or []
        self.refuse_twice(node, constraints)
        primary = any(isinstance(c, ast.KeyConstraint) and c.primary for c in constraints)
        rowversion = type_.name == "rowversion"
        nullable = node.nullable
        if nullable and primary:
            if node.identity:
                raise SqlError(8147, node.name, self.table)
            raise not_created(8111, self.table, state=1)
        if nullable:
            self.stated_null.add(node.name.lower())
        if nullable is None:
            nullable = (
                type_nullable
                and not (primary or node.identity or rowversion)
                and (bool(user_type) or self.null_by_default())
            )
        column = Column(
            node.name,
            type_,
            nullable,
            rowversion=rowversion,
            rowguid=node.rowguidcol,
            user_type=user_type,
            sparse=node.sparse,
        )
        if node.identity is not None:
            column.identity = self.identity(node, column)
        if node.collation is not None:
            self.collation(node, column)
        self.columns.append(column)
        for constraint in constraints:
            self.constraint(constraint, column)
        return column

    def refuse_twice(self, node: ast.ColumnDef, constraints: list[Any]) -> None:
        """8148 for a second constraint of one kind in the definition of a column."""
        for kind, of in (("CHECK", ast.CheckConstraint), ("DEFAULT", ast.DefaultConstraint)):
            if sum(isinstance(constraint, of) for constraint in constraints) > 1:
                raise SqlError(8148, kind, node.name, self.table)
        if node.restated:
            raise SqlError(8148, "NULL", node.name, self.table)

    def null_by_default(self) -> bool:
        """Whether a column that says neither NULL nor NOT NULL may be NULL.

        The session's ANSI_NULL_DFLT_ON or ANSI_NULL_DFLT_OFF, where neither is on the database's
        ANSI_NULL_DEFAULT (SET ANSI_NULL_DFLT_ON page).
        """
        options = self.context.session.options
        if options.ansi_null_dflt_on or options.ansi_null_dflt_off:
            return bool(options.ansi_null_dflt_on)
        return bool(self.context.session.database.options["ansi_null_default"])

    def computed(self, node: ast.ComputedColumn) -> Column:
        """name AS expression [PERSISTED [NOT NULL]]."""
        check_length(node.name)
        if any(c.name.lower() == node.name.lower() for c in self.columns):
            raise SqlError(2705, node.name, self.table)
        # Placed now, so that ordinals are those of the definition; filled in by ``finish``, when
        # the columns behind it are known too.
        column = Column(node.name, INT)
        self.computed_names.add(node.name.lower())
        self.columns.append(column)
        self.early.append(lambda: computed_column(self, node, column))
        for constraint in node.constraints or []:
            self.constraint(constraint, column)
        return column

    def check_sparse(self, node: ast.ColumnDef, type_: Any, user_type: str) -> None:
        """Raise SqlError 1731 for what cannot be sparse ("Use sparse columns" page)."""
        refused = {"text", "ntext", "image", "rowversion"}
        if (
            node.nullable is False
            or node.identity is not None
            or node.rowguidcol
            or type_.name in refused
            or user_type not in {"", "sysname"}
            or any(isinstance(c, ast.DefaultConstraint) for c in node.constraints or [])
        ):
            raise SqlError(1731, node.name, self.table)

    def column_type(self, data_type: ast.DataType) -> tuple[Any, str, bool]:
        """(type, alias type's name or "", nullable unless stated otherwise)."""
        context = self.context
        found: list[Any] = []

        def user_type(schema: str | None, name: str) -> Any:
            item = context.database.resolve_type(schema, name, context.session)
            if item is None or item.kind == "TABLE TYPE":
                return None
            found.append(item)
            return item.type

        try:
            type_ = resolve_type(data_type, "column", user_type, xml_type=context.database.xml_type)
        except SqlError as error:
            if error.number == 243:
                ordinal = len(self.columns) + 1
                raise SqlError(2715, ordinal, data_type.name.name) from None
            raise
        if found:
            return type_, f"{found[0].schema}.{found[0].name}", found[0].nullable
        if data_type.name.name.lower() == "sysname":
            return type_, "sysname", False
        return type_, "", True

    def identity(self, node: ast.ColumnDef, column: Column) -> tuple[int, int]:
        """Seed and step of an identity column."""
        if column.type.name not in IDENTITY_TYPES or column.type.scale:
            raise SqlError(2749, node.name)
        if column.nullable:
            raise SqlError(8147, node.name, self.table)
        stated = node.identity
        assert stated is not None
        if stated.not_for_replication:
            raise self.context.not_supported(node, "NOT FOR REPLICATION")

        seed, step = (_whole(stated.seed), _whole(stated.increment))
        low, high = sequence_limits(column.type)
        if seed is None or not low <= seed <= high:
            raise SqlError(2752, node.name, state=2)
        if not step or abs(step) > high:
            raise SqlError(2753, node.name, state=2)
        return seed, step

    def collation(self, node: ast.ColumnDef, column: Column) -> None:
        """The column's own collation."""
        found = find_collation(node.collation)
        if found is None and not may_be_collation(cast("str", node.collation)):
            raise SqlError(448, node.collation)
        if found is None:
            raise self.context.not_supported(node, f"collation {node.collation}")
        if not column.type.is_string:
            raise SqlError(452)
        column.collation = found.name
        column.case_sensitive = found.case_sensitive

    # ------------------------------------------------------------------ constraints
    def constraint(self, node: ast.Node, column: Column | None) -> None:
        """One constraint or index, of a column or of the table."""
        if isinstance(node, ast.DefaultConstraint):
            self.default(node, column)
        elif isinstance(node, ast.KeyConstraint):
            self.late.append(lambda: self.key(node, column))
        elif isinstance(node, ast.TableIndex):
            self.late.append(lambda: self.index(node, column))
        elif isinstance(node, ast.CheckConstraint):
            self.late.append(lambda: self.check(node, column))
        elif isinstance(node, ast.ForeignKey):
            if not self.may_refer:
                raise self.context.not_supported(node, "a FOREIGN KEY constraint here")
            self.foreign.append((node, column.name if column is not None else ""))
        else:
            raise self.context.not_supported(node, type(node).__name__)

    def default(self, node: ast.DefaultConstraint, column: Column | None) -> None:
        """A default value: compiled once, evaluated for each row."""
        if column is None:
            column = self.find(node.column or "")
        if column.default is not None or column.default_text:
            raise not_created(1781)
        if column.identity is not None or column.rowversion:
            raise SqlError(1754, self.table, column.name)
        if column.sparse:
            raise SqlError(1731, column.name, self.table)
        refuse_parts(self.context, node.value, default=True)
        column.default = default_value(self.context, node.value, column.type)
        column.default_name = node.name or default_name(self.table, column.name)
        if node.name is None:
            self.system_named.add(column.default_name.lower())
        column.default_text = definition_text(self.context, node.value)
        self.uses[column.default_name.lower()] = used_names(node.value)

    def key(self, node: ast.KeyConstraint, column: Column | None) -> None:
        """PRIMARY KEY or UNIQUE."""
        ordinals = self.ordinals(node, node.columns, column)
        clustered = node.clustered
        if clustered is None:
            clustered = (
                node.primary
                and not any(k.clustered for k in self.keys)
                and not self.clustered_stated
            )
        names = [self.columns[i].name for i in ordinals]
        if node.primary:
            for ordinal in ordinals:
                target = self.columns[ordinal]
                if target.name.lower() in self.stated_null:
                    raise not_created(8111, self.table, state=1)
                # A key of the table makes columns that do not say NULL not nullable.
                target.nullable = False
        self.keys.append(
            KeySpec(
                node.name or key_name(node.primary, self.table, names),
                ordinals,
                True,
                clustered,
                node.primary,
                True,
                system_named=node.name is None,
                descending=self.descending(node.columns, ordinals),
                options=index_options(self.context, node.options),
            )
        )
        if node.name is None:
            self.system_named.add(self.keys[-1].name.lower())

    def index(self, node: ast.TableIndex, column: Column | None) -> None:
        """INDEX name (...) inside a table definition."""
        ordinals = self.ordinals(node, node.columns, column)
        where, text, bind = self.filter(node.where, node.name or "")
        self.keys.append(
            KeySpec(
                node.name,
                ordinals,
                node.unique,
                bool(node.clustered),
                included=self.included(node.include),
                where=where,
                where_text=text,
                bind=bind,
                descending=self.descending(node.columns, ordinals),
                options=index_options(self.context, node.options, unique=node.unique),
            )
        )

    def check(self, node: ast.CheckConstraint, column: Column | None) -> None:
        """CHECK (condition): false refuses the row, unknown accepts it."""
        text = f"({source_text(self.context, node.condition)})"
        owner = column.name if column is not None else ""
        name = node.name or check_name(self.table, owner, text)
        if node.name is None:
            self.system_named.add(name.lower())
        self.uses[name.lower()] = used_names(node.condition)
        refuse_parts(self.context, node.condition)
        bind = self.expressions.condition(node.condition)
        accepts, names = bind(self.columns), names_of(node.condition)
        if column is not None and names - {column.name.lower()}:
            raise not_created(8141, "CHECK", column.name, self.table)
        self.checks.append(Check(name, accepts, text, owner, names, bind))

    # ------------------------------------------------------------------ helpers
    def filter(self, node: Any, index: str) -> tuple[Any, str, Any]:
        """WHERE of a filtered index: (predicate over rows, its text, how to bind it anew).

        Raises 10735 for anything but columns compared with constants (CREATE INDEX page).
        """
        if node is None:
            return None, "", None
        if not filters(node):
            raise self.context.fail(node, SqlError(10735, index, self.table, aborts="batch"))
        condition = self.expressions.condition(node)

        def bind(columns: list[Column]) -> Callable[[tuple[Any, ...]], bool]:
            accepts = condition(columns)
            return lambda row: accepts(None, row) is True

        return bind(self.columns), f"({source_text(self.context, node)})", bind

    @staticmethod
    def descending(items: list[Any] | None, ordinals: list[int]) -> frozenset[int]:
        """Ordinals of the key columns that are declared DESC."""
        return frozenset(o for item, o in zip(items or (), ordinals) if item.descending)

    def ordinals(self, node: ast.Node, items: list[Any] | None, column: Column | None) -> list[int]:
        """Ordinals of key columns. Raises SqlError 1911, 1909, 1919."""
        if items is None:
            assert column is not None
            found = [self.ordinal(column.name)]
        else:
            found = [self.ordinal(item.value.parts[-1]) for item in items]
        if len(set(found)) != len(found):
            raise SqlError(1909)
        for ordinal in found:
            target = self.columns[ordinal]
            if target.type.length == MAX or target.type.name in {"xml", "text", "ntext", "image"}:
                raise SqlError(1919, target.name, self.table)
        return found

    def included(self, names: Iterable[str] | None) -> list[int]:
        """Ordinals of INCLUDE's columns. Raises SqlError 1911, 1999."""
        found = [self.ordinal(name) for name in names or ()]
        for ordinal in found:
            if self.columns[ordinal].type.name in OLD_LARGE:
                raise SqlError(1999, self.columns[ordinal].name, self.table)
        return found

    def ordinal(self, name: str) -> int:
        """Ordinal of a column by name. Raises SqlError 1911."""
        for ordinal, column in enumerate(self.columns):
            if column.name.lower() == name.lower():
                return ordinal
        raise SqlError(1911, name)

    def find(self, name: str) -> Column:
        """A column by name. Raises SqlError 1911."""
        return self.columns[self.ordinal(name)]


def _whole(part: Any) -> int | None:
    """A seed or an increment as a whole number, 1 where it is not written; None for a fraction."""
    if part is None:
        return 1
    found = exact(part)
    return None if found % 1 else int(found)


def source_text(context: Context, node: ast.Node) -> str:
    """The text a node was written as."""
    text: str = context.program.source.slice(node)
    return text


def definition_text(context: Context, node: ast.Node) -> str:
    """A default's text as the catalog shows it: in parentheses, numbers in two pairs."""
    text = source_text(context, node)
    number = isinstance(node, ast.Literal) and node.kind in {"int", "decimal", "float", "money"}
    if isinstance(node, ast.FunctionCall) and not node.arguments:
        text = text.lower()
    return f"(({text}))" if number else f"({text})"


def states_clustered(elements: list[Any]) -> bool:
    """Whether some key or index asks for CLUSTERED in so many words."""
    for element in elements:
        if getattr(element, "clustered", None):
            return True
        for constraint in getattr(element, "constraints", None) or []:
            if getattr(constraint, "clustered", None):
                return True
    return False
