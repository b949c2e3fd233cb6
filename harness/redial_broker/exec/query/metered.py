"""Loops over many rows that tell the meter how far they are."""

from __future__ import annotations

from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from redial_broker.engine.errors import SqlError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.session import SessionState

    _T = TypeVar("_T")

PIECE = 1024
"""Rows between two reports; fewer are not reported at all: whoever read them has done so."""

_RUN = 65536
"""Rows that are sorted in one go."""

_POINTER_BYTES = 24
"""What a row that is held already adds to a list of rows in order."""


def made(
    session: SessionState,
    variables: Values,
    rows: Sequence[RowValues],
    project: Callable[[SessionState, Values, RowValues], _T],
) -> list[_T]:
    """What is made of each row. An error takes along what was made before it (F-533)."""
    if len(rows) <= PIECE:
        try:
            return [project(session, variables, row) for row in rows]
        except SqlError as error:
            error.partial = (project, before(session, variables, rows, project))
            raise
    found: list[_T] = []
    meter = session.engine.meter
    for at in range(0, len(rows), PIECE):
        found += [project(session, variables, row) for row in rows[at : at + PIECE]]
        meter.tick(PIECE, found)
    return found


def before(
    session: SessionState,
    variables: Values,
    rows: Sequence[RowValues],
    project: Callable[[SessionState, Values, RowValues], _T],
) -> list[_T]:
    """What is made of the rows in front of the one that fails."""
    found: list[_T] = []
    try:
        for row in rows:
            found.append(project(session, variables, row))
    except SqlError:
        pass
    return found


def kept(
    session: SessionState, variables: Values, rows: list[RowValues], test: Fn
) -> list[RowValues]:
    """The rows that pass."""
    if len(rows) <= PIECE:
        return [row for row in rows if test(session, variables, row)]
    found: list[RowValues] = []
    meter = session.engine.meter
    for at in range(0, len(rows), PIECE):
        found += [row for row in rows[at : at + PIECE] if test(session, variables, row)]
        meter.tick(PIECE, found)
    return found


def in_order(
    session: SessionState, rows: list[_T], key: Callable[[_T], Any], *, descending: bool
) -> list[_T]:
    """Sorted by a key; equal ones keep their order, in both directions."""
    if len(rows) <= PIECE:
        return sorted(rows, key=key, reverse=descending)
    meter = session.engine.meter
    runs: list[list[tuple[Any, _T]]] = []
    keyed: list[tuple[Any, _T]] = []
    first = itemgetter(0)
    for at in range(0, len(rows), PIECE):
        keyed += [(key(row), row) for row in rows[at : at + PIECE]]
        meter.tick(PIECE)
        if len(keyed) >= _RUN or at + PIECE >= len(rows):
            keyed.sort(key=first, reverse=descending)
            runs.append(keyed)
            keyed = []
    if len(runs) == 1:
        return [row for _, row in runs[0]]
    found: list[_T] = []
    for count, (_, row) in enumerate(merge(*runs, key=first, reverse=descending)):
        found.append(row)
        if not count % PIECE:
            meter.tick(PIECE, found, _POINTER_BYTES)
    return found
