"""Flow of control: blocks, IF, WHILE, TRY, GOTO, RETURN, DECLARE, SET @v, waits, messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import THROWN, SqlError
from redial_broker.engine.types import INT, SELECT_DONE, nvarchar
from redial_broker.exec.compiler import ProgramCompiler, names_objects, touches_data
from redial_broker.exec.completions import END_TRY, ENTER_TRY, ONE_ROW, RETURN, tell, told
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import bare, compile_assignment_conversion, seconds_of_day
from redial_broker.exec.conversion.rules import OLD_LARGE, shown_name
from redial_broker.exec.cursors import set_cursor_variable
from redial_broker.exec.ddl.definition import table_definition
from redial_broker.exec.declarations import declared_type, find_table_type
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.formatting import format_message
from redial_broker.exec.program import SWITCH
from redial_broker.exec.registry import Run, compiles, flow
from redial_broker.exec.steps import end_of_program, jump, lazy_step
from redial_broker.exec.strictness import strict, uses_methods
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


# ---------------------------------------------------------------------- blocks and loops
@flow(ast.Block)
def block(compiler: ProgramCompiler, node: ast.Block) -> None:
    """BEGIN ... END."""
    compiler.statements(node.statements)


@flow(ast.If)
def if_(compiler: ProgramCompiler, node: ast.If) -> None:
    """IF: unknown counts as false. An error in the predicate leaves the whole statement."""
    targets = [0]
    pc = compiler.condition_step(node, node.condition, targets)
    compiler.statement(node.then)
    if node.otherwise is not None:
        skip = compiler.emit(None, lambda session, variables: None)
        targets[0] = compiler.here()
        compiler.statement(node.otherwise)
        compiler.set_jump(skip, jump_only(compiler.here()), compiler.here())
    else:
        targets[0] = compiler.here()
    compiler.program.infos[pc].resume = compiler.here()
    compiler.program.infos[pc].targets = (pc + 1, targets[0])


def jump_only(target: int) -> Run:
    """A step that goes to ``target`` within the same blocks."""
    return lambda session, variables: target


@flow(ast.While)
def while_(compiler: ProgramCompiler, node: ast.While) -> None:
    """WHILE with BREAK and CONTINUE."""
    targets = [0]
    start = compiler.condition_step(node, node.condition, targets)
    breaks: list[int] = []
    compiler.loops.append((start, breaks, compiler.try_depth, compiler.catch_depth))
    compiler.statement(node.body)
    compiler.loops.pop()
    back = compiler.emit(None, jump_only(start))
    targets[0] = compiler.here()
    compiler.program.infos[back].targets = (start,)
    compiler.program.infos[start].resume = targets[0]
    compiler.program.infos[start].targets = (start + 1, targets[0])
    for pc in breaks:
        compiler.set_jump(
            pc, jump(targets[0], compiler.try_depth, compiler.catch_depth), targets[0]
        )


@flow(ast.Break)
def break_(compiler: ProgramCompiler, node: ast.Break) -> None:
    """BREAK leaves the innermost loop."""
    if not compiler.loops:
        raise compiler.context.fail(node, SqlError(135, aborts="batch"))
    compiler.loops[-1][1].append(compiler.emit(node, lambda session, variables: None))


@flow(ast.Continue)
def continue_(compiler: ProgramCompiler, node: ast.Continue) -> None:
    """CONTINUE tests the innermost loop again."""
    if not compiler.loops:
        raise compiler.context.fail(node, SqlError(136, aborts="batch"))
    start, _, tries, catches = compiler.loops[-1]
    compiler.set_jump(
        compiler.emit(node, jump(start, tries, catches)), jump(start, tries, catches), start
    )


@flow(ast.Label)
def label(compiler: ProgramCompiler, node: ast.Label) -> None:
    """A GOTO target."""
    key = node.name.lower()
    if key in compiler.labels:
        raise compiler.context.fail(node, SqlError(132, node.name, aborts="batch"))
    compiler.labels[key] = (compiler.here(), compiler.try_depth, compiler.catch_depth)


@flow(ast.Goto)
def goto(compiler: ProgramCompiler, node: ast.Goto) -> None:
    """GOTO; the label is found when the program is complete."""
    pc = compiler.emit(node, lambda session, variables: None)
    compiler.gotos.append((pc, node, compiler.try_depth, compiler.catch_depth))


@flow(ast.TryCatch)
def try_catch(compiler: ProgramCompiler, node: ast.TryCatch) -> None:
    """TRY ... CATCH: the handler's address is pushed, an error jumps to it."""
    handler = [0]

    def enter(session: SessionState, _: Values) -> None:
        session.frames[-1].handlers.append((handler[0], len(session.error_stack)))

    start = compiler.emit(None, enter, tells=ENTER_TRY)
    compiler.try_depth += 1
    compiler.statements(node.body)
    compiler.try_depth -= 1
    leave = compiler.emit(None, lambda session, variables: None, tells=END_TRY)
    handler[0] = compiler.here()
    for info in compiler.program.infos[start:leave]:
        if info.handler is None:  # an inner TRY has its own
            info.handler = handler[0]
    compiler.catch_depth += 1
    compiler.statements(node.handler)
    compiler.catch_depth -= 1
    compiler.emit(None, leave_catch, tells=END_TRY)
    compiler.set_jump(
        leave, ends_try(compiler.here(), compiler.try_depth, compiler.catch_depth), compiler.here()
    )


