"""A table's definition, compiled from the parentheses of CREATE TABLE, TYPE or DECLARE @t TABLE.

Rules and error numbers: CREATE TABLE page and the errors-events pages. A definition is made once
and gives any number of tables (table variables, copies of a template database).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.broker.engine.collation import find_collation
from harness.broker.engine.errors import SqlError
from harness.broker.engine.storage import Check, Column, Index, Table
from harness.broker.engine.types import MAX
from harness.broker.exec.compiler import calls_function
from harness.broker.exec.conversion import compile_assignment_conversion, resolve_type
from harness.broker.exec.ddl.naming import check_length, check_name, default_name, key_name
from harness.broker.exec.expressions import compile_condition
from harness.broker.exec.expressions.scope import ScopeColumn
from harness.tsql import ast

IDENTITY_TYPES = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "numeric"})
KEY_OPTIONS_WITHOUT_EFFECT = {
    # Options whose stated value is what the embedded broker does anyway.
    "PAD_INDEX": (True, False),
    "FILLFACTOR": None,
    "STATISTICS_NORECOMPUTE": (True, False),
    "IGNORE_DUP_KEY": (False,),
    "ALLOW_ROW_LOCKS": (True,),
    "ALLOW_PAGE_LOCKS": (True, False),
    "OPTIMIZE_FOR_SEQUENTIAL_KEY": (True, False),
    "SORT_IN_TEMPDB": (True, False),
    "DROP_EXISTING": (False,),
    "ONLINE": (True, False),
    "MAXDOP": None,
    "DATA_COMPRESSION": None,
}
"""Storage and speed options, and the values accepted (None: any): pages do not exist here, so page
locks are never taken whatever ALLOW_PAGE_LOCKS says. Any other option or value is refused."""


@dataclass(slots=True)
class KeySpec:
    """One key or index to be built.

    columns, included: ordinals; constraint: it is a PRIMARY KEY or UNIQUE constraint.
    """

    name: str
    columns: list[int]
    unique: bool
    clustered: bool
    primary: bool = False
    constraint: bool = False
    included: list[int] = field(default_factory=list)
    where: Callable[[tuple], bool] | None = None
    where_text: str = ""
    system_named: bool = False
    page_locks: bool = True


@dataclass(slots=True)
class TableDefinition:
    """Columns, keys and checks of a table that may exist many times.

    system_named: lower-case names of constraints that the server chose.
    """

    name: str
    columns: list[Column]
    keys: list[KeySpec]
    checks: list[Check]
    system_named: set[str] = field(default_factory=set)

    def new_table(self, engine: Any, *, name: str | None = None, temporary: bool = True,
                  database: Any = None, schema: str = "dbo", object_id: int = 0) -> Table:
        """An empty table of this shape."""
        table = Table(engine.journal, name or self.name, self.columns, database=database,
                      schema=schema, object_id=object_id, temporary=temporary)
        table.heap.hobt_id = next(engine.hobt_ids)
        for spec in sorted(self.keys, key=lambda spec: not spec.clustered):
            table.add_index(new_index(table, spec, next(engine.hobt_ids)))
        table.checks = self.checks
        table.page_locks = all(spec.page_locks for spec in self.keys)
        return table

    def from_rows(self, s: Any, value: Any) -> Table:
        """A table-valued parameter from the wire: value.rows in column order.

        Raises SqlError 515, 547, 2627 and 2601 like an INSERT into a table variable.
        """
        table = self.new_table(s.engine)
        for given in value.rows:
            row = tuple(
                table.take_identity() if column.identity is not None else
                s.database.next_rowversion() if column.rowversion else item
                for column, item in zip(self.columns, given)
            )
            for column, item in zip(self.columns, row):
                if item is None and not column.nullable:
                    raise SqlError(515, column.name, self.name, "INSERT")
            for check in self.checks:
                if check.accepts(s, row) is False:
                    raise SqlError(547, "INSERT", "CHECK", check.name, "tempdb", self.name, "")
            key = table.new_key(row)
            self._add(table, key, row)
        return table

    @staticmethod
    def _add(table: Table, key: tuple, row: tuple) -> None:
        """Put a row into a table nobody else has seen yet: nothing to journal, nothing to lock."""
        if key in table.rows.entries:
            raise table.duplicate(table.rows, row)
        table.rows.entries[key] = row
        for index in table.indexes:
            if index.where is None or index.where(row):
                entry = Table.index_key(index, key, row)
                if entry in index.entries:
                    raise table.duplicate(index, row)
                index.entries[entry] = key


def new_index(table: Table, spec: KeySpec, hobt_id: int) -> Index:
    """The index a spec describes, not yet attached to its table."""
    index = Index(table, spec.name, spec.columns, unique=spec.unique, clustered=spec.clustered,
                  primary=spec.primary, constraint=spec.constraint, included=spec.included,
                  hobt_id=hobt_id)
    index.where, index.where_text = spec.where, spec.where_text
    return index


def table_definition(elements: list[Any], context: Any, name: str) -> TableDefinition:
    """Compile the elements of a table definition. Raises SqlError and NotSupported."""
    return DefinitionBuilder(context, name).build(elements)


class DefinitionBuilder:
    """Collects columns and constraints; also used by ALTER TABLE ADD on existing columns."""

    def __init__(self, context: Any, table: str, columns: list[Column] | None = None) -> None:
        check_length(table)
        self.context = context
        self.table = table
        self.columns: list[Column] = list(columns or [])
        self.keys: list[KeySpec] = []
        self.checks: list[Check] = []
        self.system_named: set[str] = set()
        self.late: list[Callable[[], None]] = []
        self.stated_null: set[str] = set()
        self.clustered_stated = False

    def build(self, elements: list[Any]) -> TableDefinition:
        """Columns first, then whatever refers to them."""
        self.clustered_stated = states_clustered(elements)
        for element in elements:
            self.element(element)
        if not self.columns:
            raise self.context.not_supported(elements[0] if elements else None, "an empty table")
        self.finish()
        return TableDefinition(self.table, self.columns, self.keys, self.checks,
                               self.system_named)

    def finish(self) -> None:
        """Resolve keys, indexes and checks once all columns are known."""
        for step in self.late:
            step()
        if sum(key.primary for key in self.keys) > 1:
            raise SqlError(8110, self.table)
        if sum(key.clustered for key in self.keys) > 1:
            raise SqlError(8112, self.table)
        for count, number in ((sum(c.identity is not None for c in self.columns), 2744),
                              (sum(c.rowversion for c in self.columns), 2738)):
            if count > 1:
                raise SqlError(number, self.table)

    def element(self, element: Any) -> None:
        """One element of the parentheses."""
        if isinstance(element, ast.ColumnDef):
            self.column(element)
        elif isinstance(element, ast.ComputedColumn):
            raise self.context.not_supported(element, "a computed column")
        else:
            self.constraint(element, None)

    # ------------------------------------------------------------------ columns
    def column(self, node: ast.ColumnDef) -> Column:
        """One column with its own constraints."""
        check_length(node.name)
        if any(c.name.lower() == node.name.lower() for c in self.columns):
            raise SqlError(2705, node.name, self.table)
        if node.sparse:
            raise self.context.not_supported(node, "a sparse column")
        type_, user_type, type_nullable = self.column_type(node.data_type)
        constraints = node.constraints or []
        primary = any(isinstance(c, ast.KeyConstraint) and c.primary for c in constraints)
        rowversion = type_.name == "rowversion"
        nullable = node.nullable
        if nullable and primary:
            raise SqlError(8147 if node.identity else 8111, self.table)
        if nullable:
            self.stated_null.add(node.name.lower())
        if nullable is None:
            nullable = type_nullable and not (primary or node.identity or rowversion)
        column = Column(node.name, type_, nullable, rowversion=rowversion,
                        rowguid=node.rowguidcol, user_type=user_type)
        if node.identity is not None:
            column.identity = self.identity(node, column)
        if node.collation is not None:
            self.collation(node, column)
        self.columns.append(column)
        for constraint in constraints:
            self.constraint(constraint, column)
        return column

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
            type_ = resolve_type(data_type, "column", user_type)
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
        if node.identity.not_for_replication:
            raise self.context.not_supported(node, "NOT FOR REPLICATION")

        def number(part: Any) -> int:
            return 1 if part is None else int(self.context.expression(part).fn(None, (), ()))

        return number(node.identity.seed), number(node.identity.increment)

    def collation(self, node: ast.ColumnDef, column: Column) -> None:
        """The column's own collation."""
        found = find_collation(node.collation)
        if found is None:
            raise self.context.not_supported(node, f"collation {node.collation}")
        if not column.type.is_string:
            raise SqlError(452)
        column.collation = found.name
        column.case_sensitive = found.case_sensitive

    # ------------------------------------------------------------------ constraints
    def constraint(self, node: Any, column: Column | None) -> None:
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
            raise self.context.not_supported(node, "a FOREIGN KEY constraint")
        else:
            raise self.context.not_supported(node, type(node).__name__)

    def default(self, node: ast.DefaultConstraint, column: Column | None) -> None:
        """A default value: compiled once, evaluated for each row."""
        if column is None:
            column = self.find(node.column or "")
        if column.default is not None or column.default_text:
            raise SqlError(1781)
        if column.identity is not None or column.rowversion:
            raise SqlError(1754, self.table, column.name)
        self.refuse_calls(node.value)
        value = self.context.expression(node.value)
        convert = compile_assignment_conversion(value.type, column.type)
        evaluate = value.fn
        if convert is None:
            column.default = lambda s: evaluate(s, (), ())
        else:
            def converted(s: Any) -> Any:
                found = evaluate(s, (), ())
                return None if found is None else convert(found)

            column.default = converted
        column.default_name = node.name or default_name(self.table, column.name)
        if node.name is None:
            self.system_named.add(column.default_name.lower())
        column.default_text = definition_text(self.context, node.value)

    def refuse_calls(self, node: Any) -> None:
        """A constraint would keep calling what the function was when it was made."""
        if any(calls_function(part) for part in node.walk()):
            raise self.context.not_supported(node, "a user-defined function in a constraint")

    def key(self, node: ast.KeyConstraint, column: Column | None) -> None:
        """PRIMARY KEY or UNIQUE."""
        ordinals = self.ordinals(node, node.columns, column)
        clustered = node.clustered
        if clustered is None:
            clustered = node.primary and not any(k.clustered for k in self.keys) \
                and not self.clustered_stated
        names = [self.columns[i].name for i in ordinals]
        if node.primary:
            for ordinal in ordinals:
                target = self.columns[ordinal]
                if target.name.lower() in self.stated_null:
                    raise SqlError(8111, self.table)
                # A key of the table makes columns that do not say NULL not nullable.
                target.nullable = False
        page_locks = check_index_options(self.context, node, node.options)
        self.keys.append(KeySpec(
            node.name or key_name(node.primary, self.table, names), ordinals, True, clustered,
            node.primary, True, system_named=node.name is None, page_locks=page_locks))
        if node.name is None:
            self.system_named.add(self.keys[-1].name.lower())

    def index(self, node: ast.TableIndex, column: Column | None) -> None:
        """INDEX name (...) inside a table definition."""
        ordinals = self.ordinals(node, node.columns, column)
        page_locks = check_index_options(self.context, node, node.options)
        where, text = self.filter(node.where)
        self.keys.append(KeySpec(
            node.name, ordinals, node.unique, bool(node.clustered),
            included=[self.ordinal(name) for name in node.include], where=where, where_text=text,
            page_locks=page_locks))

    def check(self, node: ast.CheckConstraint, column: Column | None) -> None:
        """CHECK (condition): false refuses the row, unknown accepts it."""
        self.refuse_calls(node.condition)
        accepts = self.row_condition(node.condition)
        text = f"({source_text(self.context, node.condition)})"
        owner = column.name if column is not None else ""
        name = node.name or check_name(self.table, owner, text)
        if node.name is None:
            self.system_named.add(name.lower())
        self.checks.append(Check(name, lambda s, row: accepts(s, (), row), text, owner))

    # ------------------------------------------------------------------ helpers
    def filter(self, node: Any) -> tuple[Callable[[tuple], bool] | None, str]:
        """WHERE of a filtered index: (predicate over rows, its text)."""
        if node is None:
            return None, ""
        accepts = self.row_condition(node)
        text = f"({source_text(self.context, node)})"
        return (lambda row: accepts(None, (), row) is True), text

    def row_condition(self, node: Any) -> Callable[[Any, Any, tuple], bool | None]:
        """Compile a condition over a row of this table."""
        columns = [
            ScopeColumn((self.table.lower(),), c.name, c.type, i, c.nullable,
                        find_collation(c.collation) if c.collation else None)
            for i, c in enumerate(self.columns)
        ]
        scope = self.context.scope.child(columns)
        scope.variables = {}
        return compile_condition(node, scope)

    def ordinals(self, node: Any, items: list[Any] | None, column: Column | None) -> list[int]:
        """Ordinals of key columns. Raises SqlError 1911, 1909, 1919."""
        if items is None:
            assert column is not None
            found = [self.ordinal(column.name)]
        else:
            found = []
            for item in items:
                if item.descending:
                    raise self.context.not_supported(item, "a descending key column")
                found.append(self.ordinal(item.value.parts[-1]))
        if len(set(found)) != len(found):
            raise SqlError(1909)
        for ordinal in found:
            target = self.columns[ordinal]
            if target.type.length == MAX or target.type.name in {"xml", "text", "ntext", "image"}:
                raise SqlError(1919, target.name, self.table)
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


def check_index_options(context: Any, node: Any, options: list[ast.Option] | None) -> bool:
    """Accept what has no effect here, refuse the rest; returns ALLOW_PAGE_LOCKS."""
    page_locks = True
    for option in options or []:
        allowed = KEY_OPTIONS_WITHOUT_EFFECT.get(option.name, ())
        if allowed is not None and option.value not in allowed:
            raise context.not_supported(option, f"index option {option.name}")
        if option.name == "ALLOW_PAGE_LOCKS":
            page_locks = bool(option.value)
    return page_locks


def source_text(context: Any, node: Any) -> str:
    """The text a node was written as."""
    return context.program.source.slice(node)


def definition_text(context: Any, node: Any) -> str:
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
