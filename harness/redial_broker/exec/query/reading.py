"""Reading a stored table along its path: object lock, keys, residual conditions.

Each function here returns a closure ``fetch(session, variables, outer) -> rows``; ``outer`` is
the part of the row to the left of the table (values of keys may come from it), the rows returned
are the table's own columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.read_mode import ReadMode
from redial_broker.engine.storage import Index
from redial_broker.engine.switches import value
from redial_broker.engine.types import SqlType
from redial_broker.engine.versions import MAY_TAKE
from redial_broker.exec.conversion import implicit_conversion
from redial_broker.exec.conversion.rules import common_type, group
from redial_broker.exec.expressions import compile_condition, compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.hints import LockPlan, lock_plan
from redial_broker.exec.query.paths import Path, Sarg
from redial_broker.exec.query.permissions import check_permission, column_numbers
from redial_broker.exec.query.sources import Source

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Rows, Values
    from redial_broker.exec.session import SessionState


_FREE = ReadMode(lock=None, dirty=True)
_AS_THEY_ARE = frozenset({"int", "exact", "money", "char", "binary"})


def value_of(node: ast.Expression, column: SqlType, scope: Scope) -> Fn:
    """The closure of a value an index on ``column`` is searched for."""
    expr = compile_expression(node, scope)
    return as_column(expr, column).fn


def as_column(expr: Expr, column: SqlType) -> Expr:
    """A value as the type of the column it is compared with, where Python would not see it so."""
    if expr.untyped or (group(expr.type) == group(column) and group(column) in _AS_THEY_ARE):
        return expr
    convert = implicit_conversion(expr.type, common_type(column, expr.type))
    if convert is None:
        return expr
    inner = expr.fn
    return Expr(lambda session, variables, row: convert(inner(session, variables, row)), column)


def residual(conditions: list[ast.Predicate], scope: Scope) -> Fn | None:
    """One closure for several conditions joined by AND; None when there are none."""
    tests = [compile_condition(condition, scope) for condition in conditions]
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]

    def run(session: SessionState, variables: Values, row: RowValues) -> bool:
        return all(test(session, variables, row) for test in tests)

    return run


class LockPlans:
    """The lock plan of one reference per isolation level, worked out once each."""

    __slots__ = ("_known", "database", "hints", "key", "key_only", "source", "write")

    def __init__(self, source: Source, *, key_only: bool) -> None:
        self.source = source
        self.hints = source.hints
        self.write = source.write
        self.key_only = key_only
        self.database = source.stored.database
        self.key = source.stored.lock_key
        self._known: dict[tuple[str, bool, bool], LockPlan] = {}

    def get(self, session: SessionState) -> LockPlan:
        """The plan under the session's current isolation level."""
        rcsi = self.database is not None and self.database.options["rcsi"]
        laq = rcsi and self.write and value(session.engine, "optimized_locking") == "on"
        found = self._known.get((session.options.isolation, rcsi, laq))
        if found is None:
            found = lock_plan(
                session.options.isolation,
                self.hints,
                rcsi=rcsi,
                write=self.write,
                key_only=self.key_only,
                optimized=laq,
            )
            self._known[session.options.isolation, rcsi, laq] = found
        return found

    def repeatable(self, session: SessionState, variables: Values) -> bool:
        """Whether reading all of the table again now would take no lock it has not already. Never where
        others come in between."""
        source = self.source
        if source.slot >= 0 or source.stored.temporary:
            return True
        mode = self.get(session).mode
        if mode.hold or mode.readpast or session.acted:
            return False
        transaction = session.transaction or session.work()
        table = source.stored
        return all(
            writer is transaction
            for index in (table.rows, *table.indexes)
            for writer, _ in index.writers.values()
        )


@dataclass(slots=True)
class Reader:
    """The compiled parts of one table reference."""

    source: Source
    path: Path
    index: Index
    values: list[list[tuple[Fn, Callable[[Any], Any]]]]
    low: tuple[Fn, Callable[[Any], Any], bool] | None
    high: tuple[Fn, Callable[[Any], Any], bool] | None
    null_edge: Any
    """The key of NULL where a range is open towards it, None where it cannot meet one."""
    test: Fn | None
    limit: Fn | None = None

    @property
    def permission(self) -> str:
        """What reading it takes."""
        return "SELECT"