def ends_try(target: int, tries: int, catches: int) -> Run:
    """END TRY: go behind the CATCH block; @@ROWCOUNT is 0 there (F-534)."""
    go = jump(target, tries, catches)

    def run(session: SessionState, variables: Values) -> int | None:
        session.rowcount = 0
        return go(session, variables)

    return run


def leave_catch(session: SessionState, _: Values) -> None:
    """END CATCH: the error it handled is no longer current; @@ROWCOUNT is 0 (F-534)."""
    session.error_stack.pop()
    session.rowcount = 0


@flow(ast.Return)
def return_(compiler: ProgramCompiler, node: ast.Return) -> None:
    """RETURN [status]. A NULL status is returned as 0 (RETURN page)."""
    if node.value is not None:
        compiler.check_variables(node.value)
        type_ = compiler.returns_type
        methods = ast.noted(node.value, uses_methods)

        def make(part: Any, context: Context) -> Run:
            run = return_value(part, context, type_)
            return strict(run, node) if methods else run

        if touches_data(node.value):
            step = lazy_step(
                compiler.program,
                compiler.here(),
                node,
                make,
                compiler.context,
                True,
            )
            compiler.returns.append(compiler.emit(node, step, names_objects(node.value)))
        else:
            compiler.returns.append(compiler.emit(node, make(node, compiler.context)))
        return
    compiler.returns.append(compiler.emit(node, returns))


def returns(session: SessionState, variables: Values) -> int:
    """RETURN without a value."""
    tell(session, RETURN)
    return end_of_program(session, variables)


def return_value(node: ast.Return, context: Context, type_: Any) -> Run:
    """RETURN value. type_: what a scalar function returns, None for a status."""
    assert node.value is not None
    value = context.expression(node.value)
    convert = compile_assignment_conversion(value.type, type_ or INT)
    evaluate, empty = value.fn, None if type_ is not None else 0
    change = None if convert is None else bare(convert)

    def give(session: SessionState, variables: Values) -> int:
        status = evaluate(session, variables, ())
        if status is not None and change is not None:
            status = change(status)
        if status is None and type_ is None:
            message = SqlError(282, session.frames[-1].program.name)
            session.info(message.text, message.severity, message.number)
        session.frames[-1].status = empty if status is None else status
        if type_ is None:
            tell(session, SELECT_DONE | ONE_ROW)
        return end_of_program(session, variables)

    return give


