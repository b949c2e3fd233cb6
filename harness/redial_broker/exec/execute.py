"""EXECUTE: procedures, dynamic text, and how arguments meet parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import INT, NVARCHAR_MAX, UNICODE_TYPES
from redial_broker.exec import binding, documented, impersonation
from redial_broker.exec.calls import (
    Argument,
    argument_conversion,
    call_program,
    converted,
    module_principal,
)
from redial_broker.exec.compiler import ProgramCompiler, compile_program
from redial_broker.exec.completions import tell_call
from redial_broker.exec.context import Context
from redial_broker.exec.declarations import declare_parameters
from redial_broker.exec.language_level import check_batch
from redial_broker.exec.objects import SYSTEM_PROCEDURES, Function, Procedure
from redial_broker.exec.program import SWITCH, Program
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.steps import schema_of
from redial_broker.exec.tokens import enter

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

_NAME_PART = re.compile(r'\[((?:[^\]]|\]\])*)\]|"((?:[^"]|"")*)"|([^.\[\]"]+)')

TEXT_LEVELS = 2
"""Of sp_executesql and its kin: the system procedure and its batch (F-532)."""

DYNAMIC_PROCEDURES: dict[str, Callable[[Any, list[Argument], Any, int | None], int | None]] = {}
"""Procedures that push a frame themselves (sp_executesql and its kin), by lower-case name."""


# ---------------------------------------------------------------------- EXEC procedure
@compiles(ast.ExecuteProcedure, shared=False)
def execute_procedure(node: ast.ExecuteProcedure, context: Context) -> Run:
    """EXEC [@rc =] procedure arguments. The name is resolved at each call, as the server does."""
    if node.options:
        for option in node.options:
            if option.name != "RECOMPILE":
                raise context.not_supported(node, f"EXECUTE ... WITH {option.name}")
    arguments = [compile_argument(part, context) for part in node.arguments]
    check_order(node, context)
    if isinstance(node.procedure, ast.Variable):
        name_of = context.expression(node.procedure).fn
        fixed = None
    else:
        fixed = node.procedure
        if fixed.server:
            raise context.not_supported(node, "a linked server")
        name_of = None
    give_status = status_setter(node, context)
    plain = binding.plain_arguments(node, context) if binding.cacheable(fixed) else None
    known: binding.Prepared | None = None

    def run(session: SessionState, variables: Values) -> int | None:
        nonlocal known
        if known is not None and binding.holds(known, session):
            return binding.call(
                session, variables, known, give_status(variables) if give_status else None
            )
        given = [make(session, variables) for make in arguments]
        if fixed is not None:
            name = fixed
        else:
            assert name_of is not None
            name = parse_name(name_of(session, variables, ()))
        database = session.database
        session.return_status = 0
        switched = call_named(
            session,
            name,
            given,
            give_status(variables) if give_status else None,
            session.frames[-1].pc + 1,
        )
        if switched is None:
            tell_call(session, session.return_status)
        if (
            plain is not None
            and fixed is not None
            and switched == SWITCH
            and session.frames[-1].database is database
        ):
            known = binding.after(session, fixed, plain, argument_conversion, module_principal)
        return switched

    return run


def check_order(node: ast.ExecuteProcedure, context: Context) -> None:
    """119: after @name = value only named arguments may follow."""
    named = False
    for position, part in enumerate(node.arguments, 1):
        if part.name is not None:
            named = True
        elif named:
            raise context.fail(node, SqlError(119, position, aborts="batch"))


def compile_argument(
    part: ast.ExecuteArgument, context: Context
) -> Callable[[SessionState, Values], Argument]:
    """An argument as a function of the caller's frame."""
    name = part.name or ""
    if isinstance(part.value, ast.DefaultValue):
        return lambda session, variables: Argument(name, None, None, default=True)
    table = (
        context.table_variables.get(getattr(part.value, "name", "").lower())
        if isinstance(part.value, ast.Variable)
        else None
    )
    if table is not None:
        return _table_argument(name, table, part, context)
    known = (
        context.scope.variables.get(getattr(part.value, "name", "").lower())
        if isinstance(part.value, ast.Variable)
        else None
    )
    if known is not None and known[1] is None:
        return _cursor_argument(name, known[0], part)
    value = context.expression(part.value)
    evaluate, type_ = value.fn, value.type
    if not part.output:
        return lambda session, variables: Argument(name, evaluate(session, variables, ()), type_)
    if not isinstance(part.value, ast.Variable):
        raise context.fail(part, SqlError(179, aborts="batch"))
    slot, target = context.scope.variables[part.value.name.lower()]

    def make(session: SessionState, variables: Values) -> Argument:
        def give(found: Any) -> None:
            variables[slot] = found

        return Argument(name, evaluate(session, variables, ()), target, output=True, set=give)

    return make


