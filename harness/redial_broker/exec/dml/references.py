"""FOREIGN KEY at run time: is there a row to refer to, does nobody refer to the row that goes.

Rules: "Primary and foreign key constraints" and CREATE TABLE pages; what is locked: F-230. The
check comes after the statement's own writes and its cascades, before its AFTER triggers. It reads
what is there, under locks, whatever row versions the session reads ("Transaction locking and row
versioning guide": a SNAPSHOT transaction that meets a newer key fails with 3960).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.errors import SqlError
from redial_broker.engine.keys import key_part
from redial_broker.engine.read_mode import ReadMode
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.versions import refuse_conflict
from redial_broker.exec.objects import Constraint

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.engine.transactions import Transaction
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

NO_ACTION, CASCADE, SET_DEFAULT = "NO ACTION", "CASCADE", "SET DEFAULT"

CASCADED = ReadMode(lock="U", hold=True, ranges=True)
"""Rows a cascade changes are found under key-range locks whatever the isolation level (F-230)."""


@dataclass(slots=True)
class Bound:
    """A FOREIGN KEY with its two tables as they are now. Ordinals in the order of its columns."""

    constraint: Constraint
    child: Table
    parent: Table
    child_ordinals: list[int]
    parent_ordinals: list[int]
    index: Index

    @property
    def same(self) -> str:
        """What the error texts add when a table refers to itself."""
        return "SAME TABLE" if self.child.object_id == self.parent.object_id else ""

    def values(self, row: RowValues) -> tuple[Any, ...] | None:
        """The key a child row refers to; None when a column of it is NULL: nothing to check."""
        found = tuple(row[i] for i in self.child_ordinals)
        return None if None in found else found

    def parent_values(self, row: RowValues) -> tuple[Any, ...]:
        """The key of a parent row."""
        return tuple(row[i] for i in self.parent_ordinals)

    def refused(self, statement: str, child_side: bool) -> SqlError:
        """Error 547 as the statement on this side reports it."""
        kind = " ".join(
            filter(None, ("FOREIGN KEY", self.same) if child_side else (self.same, "REFERENCE"))
        )
        table, ordinals = (
            (self.parent, self.parent_ordinals) if child_side else (self.child, self.child_ordinals)
        )
        column = f", column '{table.columns[ordinals[0]].name}'" if len(ordinals) == 1 else ""
        return SqlError(
            547,
            statement,
            kind,
            self.constraint.name,
            table.database.name,
            table.full_name,
            column,
            state=0,
        )


def bind(database: Database, constraint: Constraint, known: dict[int, Table]) -> Bound:
    """A FOREIGN KEY with its tables. known: tables by id that stand for those of the database."""
    foreign = constraint.reference
    child = known.get(constraint.parent_id) or database.object_by_id(constraint.parent_id)
    parent = known.get(foreign.referenced_id) or database.object_by_id(foreign.referenced_id)
    index = next(
        i for i in (parent.rows, *parent.indexes) if i.name.lower() == foreign.index.lower()
    )
    return Bound(
        constraint,
        child,
        parent,
        [child.ordinals[name.lower()] for name in foreign.columns],
        [parent.ordinals[name.lower()] for name in foreign.referenced],
        index,
    )


def foreign_keys(table: Table) -> tuple[list[Constraint], list[Constraint]]:
    """(constraints of this table, constraints that refer to it), disabled ones included."""
    database = cast("Database | None", table.database)
    if database is None or table.temporary:
        return [], []
    found = [
        o for o in database.objects.values() if isinstance(o, Constraint) and o.foreign is not None
    ]
    found.sort(key=lambda item: item.object_id)
    return (
        [c for c in found if c.parent_id == table.object_id],
        [c for c in found if c.reference.referenced_id == table.object_id],
    )


# ---------------------------------------------------------------------- looking
def check_mode(session: SessionState) -> ReadMode:
    """How a check reads: shared locks, held as long as the isolation level says."""
    return ReadMode(
        lock="S",
        hold=session.isolation in {"repeatable read", "serializable"},
        ranges=session.isolation == "serializable",
    )


def has_parent(
    session: SessionState, transaction: Transaction, bound: Bound, values: tuple[Any, ...]
) -> bool:
    """Whether the key is there: IS on the table, S on the key. Raises Wait, SqlError 3960."""
    access = session.engine.access
    access.lock_table(transaction, bound.parent, "IS")
    prefix = key_of(bound, values)
    found = access.read(
        transaction, bound.index, check_mode(session), prefix=prefix, covered=True, limit=1
    )
    if session.isolation == "snapshot":
        refuse_conflict(transaction, bound.index, prefix)
    return bool(found)


def key_of(bound: Bound, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values in the constraint's order as a key of the referenced index."""
    by_ordinal = dict(zip(bound.parent_ordinals, values))
    return bound.index.normalize([by_ordinal[i] for i in bound.index.columns])


