"""What a session of a trace holds and waits for, with lock resources named for a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from redial_broker.catalog.deadlock_xml import find_index
from redial_broker.engine.journal import MISSING
from redial_broker.engine.keys import END_KEY, value_of
from redial_broker.instance.session import Session

if TYPE_CHECKING:
    from redial_broker.engine.needs import LockKey
    from redial_broker.engine.storage import Index, Table
    from redial_broker.exec.server import Server

QUIET = frozenset({"OBJECT", "DATABASE"})
"""Kinds of locks left out of a list: intent locks that block nobody here."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock held."""

    mode: str
    kind: str
    """KEY, CONVERSATION_GROUP ..."""
    name: str
    """Of the resource, for a reader."""

    def __str__(self) -> str:
        return f"{self.mode} {self.name}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a session waits for."""

    mode: str
    """Of the lock, "" for anything else."""
    name: str
    holders: tuple[str, ...] = ()
    """Keys of lanes."""

    def __str__(self) -> str:
        return f"{self.mode} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class Held:
    """A session's locks, and what it waits for."""

    locks: tuple[Lock, ...] = ()
    waits: Waiting | None = None

    def __str__(self) -> str:
        held = ", ".join(map(str, self.locks)) or "nothing"
        return held + (f"; waits for {self.waits}" if self.waits else "")


def held_by(session: Session, keys: dict[Session, str]) -> Held:
    """What a session holds and waits for."""
    locks: tuple[Lock, ...] = ()
    server = session.instance.server
    if session.transaction is not None:
        locks = tuple(
            Lock(mode, key[0], name_of_resource(server, key))
            for key, mode in session.transaction.locks.items()
            if key[0] not in QUIET
        )
    wait = session.wait
    if wait is None:
        return Held(locks)
    if wait.kind != "lock":
        return Held(locks, Waiting("", f"{wait.kind}"))
    holders = tuple(
        keys[t.owner]
        for t in session.instance.engine.locks.blockers(wait.request.transaction)
        if t.owner in keys
    )
    return Held(
        locks,
        Waiting(
            wait.request.mode,
            name_of_resource(server, wait.resource.key),
            tuple(dict.fromkeys(holders)),
        ),
    )


def name_of_resource(server: Server, key: LockKey) -> str:
    """A lock resource for a reader: KEY Orders.PK_Orders (51, 'a'), QUEUE q ..."""
    kind, *rest = key
    if kind == "KEY":
        _, table, index = cast("tuple[int, Table | None, Index]", find_index(server, rest[0]))
        if table is None:
            return f"KEY {rest[0]:x}"
        return f"KEY {table.name}.{index.name or 'heap'} ({_values(table, index, rest[1])})"
    if kind in {"QUEUE", "OBJECT"}:
        database = server.database_by_id(rest[0])
        found = database.object_by_id(rest[1]) if database is not None else None
        return f"{kind} {found.name if found is not None else rest[1]}"
    return f"{kind} {str(rest[-1])[:36]}"


def _values(table: Table, index: Index, key: Any) -> str:  # key: as the index has it
    """The columns of the row behind a key; what the key says of them, when the row is gone."""
    row = _at(index, key)
    if row is not None and not index.clustered:
        row = _at(table.rows, row)
    if row is not None:
        values = [row[ordinal] for ordinal in index.columns]
    elif key == END_KEY:
        return "the end"
    elif isinstance(key, tuple):
        columns = [table.columns[ordinal] for ordinal in index.columns]
        values = [value_of(column, part) for column, part in zip(columns, key, strict=False)]
    else:
        values = [key]
    return ", ".join("NULL" if value is None else str(value) for value in values)[:60]


def _at(index: Index, key: Any) -> Any:  # key: as above; a row, or the clustered key
    """What stands at an entry, or stood there before a change that is not committed."""
    found = index.entries.get(key)
    if found is None and key in index.writers:
        before = index.writers[key][1]
        found = None if before is MISSING else before
    return found