def _table_argument(
    name: str, table: tuple[int, Any], part: ast.ExecuteArgument, context: Context
) -> Callable[[SessionState, Values], Argument]:
    """A table variable: never OUTPUT (348), and of a named type for the parameter to be of."""
    if part.output:
        shown = cast("ast.Variable", part.value).name
        raise context.fail(part, SqlError(348, shown, aborts="batch"))
    slot, definition = table
    kind = "table" if definition.name.startswith("@") else definition.name
    return lambda session, variables: Argument(name, variables[slot], None, table=kind)


def _cursor_argument(
    name: str, slot: int, part: ast.ExecuteArgument
) -> Callable[[SessionState, Values], Argument]:
    """A cursor variable: it must not have a cursor yet (16951), and gets the procedure's."""
    shown = cast("ast.Variable", part.value).name

    def make(session: SessionState, variables: Values) -> Argument:
        if variables[slot] is not None and variables[slot] in session.cursors:
            raise SqlError(16951, shown)

        def give(found: Any) -> None:
            variables[slot] = found

        return Argument(name, None, None, output=part.output, set=give)

    return make


def status_setter(node: ast.ExecuteProcedure, context: Context) -> Any:
    """For ``@rc = procedure``: makes the function that stores the return status."""
    if node.return_variable is None:
        return None
    slot, type_ = context.scope.variables[node.return_variable.name.lower()]

    def bind(variables: Values) -> Callable[[Any, int], None]:
        def store(session: SessionState, status: int) -> None:
            variables[slot] = converted(status, INT, type_)

        return store

    return bind


def parse_name(text: Any) -> ast.ObjectName:
    """A procedure name held in a variable: parts in brackets, quotes or plain."""
    return _parse_name(str(text or ""))


@lru_cache(maxsize=1024)
def _parse_name(text: str) -> ast.ObjectName:
    parts = [
        bracketed.replace("]]", "]") or quoted.replace('""', '"') or plain.strip()
        for bracketed, quoted, plain in _NAME_PART.findall(text)
    ]
    return ast.ObjectName(0, 0, tuple(parts[:4]) or ("",))


def call_named(
    session: SessionState,
    name: ast.ObjectName,
    arguments: list[Argument],
    on_return: Callable[[Any, int], None] | None,
    next_pc: int | None,
) -> int | None:
    """Call a procedure by name. Returns SWITCH when a frame was pushed, else None.

    Raises SqlError 2812 when there is none, 911 for an unknown database.
    """
    database = session.instance.database(name.database) if name.database else session.database
    if name.name.startswith("#") and name.name.lower() in session.temp_procedures:
        found = session.temp_procedures[name.name.lower()]
        database = found.database
    else:
        found = database.follow(database.resolve(name.schema, name.name, session), session)
    if session.auto:  # only a wait for somebody's uncommitted definition begins a transaction here
        session.commit()
    lowered = name.name.lower()
    if isinstance(found, Function):
        raise NotSupported(f"EXECUTE of the function {found.name}")
    if not isinstance(found, Procedure):
        dynamic = DYNAMIC_PROCEDURES.get(lowered)
        if dynamic is not None:
            return within(
                session,
                lambda: (
                    dynamic(session, arguments, on_return, next_pc)
                    if database is session.database
                    else elsewhere(
                        session, database, lambda: dynamic(session, arguments, on_return, next_pc)
                    )
                ),
            )
        system = SYSTEM_PROCEDURES.get(lowered)
        if system is not None:
            try:
                status = (
                    within(session, lambda: in_work(session, lambda: system(session, arguments)))
                    or 0
                )
            except SqlError as error:
                if error.raised and error.returns is None:
                    error.returns = 1  # F-361
                if error.returns is not None and on_return is not None:
                    on_return(session, error.returns)
                raise
            session.return_status = status
            if on_return is not None:
                on_return(session, status)
            return None
        if found is None and documented.procedure(name.schema, lowered):
            raise NotSupported(f"the system procedure {name.name}")
        raise SqlError(2812, ".".join(part for part in name.parts if part), state=62)
    if session.options.fmtonly:
        raise NotSupported("a procedure called under SET FMTONLY ON")
    if found.object_id > 0:
        session.check_permission("EXECUTE", found)
    if session.instance.listener is not None:
        session.instance.listener(found.text)
    program = procedure_program(session, found, database)
    frame = call_program(
        session, program, arguments, next_pc, user=module_principal(found, database, session)
    )
    frame.on_return = on_return
    enter(session, database)
    return SWITCH


def within(session: SessionState, call: Callable[[], Any]) -> Any:
    """Run a procedure of the server's own, whose results are a procedure's although no frame is."""
    before, session.in_procedure = session.in_procedure, True
    try:
        return call()
    finally:
        session.in_procedure = before


def elsewhere(
    session: SessionState, database: Database, call: Callable[[], int | None]
) -> int | None:
    """Dynamic text in the database that is named before the procedure (F-181). Raises 916."""
    home = session.database, session.user
    enter(session, database)
    try:
        switched = call()
    except BaseException:
        session.database, session.user = home
        raise
    session.frames[-1].database, session.frames[-1].saved_user = home
    return switched