# ---------------------------------------------------------------------- variables
@flow(ast.DeclareVariable)
def declare(compiler: ProgramCompiler, node: ast.DeclareVariable) -> None:
    """DECLARE: slots at compile time, initial values at run time."""
    if value(compiler.context.session.engine, "rowcount_after_declare") == "zero":
        compiler.emit(node, lambda session, variables: session.set_rowcount(0))
    for item in node.declarations:
        if item.data_type is None:
            compiler.declare(item.variable.name, None)
            continue
        table_type = find_table_type(compiler.context, item.data_type)
        if table_type is not None:
            compiler.declare_table(item.variable.name, table_type)
            continue
        type_ = declared_type(compiler.context, item.data_type)
        if type_.name in OLD_LARGE:
            raise compiler.context.fail(item, SqlError(2739, aborts="scope"))
        if item.value is not None:
            compiler.check_variables(item.value)
        compiler.declare(item.variable.name, type_)
        if item.value is not None:
            set_node = ast.SetVariable(item.pos, item.end, item.variable, "=", item.value)
            compiler.statement(set_node)


@flow(ast.DeclareTableVariable)
def declare_table(compiler: ProgramCompiler, node: ast.DeclareTableVariable) -> None:
    """DECLARE @t TABLE (...)."""
    definition = table_definition(node.elements, compiler.context, node.variable.name)
    compiler.declare_table(node.variable.name, definition)


@compiles(ast.SetVariable, shared=False)
def set_variable(node: ast.SetVariable, context: Context) -> Run:
    """SET @v = value, and the compound forms."""
    known = context.scope.variables[node.variable.name.lower()]
    of_cursor = known[1] is None and node.variable.name.lower() not in context.table_variables
    if of_cursor or isinstance(node.value, ast.CursorDefinition):
        return set_cursor_variable(node, context)
    slot, type_ = context.scope.variables[node.variable.name.lower()]
    value_node = node.value
    if node.op != "=":
        value_node = ast.BinaryOp(node.pos, node.end, node.op[:-1], node.variable, node.value)
    value = compile_expression(value_node, context.scope)
    return assignment(slot, value, compile_assignment_conversion(value.type, type_))


def assignment(slot: int, value: Expr, convert: Callable[[Any], Any] | None) -> Run:
    """variables[slot] = value, converted; the commonest statement, so each kind has its own closure."""
    evaluate, change = value.fn, None if convert is None else bare(convert)
    if value.constant and (change is None or value.value is None):
        found = value.value

        def assign(session: SessionState, variables: Values) -> None:
            variables[slot] = found
            session.rowcount = 1
    elif change is None:

        def assign(session: SessionState, variables: Values) -> None:
            variables[slot] = evaluate(session, variables, ())
            session.rowcount = 1
    else:

        def assign(session: SessionState, variables: Values) -> None:
            found = evaluate(session, variables, ())
            variables[slot] = None if found is None else change(found)
            session.rowcount = 1

    return assign


# ---------------------------------------------------------------------- messages and errors
@compiles(ast.Print, shared=False)
def print_(node: ast.Print, context: Context) -> Run:
    """PRINT: information message 0, at most 8,000 bytes (4,000 characters of Unicode)."""
    value = context.expression(node.value)
    convert = compile_assignment_conversion(value.type, resolve_text(value.type))

    def run(session: SessionState, variables: Values) -> None:
        text = value.fn(session, variables, ())
        if text is not None and convert is not None:
            text = convert(text)
        session.rowcount = 0
        session.info("" if text is None else str(text)[:4000])

    return run


def resolve_text(type_: Any) -> Any:
    """The type PRINT shows a value as."""
    return type_ if type_.is_string else nvarchar(4000)


@compiles(ast.Throw, shared=False)
def throw(node: ast.Throw, context: Context) -> Run:
    """THROW number, message, state, or the error being handled again."""
    if node.number is None:

        def rethrow(session: SessionState, _: Values) -> None:
            info = session.error_info
            if info is None:
                raise SqlError(10704, aborts="batch")
            error = SqlError(
                info.number,
                text=info.message,
                state=info.state,
                severity=info.severity,
                line=info.line,
                aborts=THROWN,
            )
            error.procedure = info.procedure or ""
            raise error

        return rethrow
    assert node.message is not None and node.state is not None  # all three, or none of them
    number, message, state = (
        context.expression(part) for part in (node.number, node.message, node.state)
    )

    def run(session: SessionState, variables: Values) -> None:
        code = number.fn(session, variables, ())
        if code is None or not 50000 <= code <= 2147483647:
            raise SqlError(35100, code)
        # A percent sign is written twice (throw-transact-sql, F-133).
        raise SqlError(
            code,
            text=str(message.fn(session, variables, ()) or "").replace("%%", "%"),
            severity=16,
            state=(state.fn(session, variables, ()) or 0) & 255,
            aborts=THROWN,
        )

    return run


