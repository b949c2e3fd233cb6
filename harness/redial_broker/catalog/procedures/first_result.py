"""sp_describe_first_result_set: the columns of the first result a batch would send.

Statements are read in order and none is run. Where the answer depends on the way through IF, WHILE
or TRY the broker refuses by name; the server compares the ways there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure, result_columns
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import MAX, ResultColumn
from redial_broker.exec.compiler import ProgramCompiler
from redial_broker.exec.ddl.type_facts import max_length, precision_scale, type_id
from redial_broker.exec.declarations import declare_parameters
from redial_broker.exec.execute import parse_definitions
from redial_broker.exec.fmtonly import result_columns as columns_of
from redial_broker.exec.objects import SYSTEM_PROCEDURES, Procedure
from redial_broker.exec.program import Program
from redial_broker.exec.registry import FLOW

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

COLUMNS = result_columns("""
is_hidden bit
column_ordinal int
name sysname?
is_nullable bit
system_type_id int
system_type_name nvarchar(256)?
max_length smallint
precision tinyint
scale tinyint
collation_name sysname?
user_type_id int?
user_type_database sysname?
user_type_schema sysname?
user_type_name sysname?
assembly_qualified_type_name nvarchar(4000)?
xml_collection_id int?
xml_collection_database sysname?
xml_collection_schema sysname?
xml_collection_name sysname?
is_xml_document bit
is_case_sensitive bit
is_fixed_length_clr_type bit
source_server nvarchar(128)?
source_database nvarchar(128)?
source_schema nvarchar(128)?
source_table nvarchar(128)?
source_column nvarchar(128)?
is_identity_column bit?
is_part_of_unique_key bit?
is_updateable bit?
is_computed_column bit?
is_sparse_column_set bit?
ordinal_in_order_by_list smallint?
order_by_list_length smallint?
order_by_is_descending smallint?
tds_type_id int
tds_length int
tds_collation_id int?
tds_collation_sort_id tinyint?""")

_COLLATION = "SQL_Latin1_General_CP1_CI_AS"
_COLLATION_ID, _SORT_ID = 13632521, 52  # of that collation, as its bytes on the wire
_TDS_IDS = {
    "tinyint": 38,
    "smallint": 38,
    "int": 38,
    "bigint": 38,
    "bit": 104,
    "float": 109,
    "real": 109,
    "money": 110,
    "smallmoney": 110,
    "datetime": 111,
    "smalldatetime": 111,
    "date": 40,
    "time": 41,
    "datetime2": 42,
    "datetimeoffset": 43,
    "decimal": 106,
    "numeric": 108,
    "uniqueidentifier": 36,
    "char": 175,
    "varchar": 167,
    "nchar": 239,
    "nvarchar": 231,
    "binary": 173,
    "varbinary": 165,
    "rowversion": 173,
    "text": 35,
    "ntext": 99,
    "image": 34,
    "xml": 241,
    "sql_variant": 98,
}
"""TDS type ids as the page's last columns give them (MS-TDS 2.2.5.4)."""

_LONG_LENGTHS = {"xml": 8100, "text": 2147483647, "ntext": 2147483646, "image": 2147483647}
_SILENT = (
    ast.SetOption,
    ast.SetValue,
    ast.SetVariable,
    ast.DeclareVariable,
    ast.DeclareTableVariable,
    ast.Print,
    ast.Use,
)


@procedure("sp_describe_first_result_set", tsql=REQUIRED, params=None, browse_information_mode=0)
def sp_describe_first_result_set(call: Call) -> None:
    """One row per column of the first result, none when there is no result.

    Raises what compiling the batch raises, then 11501.
    """
    if call.number("browse_information_mode"):
        raise NotSupported("sp_describe_first_result_set with a browse information mode")
    found = first_result(call.session, call.text("tsql") or "", call.text("params") or "")
    call.answer(COLUMNS, [describe_row(n, column) for n, column in enumerate(found or [], 1)])


def first_result(session: SessionState, text: str, definitions: str) -> list[ResultColumn] | None:
    """The columns of the first result of a batch, None when it has none."""
    batch = session.instance.parse(text)
    program = Program("", "", session.database, batch.source)
    compiler = ProgramCompiler(program, session)
    if definitions.strip():
        declare_parameters(compiler, parse_definitions(session, definitions))
    return _of_statements(batch.statements, compiler)


def _of_statements(nodes: list[Any], compiler: ProgramCompiler) -> list[ResultColumn] | None:
    context = compiler.context
    for node in nodes:
        if isinstance(node, (ast.DeclareVariable, ast.DeclareTableVariable)):
            compiler.statement(node)
        compiler.check_variables(node)
        found = None
        if isinstance(node, ast.SelectStatement):
            found = columns_of(node, context)
        elif isinstance(node, ast.Block):
            found = _of_statements(node.statements, compiler)
        elif isinstance(node, ast.ExecuteProcedure):
            found = _of_procedure(node, compiler)
        elif isinstance(node, ast.ExecuteString) and isinstance(node.command, ast.Literal):
            found = first_result(context.session, str(node.command.value), "")
        elif isinstance(node, ast.Return):
            return None
        elif type(node) in FLOW and not isinstance(node, (*_SILENT, ast.Insert)):
            raise context.not_supported(node, "sp_describe_first_result_set past flow of control")
        elif getattr(node, "outputs", None) and any(o.into is None for o in node.outputs):
            raise context.not_supported(node, "sp_describe_first_result_set of an OUTPUT clause")
        if found is not None:
            return found
    return None


def _of_procedure(node: ast.ExecuteProcedure, compiler: ProgramCompiler) -> Any:
    context = compiler.context
    session = context.session
    name = node.procedure
    if isinstance(name, ast.Variable):
        raise context.not_supported(node, "sp_describe_first_result_set of EXECUTE @name")
    database = session.instance.database(name.database) if name.database else session.database
    found = database.resolve(name.schema, name.name, session)
    if not isinstance(found, Procedure):
        if name.name.lower() in SYSTEM_PROCEDURES:
            raise context.not_supported(node, "sp_describe_first_result_set of a system procedure")
        raise SqlError(2812, ".".join(part for part in name.parts if part), state=62)
    inner = ProgramCompiler(Program(found.name, found.schema, database, found.source), session)
    declare_parameters(inner, found.node.parameters)
    return _of_statements(found.node.body, inner)


def describe_row(ordinal: int, column: ResultColumn) -> tuple[Any, ...]:
    """One row of the answer."""
    type_ = column.type
    size = max_length(type_)
    text = type_.is_string
    length = 65535 if size == MAX else size
    length = _LONG_LENGTHS.get(type_.name, length)
    shown = "timestamp" if type_.name == "rowversion" else str(type_)
    identity = int(column.identity)
    tds = _TDS_IDS[type_.name]
    return (
        0,
        ordinal,
        column.name or None,
        int(column.nullable),
        type_id(type_),
        shown,
        size,
        *precision_scale(type_),
        _COLLATION if text else None,
        *[None] * 9,
        0,
        0,
        0,
        *[None] * 5,
        identity,
        None,
        int(column.stored),
        0,
        0,
        None,
        None,
        None,
        tds,
        length,
        _COLLATION_ID if text else None,
        _SORT_ID if text else None,
    )
