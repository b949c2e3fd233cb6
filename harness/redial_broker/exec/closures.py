"""How compiled code is written in types: what a closure is given, and what it gives.

Types alone: nothing of it is there when the broker runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

    Values = list[Any]
    """Local values of a frame, by slot. Any: each variable has a type of its own."""

    Fn = Callable[[SessionState, Values, RowValues], Any]
    """An expression: its value for the current row."""

    Test = Callable[[SessionState, Values, RowValues], bool | None]
    """A predicate; None is UNKNOWN."""

    Value = Callable[[SessionState, Values], Any]
    """An expression where there is no row."""

    Rows = Callable[[SessionState, Values, RowValues], list[RowValues]]
    """A query: its rows. A correlated one reads the row of the query around it."""

    Projection = Callable[[SessionState, Values, RowValues], RowValues]
    """A row made of another."""

    Limit = Callable[[SessionState, Values, RowValues, int], int]
    """TOP and its kin: how many are wanted of as many rows, the last argument."""

    Windowed = Callable[[SessionState, Values, list[RowValues], list[Any]], list[Any]]
    """A function with OVER: of the ordered rows of a partition and their order keys, a value each."""

    Convert = Callable[[Any], Any]
    """A value of one type as one of another. Any: a value of a column of any type, None for NULL."""