def raised_state(given: int) -> int:
    """The state of RAISERROR: negative is 1, and it has one byte (F-526)."""
    return 1 if given < 0 else given & 255


SUBSTITUTES = frozenset(
    {
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "char",
        "varchar",
        "nchar",
        "nvarchar",
        "binary",
        "varbinary",
    }
)
"""Types of what may stand for a conversion specification (RAISERROR page; bigint for %I64d)."""


def raised_values(values: list[Expr], context: Context, node: ast.RaiseError) -> list[Expr]:
    """The arguments of RAISERROR: severity and state as int; 2748 for what cannot be put in."""
    for at, part in enumerate(values, 1):
        if at not in {2, 3} and not part.untyped and part.type.name not in SUBSTITUTES:
            raise context.fail(node, SqlError(2748, shown_name(part.type), at, aborts="scope"))
    return [converted(part, INT) if at in {1, 2} else part for at, part in enumerate(values)]


@compiles(ast.RaiseError, shared=False)
def raiserror(node: ast.RaiseError, context: Context) -> Run:
    """RAISERROR(text or number, severity, state, arguments...) WITH LOG, NOWAIT, SETERROR."""
    values = raised_values([context.expression(part) for part in node.arguments], context, node)
    log = "LOG" in node.options
    set_error = "SETERROR" in node.options

    def run(session: SessionState, variables: Values) -> int | None:
        given = [value.fn(session, variables, ()) for value in values]
        missing: list[Any] = [None] * (3 - len(given))
        text, severity, state, *arguments = [*given, *missing]
        number, logged = 50000, log
        if isinstance(text, int):
            number = text
            message = session.instance.user_message(number)
            text, logged = message.text, logged or message.logged
            if severity is not None and int(severity) == -1:
                severity = message.severity
        severity, state = max(0, int(severity or 0)), raised_state(int(state or 0))
        if log and not session.instance.may_log(session):
            raise SqlError(2778, line=0)
        if severity > 18 and not log:
            raise SqlError(2754)
        text = format_message(str(text or ""), arguments)[:2047]
        if logged:
            session.instance.log_error(session, number, severity, state, text)
        if severity <= 10:
            session.rowcount = 0
            session.info(text, severity, number, state)
            if not set_error:
                return None  # @@ERROR is 0
            tell(session, told(node))
            session.error = number
            session.frames[-1].pc += 1
            return SWITCH  # the machine would set @@ERROR to 0
        error = SqlError(number, text=text, severity=severity, state=state)
        error.raised = True
        raise error

    return run


# ---------------------------------------------------------------------- waiting
WAIT_TYPES = frozenset({"int", "smallint", "datetime"})
"""Types beside texts that WAITFOR takes; numbers are seconds (F-527)."""


@compiles(ast.WaitForDelay, ast.WaitForTime, lazy=False, work=False)
def wait_for_delay(node: Any, context: Context) -> Run:
    """WAITFOR DELAY 'hh:mm:ss' by the instance's clock. WAITFOR TIME waits for a time of day."""
    is_delay = isinstance(node, ast.WaitForDelay)
    value = context.expression(node.delay if is_delay else node.time)
    if value.constant:
        try:
            seconds_of_day(value.value)
        except SqlError:
            raise context.fail(node, SqlError(148, value.value, aborts="batch")) from None
    of = value.type

    def run(session: SessionState, variables: Values) -> None:
        if session.expired:
            session.rowcount = 0
            return
        given = value.fn(session, variables, ())
        session.rowcount = 0
        if given is None:
            return  # NULL is no wait (F-527)
        if not of.is_string and of.name not in WAIT_TYPES:
            raise SqlError(9815, shown_name(of))
        seconds = float(given) if isinstance(given, int) else seconds_of_day(given)
        if not is_delay:
            now = session.now()
            seconds -= now.hour * 3600 + now.minute * 60 + now.second + now.microsecond / 1e6
            seconds %= 86400
        session.wait_for("delay", seconds, int(seconds * 1000))

    return run