def compile_reader(source: Source, path: Path, scope: Scope) -> Reader:
    """Compile the key values and the residual conditions of a path."""
    table = source.stored
    index = table.rows if path.number == 0 else table.indexes[path.number - 1]
    values = []
    for sarg, (ordinal, part) in zip(path.equal, index.parts):
        of = table.columns[ordinal].type
        values.append([(value_of(node, of, scope), part) for node in sarg.values])
    following = len(path.equal)

    def bound(sarg: Sarg | None) -> tuple[Fn, Callable[[Any], Any], bool] | None:
        if sarg is None:
            return None
        ordinal, part = index.parts[following]
        fn = value_of(sarg.values[0], table.columns[ordinal].type, scope)
        return fn, part, sarg.op in {">=", "<="}

    low, high = bound(path.low), bound(path.high)
    null_edge = None
    if low is None and high is not None and table.columns[index.columns[following]].nullable:
        null_edge = index.parts[following][1](None)
    if following < len(index.columns) and index.columns[following] in index.descending:
        low, high = high, low  # the greatest values stand first
    return Reader(source, path, index, values, low, high, null_edge, residual(path.residual, scope))


def compile_fetch(reader: Reader) -> Rows:
    """The closure that reads along the path."""
    single = reader.path.exact and reader.low is None and reader.high is None
    limited = reader.limit is not None and not getattr(reader.limit, "positive", False)
    if (
        reader.source.slot < 0
        and single
        and not limited
        and not reader.source.stored.temporary
        and not reader.source.after
    ):
        return _exact_fetch(reader)
    return _general_fetch(reader)


