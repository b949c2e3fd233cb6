"""How a cursor reads: once at OPEN (static), by the keys found at OPEN (keyset), or anew (dynamic).

Source: "DECLARE CURSOR" page and "Using Implicit Cursor Conversions": a query without tables, with
DISTINCT, GROUP BY, aggregates, HAVING or a set operation becomes static; one whose order no index
gives, or with TOP, becomes keyset; a keyset needs a unique index on every table, else it is static.
So does, here, a query over anything but stored tables and views of one (F-212).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.storage import Table
from redial_broker.exec.cursor_options import (
    DYNAMIC,
    KEYSET,
    OPTIMISTIC,
    READ_ONLY,
    SCROLL_LOCKS,
    STATIC,
    CursorOptions,
)
from redial_broker.exec.query.blocks import Block
from redial_broker.exec.query.bodies import Choice
from redial_broker.exec.query.compile import QueryCompiler
from redial_broker.exec.query.reading import LockPlans, reread
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.query.sources import Source, table_columns

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Projection, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

differs(
    "cursors over anything but tables",
    "Over a view, a derived or common table that joins or groups, a function or a system view "
    "a cursor becomes STATIC and READ ONLY: only rows of one stored table can be found again.",
)
differs(
    "dynamic cursors over several tables",
    "A FETCH reads the query anew where anything has changed or reading holds locks, so it "
    "takes the locks of the whole query; over one table it walks along one index.",
)


@definition()
@dataclass(frozen=True, slots=True)
class Row:
    """A fetched row."""

    values: tuple[Any, ...]
    keys: tuple[Any, ...] = ()
    images: tuple[Any, ...] = ()
    """keys, images: per table its clustered key and row (None beyond an outer join)."""
    place: tuple[Any, ...] | None = None
    """Its key in the index a dynamic cursor walks along."""


@definition(
    columns="compiled from its text",
    sources="compiled from its text",
    direct="compiled from its text",
    read="compiled from its text",
    by_keys="compiled from its text",
    after="compiled from its text",
)
@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled cursor query."""

    columns: list[QueryColumn]
    kind: str
    """What it became."""
    concurrency: str
    options: CursorOptions
    sources: tuple[Source, ...]
    """The stored tables, those behind views too."""
    direct: tuple[bool, ...]
    """Which of them FROM names itself."""
    read: Callable[[SessionState, Values], list[Row]]
    """(s, locals) -> all rows."""
    by_keys: Callable[[SessionState, Values, RowValues], Row | None] | None = None
    """(s, locals, keys) -> the row as it is now, None when it is gone."""
    after: Callable[[SessionState, Values, RowValues | None], Row | None] | None = None
    """(s, locals, place) -> the next row, where one index gives the order, else None."""
    text: str = ""
    """The query, with what it stands in."""

    @property
    def converted(self) -> bool:
        """Whether it is not of the type that was asked for."""
        return self.kind != self.options.requested

    def moment(self, session: SessionState, locals_: Values) -> tuple[Any, ...] | None:
        """Equal as long as nothing in the tables changes: then reading again shows the same.

        None where reading again would take locks.
        """
        if session.isolation == "snapshot" or not all(
            LockPlans(source, key_only=False).repeatable(session, locals_)
            for source in self.sources
        ):
            return None
        found = []
        for source in self.sources:
            table: Table = source.stored if source.slot < 0 else locals_[source.slot]
            found += [(index.changes, len(index.writers)) for index in (table.rows, *table.indexes)]
        return tuple(found)

    def check_tables(self, session: SessionState) -> None:
        """16943 when a table is no longer the one the cursor was declared on."""
        for source in self.sources:
            table = source.stored
            if table.temporary or table.database is None:
                continue
            name = (table.schema.lower(), table.name.lower())
            if cast("Database", table.database).objects.get(name) is not table:
                raise SqlError(16943)


_NOT_ONE_TABLE = frozenset({4403, 4405, 4406, 4418, 4420, 4421, 4426})
"""A view, derived or common table that does not show rows of one table."""


class _NotStoredError(Exception):
    """A source that has no keys."""


def compile_plan(query: ast.Query, options: CursorOptions, context: Context) -> Plan:
    """Compile the query of a cursor as the type it can be."""
    program = context.program
    text = f"{program.full_name} {query.pos} {program.source.text}"
    return replace(_compile_plan(query, options, context), text=text)


def _compile_plan(query: ast.Query, options: CursorOptions, context: Context) -> Plan:
    plain = QueryCompiler(context).query(query, context.scope)
    static = Plan(
        plain.columns,
        STATIC,
        READ_ONLY,
        options,
        (),
        (),
        lambda session, variables: [Row(values) for values in plain.rows(session, variables, ())],
    )
    if options.requested == STATIC or query.for_ is not None:
        return _refuse_update(static, context, query)
    try:
        block = _keyed(query, options, context)
    except _NotStoredError:
        block = None
    except SqlError as error:
        if error.number not in _NOT_ONE_TABLE:
            raise
        block = None
    if (
        block is None
        or block.select.distinct
        or block.group is not None
        or block.windows.found
        or not block.from_.sources
    ):
        return _refuse_update(static, context, query)
    named = tuple(block.from_.sources)
    sources = tuple(_behind(source) for source in named)
    kind = options.requested
    if block.sort or not block.whole:
        kind = KEYSET
    if kind == KEYSET and not all(_unique(source.stored) for source in sources):
        return _refuse_update(static, context, query)
    after = _walk(query, options, context) if kind == DYNAMIC else None
    concurrency = options.concurrency or OPTIMISTIC
    return Plan(
        plain.columns,
        kind,
        concurrency,
        options,
        sources,
        tuple(source.behind is None for source in named),
        _all_rows(block, named, sources),
        _by_keys(block, named, sources),
        after,
    )


