"""Remote procedure calls: named procedures, and the prepared-statement family drivers live by.

sp_prepare, sp_execute, sp_prepexec, sp_prepexecrpc, sp_unprepare as ODBC 18, FreeTDS and JDBC use
them (MS-TDS 2.2.6.6, F-205). They can also be called as T-SQL text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql.ast.base import Source
from redial_broker.engine.errors import SqlError
from redial_broker.exec.calls import Argument, argument_value, call_program
from redial_broker.exec.execute import (
    DYNAMIC_PROCEDURES,
    TEXT_LEVELS,
    call_named,
    parse_name,
    text_program,
)
from redial_broker.exec.program import SWITCH, Program, StatementInfo
from redial_broker.exec.steps import end_of_program
from redial_broker.instance.api_cursors import CURSOR_PROCEDURES
from redial_broker.instance.prepared import OnReturn, Prepared, expect, give_handle, handle_of
from redial_broker.instance.requests import Rpc, RpcParam

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState
    from redial_broker.instance.session import Session

_CALL_INFOS = [StatementInfo(None, 1, False, 1), StatementInfo(None, 1, False, 2)]
"""Of the program of one call: the call, and its end."""


def start_call(session: Session, call: Rpc) -> None:
    """Push the frame of one call: a program of one step, so that waits and errors are usual."""
    arguments = [_argument(session, ordinal, param) for ordinal, param in enumerate(call.params)]
    name = parse_name(call.name)

    def returned(session: Session, status: int) -> None:
        """What was not given a value goes back with the one it came with (F-534)."""
        session.status = status
        for ordinal, param in enumerate(call.params):
            if param.output:
                session.outputs.setdefault(ordinal, (param.name, param.type, param.value))

    def step(session: SessionState, _: list[Any]) -> int | None:
        return call_named(session, name, arguments, returned, 1)

    program = Program("", "", session.database, Source(call.name))
    program.code = [step, end_of_program]
    program.infos = _CALL_INFOS
    session.instance.machine.call(session, program, [])


def _argument(session: Session, ordinal: int, param: RpcParam) -> Argument:
    if not param.output:
        return Argument(param.name, param.value, param.type, default=param.default)

    def give(value: Any) -> None:
        session.outputs[ordinal] = (param.name, param.type, value)

    return Argument(param.name, param.value, param.type, True, param.default, give)


# ---------------------------------------------------------------------- prepared statements
def _value(arguments: list[Argument], position: int, name: str) -> Any:
    found = argument_value(arguments, position, name)
    return found.value if found is not None else None


def _text(value: object) -> str:
    return "" if value is None else str(value)


def sp_prepare(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """sp_prepare @handle OUTPUT, @params, @stmt [, options]."""
    expect(arguments, "sp_prepare", "@handle", "@params", "@stmt")
    prepared = Prepared(_text(arguments[2].value), _text(arguments[1].value))
    text_program(session, prepared.text, prepared.definitions)  # syntax errors belong here
    give_handle(session, arguments, prepared)
    _return(session, on_return)


def sp_prepexec(
    session: Session, arguments: list[Argument], on_return: OnReturn, next_pc: int | None
) -> int:
    """sp_prepexec @handle OUTPUT, @params, @stmt, values...: prepare and run in one call."""
    expect(arguments, "sp_prepexec", "@handle", "@params", "@stmt")
    prepared = Prepared(_text(arguments[2].value), _text(arguments[1].value))
    program = text_program(session, prepared.text, prepared.definitions)
    give_handle(session, arguments, prepared)
    frame = call_program(session, program, arguments[3:], next_pc)
    frame.on_return, frame.levels = on_return, TEXT_LEVELS
    return SWITCH


def sp_prepexecrpc(
    session: Session, arguments: list[Argument], on_return: OnReturn, next_pc: int | None
) -> int | None:
    """sp_prepexecrpc @handle OUTPUT, procedure, values...: what ODBC makes of {CALL p(?)}."""
    expect(arguments, "sp_prepexecrpc", "@handle", "@rpcname")
    name = _text(arguments[1].value)
    give_handle(session, arguments, Prepared("", "", name))
    return call_named(session, parse_name(name), arguments[2:], on_return, next_pc)


def sp_execute(
    session: Session, arguments: list[Argument], on_return: OnReturn, next_pc: int | None
) -> int | None:
    """sp_execute @handle, values...; 8179 for a handle that does not exist."""
    handle = handle_of(arguments, "sp_execute")
    prepared = session.prepared.get(handle)
    if prepared is None:
        raise SqlError(8179, handle)
    if prepared.procedure:
        return call_named(
            session, parse_name(prepared.procedure), arguments[1:], on_return, next_pc
        )
    program = text_program(session, prepared.text, prepared.definitions)
    frame = call_program(session, program, arguments[1:], next_pc)
    frame.on_return, frame.levels = on_return, TEXT_LEVELS
    return SWITCH


def sp_unprepare(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """sp_unprepare @handle; 8179 for a handle that does not exist."""
    handle = handle_of(arguments, "sp_unprepare")
    if session.prepared.pop(handle, None) is None:
        raise SqlError(8179, handle)
    _return(session, on_return)


def sp_reset_connection(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """python-tds resets a pooled connection by calling this by name."""
    session.reset()
    _return(session, on_return)


def _return(session: Session, on_return: OnReturn) -> None:
    if on_return is not None:
        on_return(session, 0)


DYNAMIC_PROCEDURES.update(
    {
        "sp_prepare": sp_prepare,
        "sp_prepexec": sp_prepexec,
        "sp_prepexecrpc": sp_prepexecrpc,
        "sp_execute": sp_execute,
        "sp_unprepare": sp_unprepare,
        "sp_reset_connection": sp_reset_connection,
        "sp_cursorunprepare": sp_unprepare,
        **CURSOR_PROCEDURES,
    },
)
