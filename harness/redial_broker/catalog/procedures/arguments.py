"""How a system procedure declares its parameters and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.views import parse_column
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import SELECT_DONE, ResultColumn
from redial_broker.exec.objects import SYSTEM_PROCEDURES

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

REQUIRED: Any = object()
"""Default of a parameter that must be given."""


class Call:
    """The arguments of one call by parameter name, with defaults filled in."""

    def __init__(
        self, session: SessionState, values: dict[str, Any], setters: dict[str, Any]
    ) -> None:
        self.session = session
        self.values = values
        self.setters = setters

    def __getitem__(self, name: str) -> Any:
        """Value of a parameter, named without the @."""
        return self.values[name]

    def text(self, name: str) -> str | None:
        """Value of a parameter as text; numbers and blanks at the end are taken as they come."""
        value = self.values[name]
        value = getattr(value, "value", value)
        return None if value is None else str(value)

    def number(self, name: str) -> int | None:
        """Value of a parameter as a whole number. Raises SqlError 8114 for what is none."""
        value = self.values[name]
        value = getattr(value, "value", value)
        try:
            return None if value is None else int(value)
        except (TypeError, ValueError, ArithmeticError):
            raise SqlError(8114, "nvarchar", "int") from None

    def give(self, name: str, value: Any) -> None:
        """Set an OUTPUT parameter, when the caller wants it."""
        setter = self.setters.get(name)
        if setter is not None:
            setter(value)

    def answer(self, columns: list[ResultColumn], rows: Iterable[RowValues]) -> None:
        """One result set, ended like a SELECT's."""
        rows = list(rows)
        self.session.result(columns, rows)
        self.session.done(SELECT_DONE, len(rows))


Body = Callable[[Call], int | None]


def procedure(*names: str, **parameters: Any) -> Callable[[Body], Body]:
    """Register a system procedure under some names; keywords are parameters with their defaults."""
    order = list(parameters)
    lowered = {name.lower(): name for name in order}

    def register(body: Body) -> Body:
        def call(session: SessionState, arguments: list[Any]) -> int:
            values, setters = bind(names[0], session, arguments, order, lowered, parameters)
            return body(Call(session, values, setters)) or 0

        for name in names:
            SYSTEM_PROCEDURES[name] = call
        return body

    return register


def bind(
    name: str,
    session: SessionState,
    arguments: list[Any],
    order: list[str],
    lowered: dict[str, str],
    defaults: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Match arguments to parameters. Raises SqlError 8144, 8145 and 201."""
    values, setters = dict(defaults), {}
    for position, argument in enumerate(arguments):
        if argument.name:
            own = lowered.get(argument.name.lstrip("@").lower())
            if own is None:
                raise SqlError(8145, argument.name, name)
        elif position < len(order):
            own = order[position]
        else:
            raise SqlError(8144, name)
        if not argument.default:
            values[own] = argument.value
        if argument.output and argument.set is not None:
            setters[own] = argument.set
    for own, value in values.items():
        if value is REQUIRED:
            raise SqlError(201, name, f"@{own}", state=4)
    return values, setters


def result_columns(declaration: str) -> list[ResultColumn]:
    """Result columns from lines ``name type``, as views declare theirs."""
    found = [parse_column(line) for line in declaration.strip().splitlines()]
    return [ResultColumn(column.name, column.type, column.nullable) for column in found]
