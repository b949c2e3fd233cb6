"""sp_describe_undeclared_parameters: which type would fit each undeclared @name of a statement.

pyodbc asks it for every None it binds and for fast_executemany; a wrong answer makes the driver
convert to the wrong type, so a parameter whose place says nothing of its type is an error (11502),
and pyodbc falls back by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.catalog.module_views import parameter_type
from redial_broker.catalog.procedures.arguments import (
    REQUIRED,
    Call,
    procedure,
    result_columns,
)
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.types import (
    BIGINT,
    INT,
    MAX,
    UNIQUEIDENTIFIER,
    VARBINARY_MAX,
    SqlType,
    nvarchar,
)
from redial_broker.exec.ddl.type_facts import max_length, precision_scale, type_id
from redial_broker.exec.objects import Procedure, TableType, View

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

COLUMNS = result_columns("""
parameter_ordinal int
name sysname
suggested_system_type_id int
suggested_system_type_name nvarchar(256)?
suggested_max_length smallint
suggested_precision tinyint
suggested_scale tinyint
suggested_user_type_id int?
suggested_user_type_database sysname?
suggested_user_type_schema sysname?
suggested_user_type_name sysname?
suggested_assembly_qualified_type_name nvarchar(4000)?
suggested_xml_collection_id int?
suggested_xml_collection_database sysname?
suggested_xml_collection_schema sysname?
suggested_xml_collection_name sysname?
suggested_is_xml_document bit
suggested_is_case_sensitive bit
suggested_is_fixed_length_clr_type bit
suggested_is_input bit
suggested_is_output bit
formal_parameter_name sysname?
suggested_tds_type_id int
suggested_tds_length int""")

_BROKER_PLACES = {
    "handle": UNIQUEIDENTIFIER,
    "handles": UNIQUEIDENTIFIER,
    "body": VARBINARY_MAX,
    "timeout": INT,
    "lifetime": INT,
    "where_value": UNIQUEIDENTIFIER,
    "to_service": nvarchar(256),
    "message_type": nvarchar(256),
    "error": INT,
    "description": nvarchar(3000),
    "group": UNIQUEIDENTIFIER,
}
"""Types of the places of Service Broker statements, by field."""


@dataclass(slots=True)
class Suggestion:
    """What a place asks for."""

    type: SqlType | None
    output: bool = False
    formal: str | None = None
    table_type: Any = None


@dataclass(slots=True)
class Inference:
    """Finds the type of each undeclared variable of a batch."""

    session: Any
    found: dict[str, Suggestion] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)

    def suggest(self, node: ast.Node | None, type_: SqlType | None, **more: Any) -> None:
        """Note the type for a variable standing alone in a place; the first place wins."""
        if isinstance(node, ast.Variable) and type_ is not None:
            self.found.setdefault(node.name.lower(), Suggestion(type_, **more))

    # ------------------------------------------------------------------ statements
    def statement(self, node: ast.Node) -> None:
        """One statement and all inside it."""
        for part in node.walk():
            if isinstance(part, ast.TableRef):
                self.table(part.name)
            elif isinstance(part, (ast.Insert, ast.Update, ast.Delete)) and isinstance(
                part.target, ast.ObjectName
            ):
                self.table(part.target)
        for part in node.walk():
            self.place(part)

    def table(self, name: ast.ObjectName) -> Table | None:
        """Remember a table that is named."""
        session = self.session
        found = (
            session.temp_tables.get(name.name.lower())
            if name.name.startswith("#")
            else session.database.resolve(name.schema, name.name, session)
        )
        if isinstance(found, View):  # its columns as a table's
            found = Table(session.engine.journal, found.name, list(found.columns))
        if isinstance(found, Table) and found not in self.tables:
            self.tables.append(found)
        return found if isinstance(found, Table) else None

    def place(self, part: Any) -> None:
        """What one node says of the variables directly in it."""
        if isinstance(part, ast.Insert):
            self.insert(part)
        elif isinstance(part, ast.Assignment) and part.column is not None:
            self.suggest(part.value, self.column(part.column.name))
        elif isinstance(part, (ast.Comparison, ast.BinaryOp)):
            self.suggest(part.left, self.type_of(part.right))
            self.suggest(part.right, self.type_of(part.left))
        elif isinstance(part, ast.InList):
            for item in part.items:
                self.suggest(item, self.type_of(part.operand))
        elif isinstance(part, ast.Between):
            for item in (part.low, part.high):
                self.suggest(item, self.type_of(part.operand))
        elif isinstance(part, ast.Like):
            self.suggest(part.pattern, self.type_of(part.operand) or nvarchar(4000))
        elif isinstance(part, ast.Top):
            self.suggest(part.count, BIGINT)
        elif isinstance(part, ast.ExecuteProcedure):
            self.execute(part)
        elif type(part).__module__.endswith(".broker"):
            self.broker(part)

    def insert(self, node: ast.Insert) -> None:
        """VALUES and SELECT lists against the target's columns."""
        if not isinstance(node.target, ast.ObjectName):
            return
        table = self.table(node.target)
        if table is None:
            raise SqlError(208, ".".join(p for p in node.target.parts if p), aborts="batch")
        columns = (
            [c for c in table.columns if c.identity is None and not c.rowversion]
            if node.columns is None
            else [self.own_column(table, n) for n in node.columns]
        )
        for row in insert_rows(node.source):
            for column, value in zip(columns, row):
                self.suggest(value, column.type)

    @staticmethod
    def own_column(table: Table, name: str) -> Any:
        """A column of the target. Raises SqlError 207."""
        at = table.ordinals.get(name.lower())
        if at is None:
            raise SqlError(207, name, aborts="batch")
        return table.columns[at]

    def execute(self, node: ast.ExecuteProcedure) -> None:
        """Arguments against a procedure's parameters."""
        session = self.session
        if not isinstance(node.procedure, ast.ObjectName):
            return
        found = session.database.resolve(node.procedure.schema, node.procedure.name, session)
        if node.return_variable is not None:
            self.suggest(node.return_variable, INT, output=True)
        if not isinstance(found, Procedure):
            return
        parameters = {p.variable.name.lower(): p for p in found.node.parameters}
        order = list(parameters.values())
        for position, argument in enumerate(node.arguments):
            parameter = (
                parameters.get(argument.name.lower())
                if argument.name
                else (order[position] if position < len(order) else None)
            )
            if parameter is None:
                continue
            table_type = session.database.find_type(parameter.data_type.name)
            if isinstance(table_type, TableType):
                self.found.setdefault(
                    getattr(argument.value, "name", "").lower(),
                    Suggestion(None, False, parameter.variable.name, table_type),
                )
                continue
            self.suggest(
                argument.value,
                parameter_type(session.database, parameter),
                output=bool(argument.output),
                formal=parameter.variable.name,
            )

    def broker(self, node: Any) -> None:
        """Handles, bodies and names of Service Broker statements."""
        for name, type_ in _BROKER_PLACES.items():
            value = getattr(node, name, None)
            for item in value if isinstance(value, list) else [value]:
                self.suggest(item, type_)

    # ------------------------------------------------------------------ types
    def column(self, name: str) -> SqlType | None:
        """Type of a column by name among the tables of the statement."""
        for table in self.tables:
            at = table.ordinals.get(name.lower())
            if at is not None:
                return table.types[at]
        return None

    def type_of(self, node: ast.Node) -> SqlType | None:
        """Type of what stands beside a variable, where it is plain to see."""
        if isinstance(node, ast.ColumnRef):
            return self.column(node.parts[-1])
        if isinstance(node, ast.Literal):
            if node.kind == "int":
                return INT
            if node.kind in {"string", "nstring"}:
                return nvarchar(4000)
            return VARBINARY_MAX if node.kind == "binary" else None
        if isinstance(node, ast.Cast):
            from redial_broker.exec.conversion import resolve_type

            return resolve_type(node.data_type, "cast")
        return None


