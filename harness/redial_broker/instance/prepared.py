"""Handles of prepared statements, shared by the prepared-statement and the cursor procedures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.types import INT
from redial_broker.exec.calls import Argument, converted

if TYPE_CHECKING:
    from redial_broker.instance.session import Session

OnReturn = Callable[[Any, int], None] | None


@definition()
@dataclass(slots=True)
class Prepared:
    """What a handle stands for: dynamic text with its definitions, or a procedure's name."""

    text: str
    definitions: str
    procedure: str = ""


def expect(arguments: list[Argument], procedure: str, *names: str) -> None:
    """Raise SqlError 201 for the first parameter that was not supplied."""
    if len(arguments) < len(names):
        raise SqlError(201, procedure, names[len(arguments)])


def handle_of(arguments: list[Argument], procedure: str) -> int:
    """The handle a call is about, 0 for NULL; 201 without one, conversion errors for no number."""
    expect(arguments, procedure, "@handle")
    first = arguments[0]
    return cast(int, converted(first.value, first.type or INT, INT) or 0)


def give_handle(session: Session, arguments: list[Argument], prepared: Prepared) -> None:
    """Give out a handle; one passed in (a re-prepare on the same cursor) is dropped first."""
    old = handle_of(arguments, "sp_prepare")
    if old:
        session.prepared.pop(old, None)
    session.last_handle += 1
    session.prepared[session.last_handle] = prepared
    if arguments[0].set is not None:
        arguments[0].set(converted(session.last_handle, INT, arguments[0].type or INT))
