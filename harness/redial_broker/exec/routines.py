"""User-defined functions: scalar, inline table-valued, multi-statement table-valued.

A function changes nothing outside its own variables (443), so its body runs to its end inside the
evaluation of the expression that calls it; when something in it must wait, the whole calling
statement waits and starts again, the function with it. Sources: "CREATE FUNCTION" page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.calls import module_principal
from redial_broker.exec.compiler import ProgramCompiler, compile_program
from redial_broker.exec.context import HOOKS, Context
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.ddl.definition import table_definition
from redial_broker.exec.declarations import declare_parameters, declared_type
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.objects import Function
from redial_broker.exec.program import ParameterInfo, Program
from redial_broker.exec.query.permissions import check_permission
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.query.sources import table_columns, template_table
from redial_broker.exec.query.through import chained
from redial_broker.exec.stack import unwind_frame
from redial_broker.exec.tokens import enter

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.session import SessionState

SCALAR, INLINE, TABLE = "SCALAR FUNCTION", "INLINE FUNCTION", "TABLE FUNCTION"


_STATEMENT = 4
"""What a statement of a function counts, in rows."""


class QuietSink:
    """Where the row counts of statements inside a function go: nowhere."""

    streams = False

    def done(self, *_: Any) -> None:
        """Row counts of the body are nobody's business."""

    def message(self, *_: Any) -> None:
        """Warnings of the body are dropped."""

    columns = row = env = told = call_status = call_over = done


QUIET = QuietSink()


# ---------------------------------------------------------------------- programs
def function_program(session: SessionState, function: Function) -> Program:
    """The compiled function of a scalar or multi-statement function, compiled when first needed."""
    if function.program is None:
        function.program = new_program(session, function)
    program: Program = function.program
    return program


def new_program(session: SessionState, function: Function) -> Program:
    """Compile a function; its variables: parameters first, then the table it returns."""
    options, node = function.options, function.node
    program = Program(
        function.name,
        function.schema,
        function.database,
        function.source,
        object_id=function.object_id,
        quoted_identifier=options["quoted_identifier"],
        ansi_nulls=options["ansi_nulls"],
    )

    def prepare(compiler: ProgramCompiler) -> None:
        declare_parameters(compiler, node.parameters)
        if function.kind == TABLE:
            definition = table_definition(node.elements, compiler.context, node.variable.name)
            compiler.declare_table(node.variable.name, definition)
        elif function.kind == SCALAR:
            compiler.returns_type = declared_type(compiler.context, node.returns)

    body = [] if function.kind == INLINE else node.body
    return compile_program(program, body, session, prepare)


# ---------------------------------------------------------------------- running
def run_function(
    session: SessionState, function: Function, program: Program, values: list[Any]
) -> Any:
    """Run a function's body to its end and return its frame. Raises Wait: run the caller again."""
    frames = session.frames
    for frame in frames:
        if frame.program is program:  # what a query remembers while it runs is not shared
            program = new_program(session, function)
            break
    session.work()
    saved = (
        session.sink,
        session.rowcount,
        session.error,
        session.mark,
        session.begun,
        session.auto,
        session.scope_identity,
        session.last_identity,
        session.database,
    )
    depth = len(frames)
    session.auto, session.sink = False, QUIET
    try:
        home = function.database
        user = None if function.execute_as is None else module_principal(function, home, session)
        frame = session.instance.machine.call(session, program, values, user=user)
        if session.database is not home:
            enter(session, home)
        code, variables, pc = program.code, frame.variables, 0
        tick = session.engine.meter.tick
        while len(frames) > depth:
            tick(_STATEMENT)
            frame.pc = pc
            following = code[pc](session, variables)
            pc = pc + 1 if following is None else following
        return frame
    except SqlError as error:
        if len(frames) > depth and not error.procedure:
            error.procedure = program.name
            error.line = error.line or program.infos[frames[-1].pc].line
        raise
    finally:
        while len(frames) > depth:
            unwind_frame(session)
        (
            session.sink,
            session.rowcount,
            session.error,
            session.mark,
            session.begun,
            session.auto,
            session.scope_identity,
            session.last_identity,
            session.database,
        ) = saved


# ---------------------------------------------------------------------- calls
def find_function(name: ast.ObjectName, context: Context, kinds: tuple[str, ...]) -> Any:
    """The function a name means, None when there is none of these kinds."""
    database = context.database
    if name.database is not None and name.database.lower() != database.name.lower():
        raise context.not_supported(name, "a function of another database")
    session = context.session
    found = database.follow(
        database.resolve(name.schema, name.name, session, context.home), session
    )
    return found if isinstance(found, Function) and found.kind in kinds else None