def _exact_fetch(reader: Reader) -> Rows:
    """One key of a unique index: the hot path of every lookup by key."""
    source, index, test = reader.source, reader.index, reader.test
    keys = [values[0] for values in reader.values]
    plans = LockPlans(source, key_only=_key_only(reader))
    table_key = plans.key
    securable, columns = _read(source)
    covered, with_key = reader.path.covered, source.with_key

    def fetch(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
        if session.user is not None:
            check_permission(session, "SELECT", securable, columns)
        transaction = session.transaction or session.work()
        plan = plans.get(session)
        mode = plan.mode
        engine = session.engine
        engine.locks.acquire(
            transaction, table_key, plan.table, short=plan.short, timeout=0 if mode.nowait else None
        )
        if mode.snapshot:
            engine.transactions.versions.enter(transaction, source.stored)
        elif transaction.snapshot == MAY_TAKE:
            engine.transactions.versions.touch(transaction)
        prefix = []
        for fn, part in keys:
            value = fn(session, variables, outer)
            if value is None:
                return []
            prefix.append(part(value))
        accept = None if test is None else lambda row: test(session, variables, outer + row)
        found = engine.access.read(
            transaction, index, mode, accept, prefix=tuple(prefix), covered=covered
        )
        if with_key:
            return [(*row, key) for key, row in found]
        return [row for _, row in found]

    return fetch


def _read(source: Source) -> tuple[Any, tuple[int, ...]]:
    """(what needs SELECT, which columns) to read a source.

    The target of an UPDATE or DELETE of which no column is read needs none (pages of both).
    """
    if source.write and not source.needed:
        return None, ()
    return source.securable, column_numbers(source.needed)


def _key_only(reader: Reader) -> bool:
    """True when the WHERE clause is exactly a seek of the clustered key, by values alone."""
    return (
        reader.source.write
        and reader.path.number == 0
        and reader.path.exact
        and not reader.path.residual
        and reader.source.offset == 0
    )


def _general_fetch(reader: Reader) -> Rows:
    source, test, path = reader.source, reader.test, reader.path
    slot, number, covered, with_key = source.slot, path.number, path.covered, source.with_key
    table = source.stored
    securable, columns = _read(source)
    plans = LockPlans(source, key_only=_key_only(reader))
    prefixes, bounds = _prefixes(reader), _bounds(reader)
    limit_of, walks = reader.limit, source.after

    def fetch(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
        transaction = session.transaction or session.work()
        if slot >= 0:
            here, mode = variables[slot], _FREE
        elif table.temporary:
            here, mode = table, _FREE
        else:
            if session.user is not None:
                check_permission(session, "SELECT", securable, columns)
            here = table
            plan = plans.get(session)
            mode = plan.mode
            session.engine.locks.acquire(
                transaction,
                plans.key,
                plan.table,
                short=plan.short,
                timeout=0 if mode.nowait else None,
            )
            if mode.snapshot:
                session.engine.transactions.versions.enter(transaction, table)
            elif transaction.snapshot == MAY_TAKE:
                session.engine.transactions.versions.touch(transaction)
        index = here.rows if number == 0 else here.indexes[number - 1]
        limit = None if limit_of is None else limit_of(session, variables, outer)
        between = bounds(session, variables, outer)
        if between is None:
            return []
        accept = None if test is None else lambda row: test(session, variables, outer + row)
        found: list[Any] = []
        backwards = path.backwards and not walks
        searched = prefixes(session, variables, outer)
        for prefix in reversed(searched) if backwards else searched:
            rest = None if limit is None else limit - len(found)
            if rest is not None and rest <= 0:
                break
            found += session.engine.access.read(
                transaction,
                index,
                mode,
                accept,
                prefix=prefix,
                low=between[0],
                high=between[1],
                covered=covered,
                limit=rest,
                after=variables[-1] if walks else None,
                backwards=backwards,
            )
        if with_key:
            return [(*row, key) for key, row in found]
        return [row for _, row in found]

    return fetch


def reread(source: Source) -> Callable[[SessionState, Values, RowValues], RowValues | None]:
    """(session, variables, clustered key) -> the row there now, None when it is gone.

    It is locked as ``source`` is.
    """
    plans = LockPlans(source, key_only=False)
    table = source.stored
    slot, securable = source.slot, source.securable

    def read(
        session: SessionState, variables: Values, key: tuple[Any, ...]
    ) -> tuple[Any, ...] | None:
        if slot >= 0 or table.temporary:
            here = table if slot < 0 else variables[slot]
            return here.rows.entries.get(key)
        if session.user is not None:
            check_permission(session, "SELECT", securable)
        transaction = session.transaction or session.work()
        plan = plans.get(session)
        session.engine.locks.acquire(
            transaction,
            plans.key,
            plan.table,
            short=plan.short,
            timeout=0 if plan.mode.nowait else None,
        )
        if plan.mode.snapshot:
            session.engine.transactions.versions.enter(transaction, table)
        found = session.engine.access.read(transaction, table.rows, plan.mode, prefix=key, limit=1)
        return found[0][1] if found else None

    return read


def _prefixes(reader: Reader) -> Rows:
    """The normalized leading key values to search for; several when an IN list is among them."""
    values = reader.values
    if not values:
        return lambda session, variables, row: [()]
    several = any(len(alternatives) > 1 for alternatives in values)

    def run(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        columns = []
        for alternatives in values:
            known = [
                part(value)
                for fn, part in alternatives
                if (value := fn(session, variables, row)) is not None
            ]
            if not known:
                return []
            columns.append(known)
        if several:
            return sorted(set(product(*columns)))
        return [tuple(known[0] for known in columns)]

    return run


def _bounds(reader: Reader) -> Callable[[SessionState, Values, RowValues], tuple[Any, Any] | None]:
    """(low, high) of the next key column, each (value, inclusive) or None; None for NULL."""
    low, high, null_edge = reader.low, reader.high, reader.null_edge
    if low is None and high is None:
        return lambda session, variables, row: (None, None)

    def run(session: SessionState, variables: Values, row: RowValues) -> tuple[Any, Any] | None:
        found: list[Any] = []
        for side in (low, high):
            if side is None:
                found.append(None)
                continue
            value = side[0](session, variables, row)
            if value is None:
                return None
            found.append((side[1](value), side[2]))
        if null_edge is not None:
            # NULL keys stand at the open end, the low one or the high one, and satisfy nothing.
            found[0 if low is None else 1] = (null_edge, False)
        return found[0], found[1]

    return run