def children(
    session: SessionState,
    transaction: Transaction,
    bound: Bound,
    values: tuple[Any, ...],
    mode: ReadMode,
    *,
    limit: int | None = None,
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Child rows that refer to a key, as (clustered key, row), through the best index there is."""
    access, child = session.engine.access, bound.child
    access.lock_table(transaction, child, "IS" if mode.lock == "S" else "IX")
    wanted = dict(zip(bound.child_ordinals, values))
    index, width = search(child, set(wanted))
    prefix = index.normalize([wanted[i] for i in index.columns[:width]])
    tests = [(i, key_part(child.columns[i])) for i in wanted if i not in index.columns[:width]]
    keys = {i: part(wanted[i]) for i, part in tests}

    def accept(row: RowValues) -> bool:
        return all(part(row[i]) == keys[i] for i, part in tests)

    return access.read(
        transaction, index, mode, accept if tests else None, prefix=prefix, limit=limit
    )


def search(table: Table, ordinals: set[int]) -> tuple[Index, int]:
    """(index, leading columns among these ordinals): the most, the clustered one at a tie."""
    best, width = table.rows, 0
    for index in (table.rows, *table.indexes):
        leading = 0
        while leading < len(index.columns) and index.columns[leading] in ordinals:
            leading += 1
        if leading > width and index.where is None:
            best, width = index, leading
    return best, width


# ---------------------------------------------------------------------- one statement
@dataclass(slots=True)
class Effect:
    """What a cascade did to a table, for its triggers."""

    table: Table
    event: str
    inserted: list[RowValues]
    deleted: list[RowValues]
    ordinals: frozenset[int]
    """Of the columns changed."""


class References:
    """The FOREIGN KEYs a compiled statement has to do with; bound to the tables of its compilation.

    change: (s, table, row, {ordinal: value}) -> the new row of an UPDATE, checked (injected: the
    rows of a cascade are made like those of any UPDATE).
    """

    def __init__(
        self,
        table: Table,
        statement: str,
        ordinals: set[int] | None,
        change: Callable[..., RowValues],
    ) -> None:
        self.statement = statement  # as error texts name it
        self.table = table
        self.ordinals = ordinals
        self.change = change
        outgoing, incoming = foreign_keys(table)
        self.outgoing = self._bound(outgoing, lambda b: b.child_ordinals)
        self.incoming = self._bound(incoming, lambda b: b.parent_ordinals)

    def _bound(self, found: list[Constraint], side: Callable[[Bound], list[int]]) -> list[Bound]:
        known = {self.table.object_id: self.table}
        database = cast("Database", self.table.database)
        bounds = [bind(database, c, known) for c in found if not c.disabled]
        if self.ordinals is None:
            return bounds
        return [b for b in bounds if self.ordinals & set(side(b))]

    def inserted(
        self, session: SessionState, transaction: Transaction, rows: list[RowValues]
    ) -> None:
        """After an INSERT. Raises SqlError 547 and what waiting raises."""
        for bound in self.outgoing:
            self._refer(session, transaction, bound, rows)

    def deleted(
        self, session: SessionState, transaction: Transaction, rows: list[RowValues]
    ) -> list[Effect]:
        """After a DELETE: cascades, then what may not be. Returns what cascades did."""
        work = Work(session, transaction, self)
        work.removed(self.table, self.incoming, rows)
        work.finish()
        return work.effects

    def updated(
        self,
        session: SessionState,
        transaction: Transaction,
        pairs: list[tuple[tuple[Any, ...], tuple[Any, ...]]],
    ) -> list[Effect]:
        """After an UPDATE. pairs: (old row, new row)."""
        work = Work(session, transaction, self)
        work.moved(self.table, self.incoming, pairs)
        work.finish()
        for bound in self.outgoing:
            self._refer(session, transaction, bound, [new for _, new in pairs])
        return work.effects

    def _refer(
        self, session: SessionState, transaction: Transaction, bound: Bound, rows: list[RowValues]
    ) -> None:
        seen: set[tuple[Any, ...]] = set()
        for row in rows:
            values = bound.values(row)
            if values is None or values in seen:
                continue
            seen.add(values)
            if not has_parent(session, transaction, bound, values):
                raise bound.refused(self.statement, True)


class Work:
    """The cascades of one statement, then the checks that had to wait for them."""

    def __init__(
        self, session: SessionState, transaction: Transaction, references: References
    ) -> None:
        self.session, self.transaction, self.references = session, transaction, references
        self.effects: list[Effect] = []
        self.checks: list[tuple[Bound, tuple[Any, ...]]] = []
        self.defaults: list[tuple[Bound, tuple[Any, ...]]] = []

    def removed(self, table: Table, incoming: list[Bound], rows: list[RowValues]) -> None:
        """Rows of a table are gone: what becomes of those that refer to them."""
        for bound in incoming:
            action = bound.constraint.reference.on_delete
            keys = [bound.parent_values(row) for row in rows]
            if action == NO_ACTION:
                self.checks += [(bound, values) for values in keys if None not in values]
                continue
            found = [
                item
                for values in keys
                if None not in values
                for item in self._children(bound, values)
            ]
            if action == CASCADE:
                self._delete(bound.child, found)
            else:
                self._set(bound, [(key, row, None) for key, row in found], action)

    def moved(self, table: Table, incoming: list[Bound], pairs: list[RowValues]) -> None:
        """Keys of a table have changed: what becomes of those that refer to the old ones."""
        for bound in incoming:
            action = bound.constraint.reference.on_update
            changed = [
                (old, new)
                for old, new in ((bound.parent_values(a), bound.parent_values(b)) for a, b in pairs)
                if old != new and None not in old
            ]
            if action == NO_ACTION:
                self.checks += [(bound, old) for old, _ in changed]
                continue
            found = [
                (key, row, new) for old, new in changed for key, row in self._children(bound, old)
            ]
            self._set(bound, found, action)

    def finish(self) -> None:
        """Nobody may still refer to a key that is gone. Raises SqlError 547."""
        session, transaction, statement = self.session, self.transaction, self.references.statement
        for bound, values in self.defaults:
            if not has_parent(session, transaction, bound, values):
                raise bound.refused(statement, True)
        for bound, values in self.checks:
            if key_of(bound, values) in bound.index.entries:
                continue  # another row has taken the key over
            if children(session, transaction, bound, values, check_mode(session), limit=1):
                raise bound.refused(statement, False)

    # ------------------------------------------------------------------ cascades
    def _children(
        self, bound: Bound, values: tuple[Any, ...]
    ) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        return children(self.session, self.transaction, bound, values, CASCADED)

    def _incoming(self, table: Table, ordinals: set[int] | None) -> list[Bound]:
        return References(
            table, self.references.statement, ordinals, self.references.change
        ).incoming

    def _delete(self, table: Table, found: list[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> None:
        if not found:
            return
        for key, _ in found:
            self.session.engine.access.delete(self.transaction, table, key)
        rows = [row for _, row in found]
        self.effects.append(Effect(table, "DELETE", [], rows, frozenset()))
        self.removed(table, self._incoming(table, None), rows)

    def _set(self, bound: Bound, found: list[RowValues], action: str) -> None:
        """Give the columns of a FOREIGN KEY their new values. found: (key, row, new key or None)."""
        if not found:
            return
        table, ordinals = bound.child, bound.child_ordinals
        pairs: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
        for key, row, new in found:
            values = self._new_values(bound, action, new)
            made = self.references.change(self.session, table, row, dict(zip(ordinals, values)))
            self.session.engine.access.update(self.transaction, table, key, made)
            pairs.append((row, made))
            if action == SET_DEFAULT and None not in values:
                self.defaults.append((bound, tuple(values)))
        changed = frozenset(ordinals)
        self.effects.append(
            Effect(table, "UPDATE", [new for _, new in pairs], [old for old, _ in pairs], changed)
        )
        self._other_parents(bound, pairs, changed)
        self.moved(table, self._incoming(table, set(changed)), pairs)

    def _other_parents(self, bound: Bound, pairs: list[RowValues], changed: frozenset[int]) -> None:
        """Columns a cascade has changed may belong to another FOREIGN KEY of the child too."""
        for constraint in foreign_keys(bound.child)[0]:
            if constraint.disabled or constraint.object_id == bound.constraint.object_id:
                continue
            other = bind(cast("Database", bound.child.database), constraint, {})
            if changed & set(other.child_ordinals):
                self.defaults += [
                    (other, values) for _, new in pairs if (values := other.values(new)) is not None
                ]

    def _new_values(self, bound: Bound, action: str, new: RowValues | None) -> list[Any]:
        if action == CASCADE:
            return list(new or ())
        columns = [bound.child.columns[i] for i in bound.child_ordinals]
        if action == SET_DEFAULT:
            return [c.default(self.session) if c.default is not None else None for c in columns]
        return [None] * len(columns)


def references(
    table: Table,
    statement: str,
    ordinals: set[int] | None,
    change: Callable[..., RowValues],
    named: str = "",
) -> References | None:
    """What a statement on ``table`` must look after; None when nothing.

    statement: INSERT, UPDATE or DELETE. ordinals: the columns an UPDATE assigns to, else None.
    named: what error texts call the statement where that is not its kind (MERGE).
    """
    if table.database is None or table.temporary:
        return None
    found = References(table, named or statement, ordinals, change)
    needed = {"INSERT": found.outgoing, "DELETE": found.incoming}.get(
        statement, found.outgoing or found.incoming
    )
    return found if needed else None
