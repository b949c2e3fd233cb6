"""Tables and indexes: ordered rows, pre-images of uncommitted changes, raw changes.

Nothing here locks or waits: ``access.py`` does. Every index, the clustered one too, is an ordered
map from key to value with, beside it, who has an uncommitted change on which key and what stood
there before: that is all a versioned read or a lock elision needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from sortedcontainers import SortedDict

from redial_broker.engine.columns import PLAIN_OPTIONS, Check, Column, Statistic
from redial_broker.engine.errors import SqlError
from redial_broker.engine.hobts import HobtIds
from redial_broker.engine.journal import MISSING, Journal, Part
from redial_broker.engine.keys import key_part
from redial_broker.engine.state import SAME, derived, journaled, made, plain, state
from redial_broker.engine.transactions import Transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redial_broker.engine.needs import Home, IndexKey, Ordered, RowValues


def _rows(index: Index) -> list[tuple[IndexKey, Any]]:
    """The entries of an index; rowversions only where T-SQL can read them."""
    if not _masked(index):
        return list(index.entries.items())
    return [(key, _row(index, row)) for key, row in index.entries.items()]


def _masked(index: Index) -> bool:
    """Whether its rows have rowversions that no T-SQL can read."""
    table = index.table
    return index.clustered and bool(table.hash_mask) and "rowversions" not in table.journal.counted


def _row(index: Index, row: Any) -> Any:
    """What counts of a value in an index."""
    if row is MISSING or not _masked(index):
        return row
    return tuple([v for i, v in enumerate(row) if i not in index.table.hash_mask])


def _entry(index: Index, key: IndexKey, old: Any, counted: frozenset[str]) -> tuple[str, str]:
    return repr(key), repr(_row(index, old))


def _marks(index: Index) -> list[tuple[str, str, str]]:
    """Who has an uncommitted change where, and what stood there before."""
    marks = index.writers.items()
    return sorted([(repr(k), str(t.owner.id), repr(_row(index, b))) for k, (t, b) in marks])


def _versions(index: Index) -> list[tuple[str, list[tuple[int, str]]]]:
    """The values it keeps, with the numbers of the commits that replaced them."""
    chains = index.versions.items()
    return sorted([(repr(k), [(n, repr(_row(index, b))) for n, b in each]) for k, each in chains])


def _sorted_items(mapping: dict[Any, Any]) -> list[tuple[str, str]]:
    return sorted([(repr(key), repr(value)) for key, value in mapping.items()]) if mapping else []


_OF_TABLE = "the table it is of shows it"


class Index(Part):
    """An index. The clustered one maps key -> row, a nonclustered one key -> clustered key: Any.

    A key that is not unique by its columns carries the row's clustered key (or a uniquifier) behind
    them. ``writers`` maps a key with an uncommitted change to (transaction, value before);
    ``ghosts`` are the keys among them that are deleted; ``versions`` maps a key to its replaced
    values, (commit number, value before), oldest first. ``where`` is the filter of a filtered index
    (``bind`` gives it for another column list); that of a disabled index accepts no row.
    """

    __slots__ = (
        "bind",
        "clustered",
        "columns",
        "constraint",
        "descending",
        "disabled",
        "entries",
        "ghosts",
        "hobt_id",
        "included",
        "index_id",
        "name",
        "options",
        "parts",
        "primary",
        "table",
        "unique",
        "versions",
        "where",
        "where_text",
        "writers",
    )
    STATE = state(
        made("name"),
        journaled("entries", of=_rows, entry=_entry),
        journaled("writers", of=_marks),
        journaled("ghosts", show=_sorted_items),
        journaled("versions", of=_versions),
        made(
            "bind",
            "clustered",
            "columns",
            "constraint",
            "descending",
            "disabled",
            "included",
            "index_id",
            "options",
            "primary",
            "table",
            "unique",
            "where",
            "where_text",
            hidden=_OF_TABLE,
        ),
        made("hobt_id", hidden="an id, of which locks on its keys are named"),
        derived("parts", why="follows from columns and order"),
    )

    def __init__(
        self,
        table: Table,
        name: str,
        columns: list[int],
        *,
        unique: bool,
        clustered: bool = False,
        primary: bool = False,
        constraint: bool = False,
        included: list[int] | None = None,
        hobt_id: int = 0,
        descending: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__()
        self.table = table
        self.name = name
        self.columns = columns
        self.included = included or []
        self.unique = unique
        self.clustered = clustered
        self.primary = primary
        self.constraint = constraint
        self.hobt_id = hobt_id
        self.index_id = 1 if clustered else 2
        self.descending = descending
        self.parts = [
            (ordinal, key_part(table.columns[ordinal], ordinal in descending))
            for ordinal in columns
        ]
        self.where: Callable[[RowValues], bool] | None = None
        self.where_text = ""
        self.bind: Callable[[list[Column]], Callable[[RowValues], bool]] | None = None
        self.options = PLAIN_OPTIONS
        self.disabled = False
        self.entries: Ordered[IndexKey, Any] = SortedDict()
        self.writers: dict[IndexKey, tuple[Transaction, Any]] = {}
        self.ghosts: dict[IndexKey, bool] = {}
        self.versions: dict[IndexKey, tuple[tuple[int, Any], ...]] = {}

    def __repr__(self) -> str:
        """The same in every run, and of no other index that one session can reach."""
        table = self.table
        return f"Index {table.lock_key[1]}.{table.depth}.{table.full_name}.{self.name}"

    @property
    def shape(self) -> tuple[Any, ...]:
        """What it is, without its entries, for the state hash."""
        return (
            self.name,
            self.index_id,
            self.columns,
            self.included,
            sorted(self.descending),
            (self.unique, self.clustered, self.primary, self.constraint, self.disabled),
            self.where_text,
            plain(self.options),
        )

    def prefix(self, row: RowValues) -> IndexKey:
        """The ordered key columns of a row."""
        return tuple(part(row[ordinal]) for ordinal, part in self.parts)

    def normalize(self, values: Sequence[Any]) -> IndexKey:
        """Seek values, in index-column order, as a key prefix."""
        return tuple(part(value) for (_, part), value in zip(self.parts, values, strict=False))

    @property
    def covers(self) -> frozenset[int]:
        """Ordinals a nonclustered entry carries: its own, included ones and the clustered key's."""
        clustered = self.table.clustered
        return frozenset((*self.columns, *self.included, *(clustered.columns if clustered else ())))