def _refuse_update(plan: Plan, context: Context, query: ast.Query) -> Plan:
    """16957: what became static is read only; SCROLL_LOCKS and FOR UPDATE cannot be kept then."""
    if plan.options.update is not None:
        raise context.fail(query, SqlError(16957, aborts="scope"))
    return plan


def _behind(source: Source) -> Source:
    """The stored table a source is or shows."""
    behind = source.behind
    if behind is None:
        return source
    return Source(table_columns(behind.table), table=behind.table, slot=behind.slot)


def _unique(table: Table) -> bool:
    return any(index.unique and index.columns for index in (table.rows, *table.indexes))


def _keyed(query: ast.Query, options: CursorOptions, context: Context, walk: bool = False) -> Block:
    """The block of the query with every table's key behind its columns."""
    locks = options.concurrency == SCROLL_LOCKS

    def choose(node: ast.Node, source: Source) -> Choice:
        if source.table is None and (source.body is None or locks):
            raise _NotStoredError
        if source.table is None:
            return Choice(write=False)
        if locks:
            source.hints = replace(source.hints, names=source.hints.names | {"UPDLOCK"})
        source.after = walk
        return Choice(write=False)

    block = QueryCompiler(context).block(query, context.scope, choose, 1 if walk else None)
    if block is None:
        raise _NotStoredError
    return block


def _places(sources: tuple[Source, ...]) -> list[tuple[int, int]]:
    """(first column, key) of each source in the row."""
    return [(source.offset, source.offset + len(source.columns)) for source in sources]


def _all_rows(
    block: Block, named: tuple[Source, ...], sources: tuple[Source, ...]
) -> Callable[[SessionState, Values], list[Row]]:
    read, arrange, project = block.source_rows(), block.arrange(), block.project()
    places = list(
        zip(
            _places(named),
            [None if source is base else base for source, base in zip(named, sources)],
        )
    )

    def image(
        variables: Values, row: RowValues, place: tuple[int, int], base: Source | None
    ) -> RowValues:
        start, key = place
        if base is None or row[key] is None:
            return row[start:key]
        table: Table = base.stored if base.slot < 0 else variables[base.slot]
        found: RowValues = table.rows.entries.get(row[key], ())
        return found

    def rows(session: SessionState, variables: Values) -> list[Row]:
        pairs = [(row, project(session, variables, row)) for row in read(session, variables, ())]
        return [
            Row(
                values,
                tuple(row[place[1]] for place, _ in places),
                tuple(image(variables, row, place, base) for place, base in places),
            )
            for row, values in arrange(session, variables, (), pairs)
        ]

    return rows


def _shown(source: Source) -> Projection:
    """(s, locals, row of the table) -> what the source shows of it."""
    if source.behind is None:
        return lambda session, variables, row: row
    value_of = source.behind.value
    assert value_of is not None
    values = [value_of(number) for number in range(len(source.columns))]
    return lambda session, variables, row: tuple(
        [value(session, variables, row) for value in values]
    )


def _by_keys(
    block: Block, named: tuple[Source, ...], sources: tuple[Source, ...]
) -> Callable[[SessionState, Values, RowValues], Row | None]:
    readers = [(reread(base), _shown(source)) for source, base in zip(named, sources)]
    places, project, width = _places(named), block.project(), block.from_.scope.width
    memo = block.memo

    def row_of(session: SessionState, variables: Values, keys: tuple[Any, ...]) -> Row | None:
        if memo:
            session.engine.meter.blank(memo)
        row = [None] * width
        images = []
        for (start, at), key, (read, shown) in zip(places, keys, readers):
            if key is None:
                images.append((None,) * (at - start))
                continue
            image = read(session, variables, key)
            if image is None:
                return None
            row[start:at] = shown(session, variables, image)
            row[at] = key
            images.append(image)
        return Row(project(session, variables, tuple(row)), keys, tuple(images))

    return row_of


def _walk(
    query: ast.Query, options: CursorOptions, context: Context
) -> Callable[[SessionState, Values, RowValues | None], Row | None] | None:
    """The next row behind a place of the index; None where several tables or ranges are read."""
    block = _keyed(query, options, context, walk=True)
    paths = block.from_.paths
    if (
        block.from_.sources[0].table is None
        or len(block.from_.sources) != 1
        or len(paths) != 1
        or any(len(sarg.values) > 1 for sarg in paths[0].equal)
    ):
        return None
    source, number = block.from_.sources[0], paths[0].number
    read, project = block.source_rows(), block.project()
    start, key_at = _places((source,))[0]

    def after(
        session: SessionState, variables: Values, place: tuple[Any, ...] | None
    ) -> Row | None:
        for row in read(session, [*variables, place], ()):
            key, image = row[key_at], row[start:key_at]
            if number:
                table: Table = source.stored if source.slot < 0 else variables[source.slot]
                at = table.index_key(table.indexes[number - 1], key, image)
            else:
                at = key
            return Row(project(session, variables, row), (key,), (image,), at)
        return None

    return after