def in_work(session: SessionState, call: Callable[[], Any]) -> Any:
    """Run a system procedure like a statement: its own transaction where it begins one."""
    session.mark = 0
    if session.transaction is not None:
        session.begin_statement(session.transaction)
    result = call()
    if session.transaction is not None:
        if session.transaction.short_locks or session.transaction.statement is not None:
            session.engine.transactions.end_statement(session.transaction)
        if session.auto:
            session.commit()
        else:
            session.begin_statement(session.transaction)
    return result


# ---------------------------------------------------------------------- compiling modules
def procedure_program(session: SessionState, procedure: Procedure, database: Database) -> Program:
    """The compiled procedure, compiled at its first call."""
    program = procedure.program
    if program is None or not program.stands(database):
        node = procedure.node
        program = Program(
            procedure.name,
            procedure.schema,
            database,
            procedure.source,
            object_id=procedure.object_id,
            quoted_identifier=procedure.options.get("quoted_identifier", True),
            ansi_nulls=procedure.options.get("ansi_nulls", True),
        )

        def prepare(compiler: ProgramCompiler) -> None:
            declare_parameters(compiler, node.parameters)

        compile_program(program, node.body, session, prepare)
        procedure.program = program
    return cast("Program", program)


# ---------------------------------------------------------------------- dynamic text
@compiles(ast.ExecuteString, shared=False)
def execute_string(node: ast.ExecuteString, context: Context) -> Run:
    """EXEC (N'text'): its own scope for variables and SET options."""
    if node.server or node.arguments:
        raise context.not_supported(node, "EXECUTE ... AT a linked server")
    command = context.expression(node.command)
    who = context.expression(node.as_name) if node.as_name is not None else None

    def run(session: SessionState, variables: Values) -> int | None:
        text = converted(command.fn(session, variables, ()), command.type, NVARCHAR_MAX)
        if not text:
            return None
        become = (
            impersonation.other(session, cast("str", node.as_kind), who.fn(session, variables, ()))
            if who
            else None
        )
        program = text_program(session, text, "")
        session.instance.machine.call(session, program, [], next_pc=session.frames[-1].pc + 1)
        if become is not None:
            become()
        return SWITCH

    return run


def text_program(session: SessionState, text: str, definitions: str) -> Program:
    """The program of a batch or dynamic text, with sp_executesql's parameter definitions.

    Kept by the instance: the same text in the same database is compiled once.
    """
    options = session.options
    if session.instance.listener is not None:
        session.instance.listener(text)
    key = (
        text,
        definitions,
        session.database.id,
        schema_of(session.user),
        options.quoted_identifier,
        options.fmtonly,
        session.database.options["compatibility_level"],
    )
    program = session.instance.programs.get(key)
    home = session.database
    if program is None or program.database is not home or not program.stands(home):
        batch = session.instance.parse(text, session.options.quoted_identifier)
        check_batch(batch, session.database)
        program = Program("", "", session.database, batch.source)

        def prepare(compiler: ProgramCompiler) -> None:
            if definitions.strip():
                declare_parameters(compiler, parse_definitions(session, definitions))

        compile_program(program, batch.statements, session, prepare)
        session.instance.programs.put(key, program)
    return cast("Program", program)


def parse_definitions(session: SessionState, definitions: str) -> list[ast.Parameter]:
    """sp_executesql's second argument, read as the parameter list of a procedure."""
    batch = session.instance.parse(f"CREATE PROCEDURE p {definitions} AS RETURN")
    parameters: list[ast.Parameter] = batch.statements[0].parameters
    return parameters


def _text(argument: Argument | None, name: str, state: int) -> str:
    """A text sp_executesql is given: 214 for one that is not Unicode (its page)."""
    if argument is None:
        return ""
    if argument.type is None or argument.type.name not in UNICODE_TYPES:
        raise SqlError(214, name, "ntext/nchar/nvarchar", state=state)
    return "" if argument.value is None else str(argument.value)


def sp_executesql(
    session: SessionState,
    arguments: list[Argument],
    on_return: Callable[[Any, int], None] | None,
    next_pc: int | None,
) -> int | None:
    """sp_executesql statement, definitions, values...

    The first two are bound by position whatever their names are (drivers differ in them), the
    values by position or by the names the definitions give.
    """
    if not arguments:
        raise SqlError(201, "sp_executesql", "@statement", state=10)
    text = _text(arguments[0], "@statement", 2)
    given = arguments[1] if len(arguments) > 1 else None
    if given is not None and given.value is None and len(arguments) == 2:
        given = None
    definitions = _text(given, "@params", 3)
    try:
        program = text_program(session, text, definitions)
    except SqlError as error:
        if on_return is not None:
            on_return(session, error.number)
        raise
    frame = call_program(session, program, arguments[2:], next_pc)
    frame.on_return, frame.levels = on_return, TEXT_LEVELS
    return SWITCH


DYNAMIC_PROCEDURES["sp_executesql"] = sp_executesql
