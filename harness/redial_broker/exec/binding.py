"""EXEC of a procedure, prepared: what a call found last time is used while it still holds.

A call by a schema-qualified name means the same procedure, parameters, conversions and principal as
long as neither definitions nor permissions of the database have changed (``schema_version`` moves
with both, and comes back with a rollback or a rewind). Whatever is not plain (table and cursor
parameters, wrong arguments, another database, a definition somebody is changing) goes the long way
of ``execute.call_named``, which also raises every error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import SqlType
from redial_broker.exec.calls import of_call
from redial_broker.exec.objects import Procedure
from redial_broker.exec.program import SWITCH, Program

if TYPE_CHECKING:
    from redial_broker.exec.closures import Convert, Fn, Value, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState


class Plain(NamedTuple):
    """An argument that is a value."""

    name: str
    evaluate: Fn
    type: SqlType | None
    slot: int | None
    """Of the caller's variable an OUTPUT value goes back to."""


class Prepared(NamedTuple):
    """A call of one procedure under one version of the schema."""

    database: Database
    version: int
    procedure: Procedure
    program: Program
    user: Any
    makers: list[Value]
    """The parameters' values from the caller's frame."""
    outputs: list[tuple[int, int, Callable[[Any], Any] | None]]
    """(parameter's slot, caller's slot, conversion or None)."""


def cacheable(name: ast.ObjectName | None) -> bool:
    """Whether a name means the same for everybody in a database: schema and name, nothing else."""
    return (
        name is not None
        and name.schema is not None
        and name.database is None
        and not name.name.startswith("#")
    )


def plain_arguments(node: ast.ExecuteProcedure, context: Context) -> list[Plain] | None:
    """The arguments of a call as values; None when one is DEFAULT, a table or a cursor."""
    found = []
    for part in node.arguments:
        given, slot = part.value, None
        if isinstance(given, ast.DefaultValue):
            return None
        value = (
            context.expression(given)
            if not isinstance(given, ast.Variable) or _is_value(given, context)
            else None
        )
        if value is None:
            return None
        type_ = value.type
        if part.output:
            slot, type_ = context.scope.variables[cast("ast.Variable", given).name.lower()]
        found.append(Plain(part.name or "", value.fn, type_, slot))
    return found


def _is_value(given: ast.Variable, context: Context) -> bool:
    """Whether a variable holds a value: not a table, not a cursor."""
    lowered = given.name.lower()
    return lowered.startswith("@@") or (
        lowered not in context.table_variables
        and context.scope.variables.get(lowered, (None, None))[1] is not None
    )


def after(
    session: SessionState,
    name: ast.ObjectName,
    arguments: list[Plain],
    conversion: Callable[[SqlType, SqlType], Convert | None],
    principal_of: Callable[..., Any],
) -> Prepared | None:
    """What the next call may use of this one, whose frame has just been pushed."""
    schema = cast("str", name.schema)  # ``cacheable`` has seen to it
    found = session.database.objects.get((schema.lower(), name.name.lower()))
    if not isinstance(found, Procedure) or session.frames[-1].program is not found.program:
        return None
    try:
        return prepare(
            session, found, arguments, conversion, principal_of(found, session.database, session)
        )
    except SqlError:  # a forbidden pair of types is an error only of a value that is not NULL
        return None


def prepare(
    session: SessionState,
    procedure: Any,
    arguments: list[Plain],
    conversion: Callable[[SqlType, SqlType], Convert | None],
    user: Any,
) -> Prepared | None:
    """The prepared call; None where the long way must be gone each time."""
    program = procedure.program
    if (
        not isinstance(procedure, Procedure)
        or program is None
        or procedure.database is not session.database
        or (user is not None and user.login)
    ):
        return None
    bound: list[Plain | None] = [None] * len(program.parameters)
    for position, given in enumerate(arguments):
        place = program.parameter_slot(given.name) if given.name else position
        if place is None or place >= len(bound):
            return None
        bound[place] = given
    makers: list[Value] = []
    outputs = []
    for slot, (parameter, argument) in enumerate(zip(program.parameters, bound)):
        if parameter.table_type is not None or parameter.cursor:
            return None
        if argument is None:
            if parameter.default is None:
                return None
            makers.append(_default(parameter.default))
            continue
        makers.append(_maker(argument, _between(argument.type, parameter.type, conversion)))
        if argument.slot is not None:
            if not parameter.output:
                return None
            outputs.append(
                (slot, argument.slot, _between(parameter.type, argument.type, conversion))
            )
    return Prepared(
        session.database, session.database.schema_version, procedure, program, user, makers, outputs
    )


def _between(
    source: SqlType | None,
    target: SqlType | None,
    conversion: Callable[[SqlType, SqlType], Convert | None],
) -> Convert | None:
    if source is None or target is None or source is target:
        return None
    return conversion(source, target)


def _default(default: Callable[[Any], Any]) -> Value:
    return lambda session, variables: default(session)


def _maker(argument: Plain, change: Callable[[Any], Any] | None) -> Value:
    evaluate = argument.evaluate
    if change is None:
        return lambda session, variables: evaluate(session, variables, ())

    def make(session: SessionState, variables: Values) -> Any:
        value = evaluate(session, variables, ())
        return None if value is None else change(value)

    return make


def holds(known: Prepared, session: SessionState) -> bool:
    """Whether the prepared call still means what the long way would find."""
    database = session.database
    return (
        known.version == database.schema_version
        and known.database is database
        and not database.changing
        and not session.auto
        and not session.options.fmtonly
    )


def call(
    session: SessionState,
    variables: Values,
    known: Prepared,
    on_return: Callable[[Any, int], None] | None,
) -> int:
    """Push the frame of a prepared call."""
    session.check_permission("EXECUTE", known.procedure)
    try:
        values = [make(session, variables) for make in known.makers]
    except SqlError as error:
        raise of_call(error, known.program.name) from None
    frame = session.instance.machine.call(
        session, known.program, values, next_pc=session.frames[-1].pc + 1, user=known.user
    )
    if known.outputs:
        frame.outputs = [
            (slot, _setter(variables, target, change)) for slot, target, change in known.outputs
        ]
    frame.on_return = on_return
    return SWITCH


def _setter(
    variables: Values, target: int, change: Callable[[Any], Any] | None
) -> Callable[[Any], None]:
    def give(value: Any) -> None:
        variables[target] = value if value is None or change is None else change(value)

    return give