def insert_rows(source: Any) -> Iterator[list[Any]]:
    """The rows of values of an INSERT, those of a plain SELECT included."""
    if isinstance(source, ast.Values):
        yield from source.rows
    elif isinstance(source, ast.Query) and isinstance(source.body, ast.Select):
        yield [item.value for item in source.body.items]


def undeclared(batch: ast.Batch, declared: set[str]) -> list[str]:
    """Names of variables that nothing declares, in order of appearance."""
    order: dict[str, str] = {}
    for statement in batch.statements:
        for part in statement.walk():
            if isinstance(part, ast.DeclareVariable):
                declared |= {item.variable.name.lower() for item in part.declarations}
            elif isinstance(part, ast.DeclareTableVariable):
                declared.add(part.variable.name.lower())
            elif isinstance(part, ast.Variable) and part.name.lower() not in declared:
                order.setdefault(part.name.lower(), part.name)
    return list(order.values())


@procedure("sp_describe_undeclared_parameters", tsql=REQUIRED, params=None)
def sp_describe_undeclared_parameters(call: Call) -> None:
    """One row per undeclared parameter. Raises 11501 (compile error) and 11502 (no type)."""
    session = call.session
    text = call.text("tsql") or ""
    try:
        batch = session.instance.parse(text)
    except SqlError as error:
        raise SqlError(11501) from error
    declared: set[str] = set()
    definitions = call.text("params")
    if definitions:
        from redial_broker.exec.execute import parse_definitions

        declared = {p.variable.name.lower() for p in parse_definitions(session, definitions)}
    inference = Inference(session)
    for statement in batch.statements:
        inference.statement(statement)
    rows = []
    for ordinal, name in enumerate(undeclared(batch, declared), 1):
        suggestion = inference.found.get(name.lower())
        if suggestion is None:
            raise SqlError(11502, text[:200])
        rows.append(row(session, ordinal, name, suggestion))
    call.answer(COLUMNS, rows)


def row(session: SessionState, ordinal: int, name: str, suggestion: Suggestion) -> RowValues:
    """One row of the answer."""
    table_type = suggestion.table_type
    if table_type is not None:
        return (
            ordinal,
            name,
            243,
            None,
            -1,
            0,
            0,
            table_type.user_type_id,
            session.database.name,
            table_type.schema,
            table_type.name,
            *[None] * 5,
            0,
            0,
            0,
            1,
            0,
            suggestion.formal,
            243,
            0,
        )
    type_ = suggestion.type
    assert type_ is not None
    size = max_length(type_)
    tds_length = 65535 if size == MAX else size
    shown = "timestamp" if type_.name == "rowversion" else str(type_)
    return (
        ordinal,
        name,
        type_id(type_),
        shown,
        size,
        *precision_scale(type_),
        *[None] * 9,
        0,
        0,
        0,
        1,
        int(suggestion.output),
        suggestion.formal,
        type_id(type_),
        tds_length,
    )
