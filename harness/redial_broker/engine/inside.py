"""Inside a statement: where others may come in between two of its accesses, and what it has read so far.

The explorer leaves a statement before each access but its first: a lock it asks for, a row it reads. Its
changes are undone and its locks stay, and it is run again from its beginning, as one that has waited is.
What it read, and the ids it drew, it is then given again: they stand in ``seen``. On a server that is
not searched every statement is run in one go (``ATOMIC``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redial_broker.engine.differences import differs

if TYPE_CHECKING:
    from typing import Any, Protocol, TypeVar

    _T = TypeVar("_T")

    class Reader(Protocol):
        """What this needs of a session (``exec.session.SessionState``)."""

        acted: int
        """ATOMIC to ACTED."""
        seen: tuple[tuple[Any, Any], ...]
        """What the running statement has read: whose, and what it was. Any: a row, a key, many rows."""
        seen_again: int
        """How much of it it was given again since it began anew."""


differs(
    "dirty reads of a statement under way",
    "NOLOCK sees the changes of statements that are over. Those of one that waits are undone until it "
    "goes on; its locks stay, so everybody else sees what a server shows.",
)

ATOMIC, FRESH, INSIDE, ACTED = range(4)
"""Of a session in a step: its statements are run in one go; it has accessed nothing yet; it does so now;
it has."""


class Left(Exception):
    """The running statement is left here: it is run again, and goes on, in a later step."""


def once(reader: Reader, whose: Any, access: Callable[..., _T], *arguments: Any) -> _T:
    """An access that others may precede: run in a step of its own, and not again.

    whose: names what is read; a statement run again must come to the same. Raises Left before it, and
    what ``access`` raises: it is then not over.
    """
    acted = reader.acted
    if acted == ATOMIC:
        return access(*arguments)
    if reader.seen_again < len(reader.seen):
        known: _T = _again(reader, whose)
        return known
    if acted == ACTED:
        raise Left
    if acted == FRESH:
        reader.acted = INSIDE
    try:
        found = access(*arguments)
    finally:
        if acted == FRESH:
            reader.acted = ACTED
    _note(reader, whose, found)
    return found


def noted(reader: Reader, whose: Any, make: Callable[..., _T], *arguments: Any) -> _T:
    """What the statement draws, or does to itself: nobody need come before it, and it is done once."""
    if reader.acted == ATOMIC:
        return make(*arguments)
    if reader.seen_again < len(reader.seen):
        known: _T = _again(reader, whose)
        return known
    made = make(*arguments)
    _note(reader, whose, made)
    return made


def asks(reader: Reader) -> None:
    """It asks for a lock that it does not have. Raises Left where that is a step of its own."""
    if reader.acted == ACTED:
        raise Left
    if reader.acted == FRESH:
        reader.acted = ACTED


def check_all_read(reader: Reader) -> None:
    """Raise RuntimeError when a statement has come to its end by another way than it began."""
    if reader.seen_again < len(reader.seen):
        name, _ = reader.seen[reader.seen_again]
        raise RuntimeError(
            f"a statement that is run again does not read {name!r}, which it has read"
        )


def _note(reader: Reader, whose: Any, found: Any) -> None:
    reader.seen = (*reader.seen, (whose, found))
    reader.seen_again += 1


def _again(reader: Reader, whose: Any) -> Any:
    """What it was given here before. Any: whatever that was. Raises RuntimeError when it asks for another."""
    name, found = reader.seen[reader.seen_again]
    if name != whose:
        raise RuntimeError(
            f"a statement that is run again reads {whose!r} where it has read {name!r}: was a view or "
            "function altered meanwhile? A search with statements_atomic does without"
        )
    reader.seen_again += 1
    return found
