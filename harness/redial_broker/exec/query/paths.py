"""Access paths: which index a statement goes through, and how far its conditions are a seek.

The choice is a rule, not a cost: the full clustered key, else the full key of a unique index, else
the index with most leading columns fixed, else the clustered index from end to end. The order in
which keys are locked follows from it (F-201), so tests can ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.types import SqlType
from redial_broker.exec.conversion.rules import common_type, group
from redial_broker.exec.query.hints import Hints

_TURNED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(slots=True, eq=False)
class Sarg:
    """A condition an index can search by: column op value. For IN, ``values`` has them all."""

    ordinal: int
    op: str
    values: list[ast.Expression]
    conjunct: ast.Predicate


@dataclass(slots=True)
class Path:
    """How one reference to a stored table is read."""

    table: str
    index: str
    kind: str
    """SEEK (every key column of a unique index fixed), RANGE or SCAN."""
    number: int = 0
    """0 for the clustered index or heap, i + 1 for the i-th nonclustered one."""
    clustered: bool = True
    equal: list[Sarg] = field(default_factory=list)
    """One per fixed leading column."""
    low: Sarg | None = None
    high: Sarg | None = None
    """low, high: bounds of the next one."""
    residual: list[ast.Predicate] = field(default_factory=list)
    """Conditions checked on each row."""
    covered: bool = False
    """The clustered key need not be visited."""
    backwards: bool = False
    """Rows come in the reverse order of its keys."""

    def __str__(self) -> str:
        """One line, for example ``SEEK t.PK (2 columns) with residual``."""
        kind = f"{self.kind} {self.table}" + (f".{self.index}" if self.index else "")
        if self.kind != "SCAN":
            kind += f" ({len(self.equal) + bool(self.low or self.high)} columns)"
        kind += ", covered" if self.covered else ""
        return kind + (", with residual" if self.residual else "")

    @property
    def exact(self) -> bool:
        """True for one key of a unique index: at most one row."""
        return self.kind == "SEEK" and all(sarg.op == "=" for sarg in self.equal)


def sargs(
    conditions: list[ast.Predicate],
    column_of: Callable[[ast.Expression], int | None],
    known: Callable[[ast.Expression], bool],
    value_type: Callable[[ast.Expression], SqlType | None],
    types: list[SqlType],
) -> list[Sarg]:
    """The conditions an index could search by.

    column_of: ordinal when the expression is a column of the table; known: whether a value can be
    had before the table is read; value_type: its type, None when it cannot be compiled.
    """
    found: list[Sarg] = []

    def add(column: ast.Expression, op: str, values: list[ast.Expression], c: Any) -> bool:
        ordinal = column_of(column)
        if ordinal is None or not all(known(value) for value in values):
            return False
        value_types = [value_type(value) for value in values]
        if not all(seekable(types[ordinal], t) for t in value_types):
            return False
        found.append(Sarg(ordinal, op, values, c))
        return True

    for condition in conditions:
        if isinstance(condition, ast.Comparison) and condition.op in _TURNED:
            add(condition.left, condition.op, [condition.right], condition) or add(
                condition.right, _TURNED[condition.op], [condition.left], condition
            )
        elif isinstance(condition, ast.Between) and not condition.negated:
            # Two sargs share one conjunct; it counts as used only when both bound the same range.
            if add(condition.operand, ">=", [condition.low], condition):
                add(condition.operand, "<=", [condition.high], condition)
        elif isinstance(condition, ast.InList) and not condition.negated:
            add(condition.operand, "IN", condition.items, condition)
    return found


def seekable(column: SqlType, value: SqlType | None) -> bool:
    """Whether ``column op value`` compares as the column's own type (type precedence).

    A varchar column beside an nvarchar value is converted row by row under the default SQL
    collation, so that is no seek.
    """
    if value is None:
        return False
    kind, other = group(column), group(value)
    if kind == other == "int":
        return True
    if kind in {"exact", "money"} and other in {"exact", "money", "int"}:
        return True
    if kind in {"xml", "variant"} or other in {"xml", "variant"}:
        return False
    return common_type(column, value).name == column.name


def choose(
    table: Table,
    found: list[Sarg],
    conditions: list[ast.Predicate],
    needed: frozenset[int],
    hints: Hints,
    *,
    bad_optimizer: bool = False,
    write: bool = False,
) -> Path:
    """The path of one reference. Raises 308 for an unknown index hint, 8622 when hints forbid all.

    bad_optimizer: scan wherever no hint forbids it, seek by the least helpful index, and backwards
    (a switch of the instance, to find what depends on a lucky plan).
    """
    indexes = [table.rows, *table.indexes]
    if hints.index is not None:
        indexes = [_hinted(table, hints.index)]
        if indexes[0].disabled:
            raise SqlError(315, indexes[0].name, table.full_name)
    else:
        indexes = [index for index in indexes if index.where is None]
    paths = [] if hints.scan else [_search(table, index, found) for index in indexes]
    usable = [path for path in paths if path is not None and _searched(path, table, hints)]
    if not usable or (bad_optimizer and not hints.seek):
        if hints.seek:
            raise SqlError(8622, aborts="scope")
        best = _scan(table, indexes[0])
    else:
        best = (min if bad_optimizer else max)(usable, key=lambda path: _worth(path, table))
    best.backwards = bad_optimizer
    return _finish(table, best, conditions, needed, write)


def _searched(path: Path, table: Table, hints: Hints) -> bool:
    """Whether the search is by at least the columns FORCESEEK names, which lead the index."""
    by = [
        table.columns[sarg.ordinal].name.lower()
        for sarg in (*path.equal, path.low, path.high)
        if sarg is not None
    ]
    return all(name in by for name in hints.columns)


def _hinted(table: Table, wanted: str | int) -> Index:
    for index in (table.rows, *table.indexes):
        if wanted in (index.index_id, 1 if index.clustered and index.columns else None):
            return index
        if isinstance(wanted, str) and index.name.lower() == wanted.lower() and index.columns:
            return index
    if wanted in (0, 1):
        return table.rows
    if isinstance(wanted, int):
        raise SqlError(307, wanted, table.full_name)
    raise SqlError(308, wanted, table.full_name)


def _number(table: Table, index: Index) -> int:
    return 0 if index.clustered else table.indexes.index(index) + 1


def _scan(table: Table, index: Index) -> Path:
    return Path(table.name, index.name, "SCAN", _number(table, index), index.clustered)


def _search(table: Table, index: Index, found: list[Sarg]) -> Path | None:
    """The best use of one index; None when no condition is on its first column."""
    equal: list[Sarg] = []
    for ordinal in index.columns:
        sarg = next((s for s in found if s.ordinal == ordinal and s.op == "="), None) or next(
            (s for s in found if s.ordinal == ordinal and s.op == "IN"), None
        )
        if sarg is None:
            break
        equal.append(sarg)
    low = high = None
    if len(equal) < len(index.columns):
        following = index.columns[len(equal)]
        low = next((s for s in found if s.ordinal == following and s.op in {">", ">="}), None)
        high = next((s for s in found if s.ordinal == following and s.op in {"<", "<="}), None)
    if not equal and low is None and high is None:
        return None
    full = index.unique and bool(index.columns) and len(equal) == len(index.columns)
    return Path(
        table.name,
        index.name,
        "SEEK" if full else "RANGE",
        _number(table, index),
        index.clustered,
        equal,
        low,
        high,
    )


def _worth(path: Path, table: Table) -> tuple[Any, ...]:
    """How good a path is: one row first, then fixed columns; the clustered index at a tie."""
    return (
        path.exact,
        path.kind == "SEEK",
        len(path.equal),
        bool(path.low) + bool(path.high),
        path.clustered,
        -path.number,
    )


def _finish(
    table: Table, path: Path, conditions: list[ast.Predicate], needed: frozenset[int], write: bool
) -> Path:
    """Sort out what the search does not answer, and whether the index answers the whole query."""
    between = {
        id(sarg.conjunct)
        for sarg in (path.low, path.high)
        if sarg is not None and isinstance(sarg.conjunct, ast.Between)
    }
    both = (
        path.low is not None and path.high is not None and path.low.conjunct is path.high.conjunct
    )
    used = {id(sarg.conjunct) for sarg in (*path.equal, path.low, path.high) if sarg is not None}
    if not both:
        used -= between
    path.residual = [c for c in conditions if id(c) not in used]
    if path.number and not write:
        path.covered = needed <= table.indexes[path.number - 1].covers
    return path
