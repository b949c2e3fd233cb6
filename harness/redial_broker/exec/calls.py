"""How a program is called: arguments meet parameters, and whom a module runs as."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import BATCH, STATEMENT, SqlError
from redial_broker.engine.owners import OWNER
from redial_broker.engine.types import SqlType
from redial_broker.exec import impersonation
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.conversion.rules import shown_name
from redial_broker.exec.program import Frame, ParameterInfo, Program

if TYPE_CHECKING:
    from redial_broker.exec.database import Database
    from redial_broker.exec.objects import Module
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class Argument:
    """One argument of a call."""

    name: str
    """With @, or "" by position."""
    value: Any
    type: SqlType | None
    output: bool = False
    default: bool = False
    set: Callable[[Any], None] | None = None
    """Takes an OUTPUT value back."""
    table: str = ""
    """The type of a table variable as messages name it, "" for what is none."""


UNFIT = frozenset({220, 232, 235, 241, 242, 244, 245, 248, 295, 8114, 8115, 8169})
"""Errors of a value that has no place in a type: of an argument they are 8114 (F-520)."""


def argument_conversion(source: SqlType, target: SqlType) -> Callable[[Any], Any] | None:
    """The conversion of an argument: a value that does not fit is 8114, of the call alone."""
    change = conversion(source, target)
    if change is None:
        return None
    convert = change

    def attempt(value: Any) -> Any:
        try:
            return convert(value)
        except SqlError as error:
            if error.number not in UNFIT:
                raise
            names = (shown_name(source), shown_name(target))
            raise SqlError(8114, *names, state=5, aborts=STATEMENT) from None

    return attempt


def of_call(error: SqlError, name: str) -> SqlError:
    """An error about the arguments of a call: the called procedure's, without a line (F-520)."""
    error.of_call, error.procedure = True, error.procedure or name
    return error


@lru_cache(maxsize=4096)
def conversion(source: SqlType, target: SqlType) -> Callable[[Any], Any] | None:
    """The implicit conversion from one type to another, made once."""
    return compile_assignment_conversion(source, target)


def converted(value: Any, source: SqlType | None, target: SqlType) -> Any:
    """``value`` as an assignment to ``target`` would store it."""
    if value is None or source is None or source is target:
        return value
    change = conversion(source, target)
    return value if change is None else change(value)


def argument_value(arguments: list[Argument], position: int, name: str) -> Argument | None:
    """An argument of a system procedure, by position or name."""
    for argument in arguments:
        if argument.name and argument.name.lower() == name.lower():
            return argument
    if position < len(arguments) and not arguments[position].name:
        return arguments[position]
    return None


def call_program(
    session: SessionState,
    program: Program,
    arguments: list[Argument],
    next_pc: int | None,
    user: Any = None,
) -> Frame:
    """Bind arguments to parameters and push the frame."""
    try:
        values, outputs = bind(session, program, arguments)
    except SqlError as error:
        raise of_call(error, program.name if program.object_id else "") from None
    frame: Frame = session.instance.machine.call(
        session, program, values, next_pc=next_pc, user=user
    )
    frame.outputs = outputs
    return frame


def bind(
    session: SessionState, program: Program, arguments: list[Argument]
) -> tuple[list[Any], list[tuple[int, Callable[[Any], None]]]]:
    """The values of the parameters, and where those of OUTPUT parameters go back to."""
    values: list[Any] = [None] * len(program.parameters)
    bound = match(program, arguments)
    outputs: list[tuple[int, Callable[[Any], None]]] = []
    for slot, parameter in enumerate(program.parameters):
        argument = bound[slot]
        if argument is None or argument.default:
            if parameter.table_type is not None:
                continue
            if parameter.default is None:
                number = 201 if program.object_id else 8178
                first = program.name if program.object_id else program.source.text
                raise SqlError(number, first, parameter.name, state=4)
            values[slot] = parameter.default(session)
            continue
        if parameter.table_type is not None or argument.table:
            refuse_unlike(parameter, argument)
        if parameter.table_type is not None:
            values[slot] = table_argument(session, parameter, argument)
            continue
        if parameter.cursor:
            if argument.output and argument.set is not None:
                outputs.append((slot, argument.set))
            continue
        change = argument.type and argument_conversion(argument.type, parameter.type)
        values[slot] = argument.value
        if change and argument.value is not None:
            values[slot] = change(argument.value)
        if argument.output:
            if not parameter.output:
                raise SqlError(8162, parameter.name, state=2)
            outputs.append((slot, output_setter(parameter.type, argument)))
    return values, outputs


def output_setter(type_: SqlType, argument: Argument) -> Callable[[Any], None]:
    """Hands a parameter's final value back, converted to the caller's type."""
    target, give = argument.type, argument.set

    def hand_back(value: Any) -> None:
        assert give is not None  # it is an OUTPUT argument
        give(converted(value, type_, target) if target else value)

    return hand_back


def refuse_unlike(parameter: ParameterInfo, argument: Argument) -> None:
    """206: a table parameter takes a variable of its own type, another parameter no table.

    What a driver sends for one says its type itself, and NULL for an empty table.
    """
    wanted = parameter.table_type
    given = argument.table
    if not given and (argument.type is None or hasattr(argument.value, "rows")):
        return
    expected = parameter.type.name if wanted is None else wanted.name
    if given != expected:
        shown = given or ("NULL" if argument.value is None else str(argument.type).split("(")[0])
        raise SqlError(206, shown, expected, state=2)


def table_argument(session: SessionState, parameter: ParameterInfo, argument: Argument) -> Any:
    """A table-valued parameter: the caller's own table (READONLY), or rows from the wire."""
    value = argument.value
    if value is None or not hasattr(value, "rows") or hasattr(value, "journal"):
        return value
    return parameter.table_type.from_rows(session, value)


def match(program: Program, arguments: list[Argument]) -> list[Argument | None]:
    """Which argument belongs to which parameter.

    8146 or 8144 for too many, whatever their names; 8145 unknown name, 8143 a parameter twice.
    """
    bound: list[Argument | None] = [None] * len(program.parameters)
    if len(arguments) > len(bound):
        raise SqlError(8144 if bound else 8146, program.name, state=2, aborts=BATCH)
    for position, argument in enumerate(arguments):
        if argument.name:
            slot = program.parameter_slot(argument.name)
            if slot is None:
                raise SqlError(8145, argument.name, program.name, state=2)
        else:
            slot = position
        if bound[slot] is not None:
            raise SqlError(8143, argument.name)
        bound[slot] = argument
    return bound


def module_principal(procedure: Module, database: Database, session: SessionState) -> Any:
    """Whom a module runs as: None for its caller, else the principal of its EXECUTE AS clause."""
    if procedure.execute_as is None:
        return None
    number = procedure.execute_as
    if number == OWNER:
        number = database.owner_of(procedure)
    principal = database.principal(number)
    if not impersonation.usable(database, principal):
        raise SqlError(15517, principal.name if principal is not None else number)
    return principal