def _shape(table: Table) -> Any:
    """A table's definition but for what is changed in place; made once."""
    if table.shape is None:
        table.shape = (
            0 if table.temporary else table.object_id,
            plain(table.columns),
            plain(table.checks),
            [index.shape for index in (table.rows, *table.indexes)],
        )
    return table.shape


class Table(Part):
    """A table: columns, its clustered index or heap, its nonclustered indexes.

    ``rows`` is the clustered index (a heap's is keyed by row id and has no key columns).
    """

    __slots__ = (
        "checks",
        "clustered",
        "columns",
        "computed",
        "creator",
        "database",
        "depth",
        "hash_mask",
        "heap",
        "identity_column",
        "indexes",
        "journal",
        "lock_escalation",
        "lock_key",
        "name",
        "next_identity",
        "object_id",
        "ordinals",
        "row_ids",
        "rows",
        "rowversion_column",
        "schema",
        "shadowed",
        "shape",
        "statistics",
        "temporary",
        "types",
    )
    STATE = state(
        made("schema", "name"),
        made("columns", of=_shape),
        made(
            "checks", "indexes", "rows", hidden="in the definition that is shown with the columns"
        ),
        journaled("next_identity", "lock_escalation"),
        journaled("statistics", show=plain),
        made("temporary", "depth", "creator"),
        made("object_id", hidden="shown with the columns; of a temporary table it is an id"),
        made("shadowed", hidden="the session shows what its temporary tables hide"),
        journaled("row_ids", hidden="a new row comes after all others, whatever its number"),
        derived(
            "clustered",
            "computed",
            "hash_mask",
            "heap",
            "identity_column",
            "lock_key",
            "ordinals",
            "rowversion_column",
            "shape",
            "types",
            why="follows from the definition",
        ),
        made("database", "journal", hidden=SAME),
    )

    def __init__(
        self,
        journal: Journal,
        name: str,
        columns: list[Column],
        *,
        database: Home | None = None,
        schema: str = "dbo",
        object_id: int = 0,
        temporary: bool = False,
    ) -> None:
        super().__init__()
        self.journal = journal
        self.database = cast("Home", database)  # None: nobody asks a table variable for it
        self.schema = schema
        self.name = name
        self.object_id = object_id
        # Object ids repeat from database to database (copies of a template share them).
        self.lock_key = ("OBJECT", database.id if database is not None else 0, object_id)
        self.temporary = temporary
        self.columns = columns
        self.types = [column.type for column in columns]
        self.ordinals = {column.name.lower(): i for i, column in enumerate(columns)}
        self.identity_column = next((i for i, c in enumerate(columns) if c.identity), None)
        self.rowversion_column = next((i for i, c in enumerate(columns) if c.rowversion), None)
        self.computed = [(i, c.computed.value) for i, c in enumerate(columns) if c.computed]
        self.hash_mask = frozenset(i for i, c in enumerate(columns) if c.rowversion)
        numbered = next((c.identity for c in columns if c.identity), None)
        self.next_identity = numbered[0] if numbered else 0
        self.row_ids = 0
        self.clustered: Index | None = None
        self.heap = Index(self, "", [], unique=False, clustered=True)
        self.heap.index_id = 0
        self.rows: Index = self.heap
        self.indexes: list[Index] = []
        self.checks: list[Check] = []
        self.depth = 0  # of the frame that created a #temp table
        self.statistics: tuple[Statistic, ...] = ()
        self.creator = 0  # id of the session that made a ##temp table
        self.shadowed: Table | None = None  # the #temp table of that name of an outer scope
        self.lock_escalation = True
        self.shape: Any = None  # worked out when it is first hashed

    @property
    def full_name(self) -> str:
        """schema.table, as error texts print it."""
        return f"{self.schema}.{self.name}"

    def shown(self) -> Any:
        """All of it for the state hash, rows too: of a table that only one session has."""
        outer = self.shadowed
        return (
            self.content(),
            [index.digest or index.hash() for index in (self.rows, *self.indexes)],
            outer and outer.shown(),
        )

    def shown_rows(self) -> Any:
        """The same of a table variable: its definition stands in the text that is running."""
        return (
            self.next_identity,
            [index.digest or index.hash() for index in (self.rows, *self.indexes)],
        )

    def with_computed(self, session: Any, row: RowValues) -> RowValues:
        """The row with the values of its computed columns, which follow from the other ones."""
        if not self.computed:
            return row
        values = list(row)
        for ordinal, value in self.computed:
            values[ordinal] = value(session, row)
        return tuple(values)

    def add_index(self, index: Index) -> None:
        """Attach an index to a table that has no rows yet, or build it from the rows."""
        rows = list(self.rows.entries.values())
        if index.clustered:
            self.clustered = self.rows = index
            for row in rows:
                index.entries[self._clustered_key(row)] = row
            for other in self.indexes:
                other.entries.clear()
        else:
            index.index_id = max((i.index_id for i in self.indexes), default=1) + 1
            self.indexes.append(index)
        for other in self.indexes if index.clustered else [index]:
            for key, row in self.rows.entries.items():
                if other.where is None or other.where(row):
                    other.entries[self.index_key(other, key, row)] = key

    # ------------------------------------------------------------------ keys
    def _clustered_key(self, row: RowValues) -> IndexKey:
        index = self.clustered
        if index is None:
            return (self._next_row_id(),)
        key = index.prefix(row)
        if index.unique:
            return key
        return (*key, self._next_row_id())

    def _next_row_id(self) -> int:
        """A row id never given out before; a rewind brings the counter back."""
        number = self.row_ids + 1
        if self.journal.recording:
            self.journal.assign(None, self, "row_ids", number)
        else:
            self.row_ids = number
        return number

    @staticmethod
    def index_key(index: Index, clustered_key: IndexKey, row: RowValues) -> IndexKey:
        """The key of ``row`` in a nonclustered index."""
        key = index.prefix(row)
        return key if index.unique else (*key, *clustered_key)

    def new_key(self, row: RowValues) -> IndexKey:
        """The clustered key a new row will have (draws a row id where one is needed)."""
        return self._clustered_key(row)

    # ------------------------------------------------------------------ raw changes, locks are held
    def mark(self, transaction: Transaction, index: Index, key: IndexKey) -> None:
        """``transaction`` changes this entry, now or soon: whoever comes to it waits."""
        if key not in index.writers:
            journal = self.journal
            before = index.entries.get(key, MISSING)
            if journal.recording:
                journal.save(transaction)
                journal.put(None, index, index.writers, key, (transaction, before))
            else:
                index.writers[key] = (transaction, before)
            transaction.written.append((index, key))

    def put(self, transaction: Transaction, index: Index, key: IndexKey, value: Any) -> None:
        """Change one index entry (MISSING deletes), remembering the committed value."""
        self.mark(transaction, index, key)
        if value is MISSING:
            self.journal.put(transaction, index, index.ghosts, key, True)
        elif index.ghosts and key in index.ghosts:
            self.journal.put(transaction, index, index.ghosts, key, MISSING)
        self.journal.put(transaction, index, index.entries, key, value)
        transaction.log_used += 100

    def insert(self, transaction: Transaction, key: IndexKey, row: RowValues) -> None:
        """Add a row to every index. Uniqueness was checked under locks."""
        self.put(transaction, self.rows, key, row)
        for index in self.indexes:
            if index.where is None or index.where(row):
                self.put(transaction, index, self.index_key(index, key, row), key)

    def delete(self, transaction: Transaction, key: IndexKey) -> None:
        """Remove a row from every index."""
        row = self.rows.entries[key]
        self.put(transaction, self.rows, key, MISSING)
        for index in self.indexes:
            if index.where is None or index.where(row):
                self.put(transaction, index, self.index_key(index, key, row), MISSING)

    def replace(self, transaction: Transaction, key: IndexKey, row: RowValues) -> None:
        """Change a row whose clustered key stays; nonclustered entries move where they must."""
        old = self.rows.entries[key]
        self.put(transaction, self.rows, key, row)
        for index in self.indexes:
            was = index.where is None or index.where(old)
            now = index.where is None or index.where(row)
            old_key = self.index_key(index, key, old)
            new_key = self.index_key(index, key, row)
            if was and now and old_key == new_key:
                continue
            if was:
                self.put(transaction, index, old_key, MISSING)
            if now:
                self.put(transaction, index, new_key, key)

    def take_identity(self) -> int:
        """The next identity value; never given back, rollback or not."""
        value = self.next_identity
        step = self.columns[self.identity_column].identity[1]  # type: ignore[index]
        self.journal.assign(None, self, "next_identity", value + step)
        return value

    def duplicate(self, index: Index, row: RowValues) -> SqlError:
        """Error 2627 (constraint) or 2601 (unique index) for ``row``."""
        values = ", ".join(str(row[i]) if row[i] is not None else "<NULL>" for i in index.columns)
        if index.constraint:
            kind = "PRIMARY KEY" if index.primary else "UNIQUE KEY"
            error = SqlError(2627, kind, index.name, self.full_name, f"({values})")
        else:
            error = SqlError(2601, self.full_name, index.name, f"({values})")
        error.ignored = index.options.ignore_dup_key
        return error

    def empty_copy(self, journal: Journal, database: Home, hobts: HobtIds) -> Table:
        """The same definition with no rows, for a fresh database made from a template."""
        copy = Table(
            journal,
            self.name,
            self.columns,
            database=database,
            schema=self.schema,
            object_id=self.object_id,
            temporary=self.temporary,
        )
        copy.lock_escalation, copy.statistics = self.lock_escalation, self.statistics
        copy.checks = self.checks
        copy.heap.hobt_id = next(hobts)
        for index in ([self.clustered] if self.clustered else []) + self.indexes:
            twin = Index(
                copy,
                index.name,
                index.columns,
                unique=index.unique,
                clustered=index.clustered,
                primary=index.primary,
                constraint=index.constraint,
                included=index.included,
                hobt_id=next(hobts),
                descending=index.descending,
            )
            twin.where, twin.where_text, twin.bind = index.where, index.where_text, index.bind
            twin.options, twin.disabled = index.options, index.disabled
            copy.add_index(twin)
        return copy
