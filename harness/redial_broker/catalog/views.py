"""How a system view is declared: columns with a coverage mark each, and a function for its rows.

A declaration has one column per line: ``name type`` for one that is computed from live state (a
``?`` behind the type: it may be NULL), ``name type = value`` for one that is the same constant in
every row, ``- name type`` for one that real servers have and the embedded broker refuses (it is not
in the view, so naming it gives error 207). ``coverage.py`` prints tables from these declarations.
"""

from __future__ import annotations

import ast as python_ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from redial_broker.engine.differences import differs
from redial_broker.engine.types import MAX, SYSNAME, ResultColumn, SqlType
from redial_broker.exec.conversion import type_by_name
from redial_broker.exec.objects import SYSTEM_VIEWS, VirtualTable

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

    Rows = Callable[[Any, Any], Iterable[RowValues]]

differs(
    "constant columns of system views",
    "Where nothing here can make a column vary it has one value in every row; the list "
    "of system views below marks such columns.",
)

COMPUTED, CONSTANT, REFUSED_COLUMN = "computed", "constant", "refused"
VIEW_SERVER_STATE = "VIEW SERVER STATE"


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """One line of a declaration."""

    name: str
    type: SqlType
    nullable: bool
    mark: str
    """Computed, constant or refused."""
    value: Any = None


@dataclass(frozen=True, slots=True)
class DeclaredView:
    """One system view as declared."""

    schema: str
    name: str
    columns: tuple[DeclaredColumn, ...]
    permission: str | None


DECLARED: dict[str, DeclaredView] = {}
"""schema.name -> declaration, in the order they were made."""


def view(
    name: str,
    declaration: str,
    permission: str | None = None,
    by: dict[str, Callable[[Any, Any, Any], Iterable[RowValues]]] | None = None,
    settle: Callable[[Any, Any], None] | None = None,
    broker_names: tuple[str, ...] = (),
) -> Callable[[Rows], Rows]:
    """Declare a system view; the decorated function (session, database) yields computed columns.

    by: column name -> function (session, database, value) that yields only the rows with that
    value, for views that are read by key while they are long. settle: (session, database), waits
    for uncommitted work before a plain read. broker_names: see ``VirtualTable``.
    """
    schema, _, own = name.partition(".")
    columns = tuple(parse_column(line) for line in declaration.strip().splitlines())
    DECLARED[name] = DeclaredView(schema, own, columns, permission)
    shown = [column for column in columns if column.mark != REFUSED_COLUMN]
    constants = tuple(column.value for column in shown if column.mark != COMPUTED)
    computed, arranged = len(shown) - len(constants), _arrangement(shown)

    def register(rows: Rows) -> Rows:
        def filled(given: Iterable[RowValues]) -> list[RowValues]:
            if not constants:
                return list(given)
            found = []
            for values in given:
                if len(values) != computed:
                    raise ValueError(f"{name}: {len(values)} values for {computed} columns")
                found.append(arranged(values + constants))
            return found

        def compute(session: SessionState, database: Database) -> list[RowValues]:
            return filled(rows(session, database))

        def searched(find: Callable[[Any, Any, Any], Iterable[RowValues]]) -> Any:
            return lambda session, database, value: filled(find(session, database, value))

        results = [ResultColumn(c.name, c.type, c.nullable) for c in shown]
        SYSTEM_VIEWS[(schema.lower(), own.lower())] = VirtualTable(
            own,
            schema,
            results,
            compute,
            system_id(name),
            permission,
            lookups={column: searched(find) for column, find in (by or {}).items()},
            settle=settle,
            broker_names=frozenset(broker_names),
        )
        return rows

    return register


def _arrangement(shown: list[DeclaredColumn]) -> Callable[[RowValues], RowValues]:
    """Puts the computed values and the constants behind them into the columns' order."""
    stable = sorted(range(len(shown)), key=lambda i: shown[i].mark != COMPUTED)
    places = sorted(range(len(shown)), key=stable.__getitem__)
    return itemgetter(*places) if len(places) > 1 else tuple


def alias(name: str, target: str) -> None:
    """Another name for a declared view (INFORMATION_SCHEMA is not one; sysdatabases would be)."""
    schema, _, own = name.partition(".")
    other, _, real = target.partition(".")
    found = SYSTEM_VIEWS[(other.lower(), real.lower())]
    SYSTEM_VIEWS[(schema.lower(), own.lower())] = VirtualTable(
        own, schema, found.columns, found.compute, system_id(name), found.permission
    )
    DECLARED[name] = DECLARED[target]


def system_id(name: str) -> int:
    """Object id of a system object: negative, the same in every run."""
    return (
        -(
            int.from_bytes(blake2b(name.lower().encode(), digest_size=4).digest(), "big")
            % 0x3FFFFFFF
        )
        - 1
    )


def parse_column(line: str) -> DeclaredColumn:
    """One line of a declaration."""
    text, _, value = line.partition("=")
    words = text.split()
    refused = words[0] == "-"
    if refused:
        words = words[1:]
    name, type_text = words[0], "".join(words[1:])
    nullable = type_text.endswith("?")
    mark = REFUSED_COLUMN if refused else CONSTANT if value else COMPUTED
    constant = python_ast.literal_eval(value.strip()) if value else None
    if mark == CONSTANT and constant is None:
        nullable = True
    return DeclaredColumn(name, parse_type(type_text.rstrip("?")), nullable, mark, constant)


def parse_type(text: str) -> SqlType:
    """A type as declarations write it."""
    if text == "sysname":
        return SYSNAME
    name, _, arguments = text.partition("(")
    numbers = [
        MAX if part == "max" else int(part) for part in arguments.rstrip(")").split(",") if part
    ]
    if name in {"decimal", "numeric"}:
        return type_by_name(name, 0, *numbers)
    if name in {"datetime2", "time", "datetimeoffset"}:
        return type_by_name(name, 0, 0, numbers[0] if numbers else 7)
    return type_by_name(name, *numbers)
