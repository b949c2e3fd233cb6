"""What the engine needs of rooms above it, and how rows, keys and locks are written in types.

Types alone: nothing of it is there when the broker runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Protocol, TypeVar

    from redial_broker.engine.errors import SqlError
    from redial_broker.engine.kernel import Engine
    from redial_broker.engine.locks import LockWait

    RowValues = tuple[Any, ...]
    """A row. Any: a column holds a value of its own type, None for NULL."""

    IndexKey = tuple[Any, ...]
    """Parts of a key in the order of its columns (``keys.key_part``), a row's id behind them."""

    Edge = tuple[Any, bool]
    """Where a range of keys begins or ends: a part of a key, and whether it is in the range."""

    LockKey = tuple[Any, ...]
    """What is locked: its kind, then what tells it from others of that kind (see ``locks``)."""

    _K = TypeVar("_K")
    _V = TypeVar("_V")

    class Ordered(dict[_K, _V]):
        """``sortedcontainers.SortedDict``, which says nothing of types itself."""

        def irange(
            self,
            minimum: _K | None = None,
            maximum: _K | None = None,
            inclusive: tuple[bool, bool] = (True, True),
            reverse: bool = False,
        ) -> Iterator[_K]:
            """Keys between two, in order."""

    class Owner(Protocol):
        """What transactions and locks need of a session (``exec.session.SessionState``)."""

        engine: Engine
        id: int
        """Decides nothing, names it in reports and hashes."""
        asked: LockKey | None
        """The key whose lock its statement has asked for and not been given at once."""
        acted: int
        seen: tuple[tuple[Any, Any], ...]
        seen_again: int
        """acted, seen, seen_again: see ``inside``."""
        expired: Any
        """An executor's flag, or the number of the error that a quiet wait ended with."""

        @property
        def isolation(self) -> str:
            """The level in force, lower-case words."""

        @property
        def lock_timeout(self) -> int:
            """LOCK_TIMEOUT in milliseconds, -1 for ever."""

        @property
        def deadlock_priority(self) -> int:
            """-10 to 10."""

        @property
        def wait(self) -> LockWait:
            """What it waits for; None for nothing. ``kind`` tells a lock from what is none."""

        def begin_wait(self, record: LockWait, /) -> None:
            """It waits from now on."""

        def end_wait(self) -> None:
            """It waits no longer; ``wake`` or ``interrupt`` makes it run."""

        def wake(self) -> None:
            """It can go on."""

        def interrupt(self, error: SqlError, /) -> None:
            """Its statement fails with ``error`` instead of going on."""

        def time_out(self) -> None:
            """Its timer "wait" is due."""

    class Home(Protocol):
        """What storage needs of a database (``exec.database.Database``)."""

        id: int
        name: str

        @property
        def options(self) -> Mapping[str, Any]:
            """Options by name, each of a type of its own; ``snapshot`` and ``rcsi`` are read."""