def bind_arguments(
    function: Function,
    parameters: list[ParameterInfo],
    given: list[Any],
    node: Any,
    context: Context,
) -> Callable[[SessionState, Values, RowValues], list[Any]]:
    """values(session, variables, row) of a call. given: Expr per argument, or the DEFAULT node.

    Raises SqlError 313 for too few arguments, 8144 for too many.
    """
    if len(given) < len(parameters):
        shown = ".".join(part for part in node.name.parts if part)
        raise context.fail(node, SqlError(313, shown, aborts="scope"))
    if len(given) > len(parameters):
        raise context.fail(node, SqlError(8144, function.name, state=2))
    makers = [
        _argument(part, item, function, node, context) for part, item in zip(given, parameters)
    ]
    return lambda session, variables, row: [make(session, variables, row) for make in makers]


def _argument(
    given: Any, parameter: ParameterInfo, function: Function, node: ast.Node, context: Context
) -> Fn:
    if parameter.table_type is not None:
        raise context.not_supported(node, "a table-valued parameter of a function")
    if isinstance(given, ast.DefaultValue):
        default = parameter.default
        if default is None:
            raise context.fail(node, SqlError(201, function.name, parameter.name, state=4))
        return lambda session, variables, row: default(session)
    convert = compile_assignment_conversion(given.type, parameter.type)
    fn: Fn = given.fn
    if convert is None or given.untyped:
        return fn

    def make(session: SessionState, variables: Values, row: RowValues) -> Any:
        value = fn(session, variables, row)
        return None if value is None else convert(value)

    return make


def scalar_function(name: ast.ObjectName, context: Context) -> Any:
    """The hook of ``Scope``: build(arguments, call) -> Expr, None for an unknown name."""
    function = find_function(name, context, (SCALAR,))
    if function is None:
        return None

    def build(arguments: list[Any], node: ast.FunctionCall) -> Expr:
        program = function_program(context.session, function)
        values = bind_arguments(function, program.parameters, arguments, node, context)
        null = any(o.name == "RETURNS NULL ON NULL INPUT" for o in function.node.options)
        covered = chained(function, context)

        def call(session: SessionState, variables: Values, row: RowValues) -> Any:
            if not covered:
                check_permission(session, "EXECUTE", function)
            given = values(session, variables, row)
            if null and None in given:
                return None
            return run_function(session, function, program, given).status

        type_ = declared_type(
            Context(program, Scope(source=function.source), context.session), function.node.returns
        )
        return Expr(call, type_)

    return build


def table_function(
    node: ast.FunctionTable, scope: Scope, context: Context
) -> tuple[Function, list[QueryColumn], Any] | None:
    """(function, columns, rows) of a table-valued function in FROM; None for an unknown name."""
    function = find_function(node.call.name, context, (INLINE, TABLE))
    if function is None:
        return None
    program = function_program(context.session, function)
    given = [
        part if isinstance(part, ast.DefaultValue) else compile_expression(part, scope)
        for part in node.call.arguments
    ]
    values = bind_arguments(function, program.parameters, given, node.call, context)
    columns, body = (_inline if function.kind == INLINE else _multi)(function, program, context)

    covered = chained(function, context)

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        if not covered:
            check_permission(session, "SELECT", function)
        found: list[RowValues] = body(session, values(session, variables, row))
        return found

    return function, columns, rows


def _inline(function: Function, program: Program, context: Context) -> tuple[list[Any], Any]:
    """The query of an inline function, compiled where it is used, like a view's."""
    variables = {p.name.lower(): (i, p.type) for i, p in enumerate(program.parameters)}
    inner = Context(program, Scope(source=function.source, variables=variables), context.session)
    inner.chain = function.database.owner_of(function)
    rowset = inner.query_compiler().query(function.node.query, inner.scope)
    context.uses_temp = context.uses_temp or inner.uses_temp
    return rowset.columns, lambda session, values: rowset.rows(session, values, ())


def check_inline(session: SessionState, function: Function) -> None:
    """4514 and 4506: the columns of an inline function need names of their own.

    What its query cannot be compiled for waits for the first use.
    """
    program = function_program(session, function)
    context = Context(program, Scope(source=function.source), session)
    try:
        columns, _ = _inline(function, program, context)
    except SqlError:
        return
    seen: set[str] = set()
    for number, column in enumerate(columns, 1):
        if not column.name:
            raise SqlError(4514, number)
        if column.name.lower() in seen:
            raise SqlError(4506, column.name, function.name)
        seen.add(column.name.lower())


def _multi(function: Function, program: Program, context: Context) -> tuple[list[Any], Any]:
    slot, definition = program.table_slots[0]
    columns = table_columns(template_table(definition, context))

    def body(session: SessionState, values: list[Any]) -> list[RowValues]:
        frame = run_function(session, function, program, values)
        return list(frame.variables[slot].rows.entries.values())

    return columns, body


HOOKS.scalar_function = scalar_function
