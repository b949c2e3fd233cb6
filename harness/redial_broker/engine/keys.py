"""Keys of indexes: how a value is ordered inside one, and the ranges of keys that are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.engine.collation import collation_key, find_collation, guid_key, guid_of

if TYPE_CHECKING:
    from redial_broker.engine.columns import Column
    from redial_broker.engine.needs import Edge, IndexKey


class Descending:
    """A part of a key that is ordered from the greatest value to the least.

    value: whatever orders the values of one column (``key_part``), so Any.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Any) -> bool:
        return other.value < self.value if isinstance(other, Descending) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return other.value > self.value if isinstance(other, Descending) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and other.value == self.value

    def __hash__(self) -> int:
        return hash(("descending", self.value))

    def __repr__(self) -> str:
        return f"Descending({self.value!r})"


def key_part(column: Column, descending: bool = False) -> Callable[[Any], Any]:
    """How a column's value is ordered inside a key: NULL least, text by the collation, a
    uniqueidentifier by its bytes in the server's order."""
    if descending:
        ascending = key_part(column)
        return lambda value: Descending(ascending(value))
    plain: Callable[[Any], Any] = _identity
    if column.type.is_string:
        own = find_collation(column.collation) if column.collation else None
        plain = own.key if own else collation_key
    elif column.type.name == "uniqueidentifier":
        plain = guid_key
    if not column.nullable:
        return plain
    return lambda value: (0,) if value is None else (1, plain(value))


def _identity(value: Any) -> Any:
    return value


def value_of(column: Column, part: Any) -> Any:
    """A column's value by its part of a key, as far as the key tells it: of a text, what orders it."""
    if isinstance(part, Descending):
        part = part.value
    if column.nullable:
        if part == (0,):
            return None
        part = part[1]
    return guid_of(part) if column.type.name == "uniqueidentifier" else part


# ---------------------------------------------------------------------- ranges
class _Infinity:
    """Greater than every key part; its lock stands for the gap behind the last key."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "INFINITY"


INFINITY = _Infinity()
END_KEY = (INFINITY,)


def bounds(
    prefix: IndexKey, low: Edge | None, high: Edge | None
) -> tuple[IndexKey | None, IndexKey | None, tuple[bool, bool]]:
    """Start and stop keys for an ordered range. An exclusive low skips every key it prefixes."""
    start: IndexKey | None = prefix or None
    if low is not None:
        start = (*prefix, low[0]) if low[1] else (*prefix, low[0], INFINITY)
    stop: IndexKey | None = (*prefix, INFINITY) if prefix else None
    if high is not None:
        stop = (*prefix, high[0], INFINITY) if high[1] else (*prefix, high[0])
    return start, stop, (True, high is None or high[1])


def inside(key: IndexKey, prefix: IndexKey, low: Edge | None, high: Edge | None) -> bool:
    """Whether a key lies in the range that ``bounds`` gives."""
    start, stop, (_, inclusive) = bounds(prefix, low, high)
    if start is not None and key < start:
        return False
    return stop is None or key < stop or (inclusive and key == stop)
