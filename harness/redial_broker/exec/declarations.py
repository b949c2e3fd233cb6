"""What DECLARE and parameter lists declare: types by name, alias and table types, parameters."""

from __future__ import annotations

from typing import Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, SqlType
from redial_broker.exec.calls import converted
from redial_broker.exec.compiler import ProgramCompiler
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import resolve_type
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.program import ParameterInfo


def declared_type(context: Context, data_type: ast.DataType) -> Any:
    """The type of a variable or parameter as declared, alias types included."""
    return resolve_type(
        data_type,
        "declare",
        user_type=alias_type(context),
        position=context.program.source.line_column(data_type.pos),
        xml_type=context.database.xml_type,
    )


def alias_type(context: Context) -> Any:
    """Looks up alias types of the database: (schema, name) -> base type or None."""

    def find(schema: str | None, name: str) -> Any:
        return getattr(_own_type(context, schema, name), "type", None)

    return find


def find_table_type(context: Context, data_type: ast.DataType) -> Any:
    """The table type a name stands for, or None."""
    found = _own_type(context, data_type.name.schema, data_type.name.name)
    return getattr(found, "definition", None)


def _own_type(context: Context, schema: str | None, name: str) -> Any:  # any object of a type
    found = context.database.resolve_type(schema, name, context.session)
    if found is not None:
        context.program.types_of = context.database.schema_version
    return found


def declare_parameters(compiler: ProgramCompiler, parameters: list[ast.Parameter]) -> None:
    """Parameters are the first variables of a program."""
    context = compiler.context
    for part in parameters:
        name = part.variable.name
        if part.data_type is None:  # CURSOR VARYING, always OUTPUT
            compiler.declare(name, None)
            compiler.program.parameters.append(
                ParameterInfo(name, INT, True, default=lambda session: None, cursor=True)
            )
            continue
        definition = find_table_type(context, part.data_type)
        _check_readonly(part, definition, context)
        if definition is not None:
            compiler.declare_table(name, definition)
            compiler.program.parameters.append(
                ParameterInfo(name, INT, readonly=True, table_type=definition)
            )
            continue
        type_ = declared_type(context, part.data_type)
        default = None
        if part.default is not None:
            default = parameter_default(part, type_, context)
        compiler.declare(name, type_)
        compiler.program.parameters.append(
            ParameterInfo(name, type_, part.output, part.readonly, default)
        )


def _check_readonly(part: ast.Parameter, definition: Any, context: Context) -> None:
    """Tables, and nothing else, are READONLY ("Use table-valued parameters" page): 346, 347, 352."""
    number = 0
    if definition is None:
        number = 346 if part.readonly else 0
    elif not part.readonly:
        number = 347 if part.output else 352
    if number:
        raise context.fail(part, SqlError(number, part.variable.name, aborts="batch"))


def parameter_default(part: ast.Parameter, type_: SqlType, context: Context) -> Any:
    """The default as a function of the session (``= @@SPID`` is read at call time)."""
    assert part.default is not None
    value = compile_expression(part.default, context.scope)
    evaluate, source = value.fn, value.type
    return lambda session: converted(evaluate(session, [], ()), source, type_)
