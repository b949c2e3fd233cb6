"""Queries in FROM that are compiled a second time: narrowed by what is asked, or written to.

A view, a derived table and a common table are compiled on their own first. A condition on nothing
but their plain columns is then moved into them, where it can be a seek, as the server does when it
expands a view; so the locks are those of the rows asked for. A data change names one of them as
its target: the base table behind the columns it assigns is then read with update locks, and its
key stands behind each row ("CREATE VIEW" page, Updatable Views).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.expressions import compile_condition
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.rowset import fit

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Projection, Rows, Values
    from redial_broker.exec.query.blocks import Block
    from redial_broker.exec.query.sources import Source
    from redial_broker.exec.session import SessionState

Column = Callable[[ast.ColumnRef], "int | None"]
"""column reference -> ordinal in the query's output, None when it means something else."""

_NOT_REPEATED = frozenset({"NEWID", "NEWSEQUENTIALID", "RAND", "CRYPT_GEN_RANDOM"})


@dataclass(frozen=True, slots=True)
class Choice:
    """A leaf of FROM is the target."""

    ordinals: tuple[int, ...] | None = None
    """Of its columns that are assigned to; None: DELETE."""
    write: bool = True
    """False where only its key is wanted (cursors)."""


@dataclass(slots=True)
class Written:
    """What stands behind a query that is written through."""

    table: Table
    slot: int
    """table, slot: the base table."""
    ordinals: list[int]
    """Per output column the base column, -1 for a computed one. value(ordinal): closure (session,
    variables, base row) of an output column, when only one table is behind it."""
    names: list[str]
    types: list[Any]
    securables: list[Any]
    """What permissions are asked on: views, and the table where no chain covers it."""
    value: Callable[[int], Fn] | None
    visible: Callable[[SessionState, Values, RowValues], bool] | None
    """Whether a base row satisfies the WHERE clauses on the way."""
    checks: list[Callable[[SessionState, Values, RowValues], bool]] = field(default_factory=list)
    """Those of the levels WITH CHECK OPTION."""
    hidden: dict[int, int] = field(default_factory=dict)
    """Ordinal -> error of a computed column OUTPUT may not name."""


class Body:
    """A query that consists of one SELECT block.

    make(conditions, scope, choose target) compiles its block again; block: the plain one. shown:
    name in errors; checked: WITH CHECK OPTION; derived: a derived table, whose errors differ.
    """

    def __init__(self, make: Callable[..., Any], block: Block) -> None:
        self.make = make
        self.block = block
        self.shown = ""
        self.checked = False
        self.derived = False

    # ------------------------------------------------------------------ conditions
    def moved(self, predicate: ast.Predicate, ordinal_of: Column) -> ast.Predicate | None:
        """The predicate in terms of the block's own columns; None when it must stay outside."""
        if not self.block.plain:
            return None
        for part in predicate.walk():
            if isinstance(part, (ast.Query, ast.NextValueFor, ast.MethodCall)) or (
                isinstance(part, ast.FunctionCall) and len(part.name.parts) > 1
            ):
                return None

        def swap(ref: ast.ColumnRef) -> ast.Expression | None:
            ordinal = ordinal_of(ref)
            if ordinal is None:  # of a query around: it must not mean a column in here
                return None if self.block.from_.names.find(ref) else ref
            item = self.block.items[ordinal].node
            return item if _repeatable(item) else None

        moved: ast.Predicate | None = _swapped(predicate, swap)
        return moved

    def rows(self, where: list[ast.Predicate], scope: Scope) -> tuple[Rows, list[Any]]:
        """Rows and access paths of the query under further conditions."""
        rowset = self.make(where, scope, None).rowset()
        return rowset.rows, rowset.paths

    # ------------------------------------------------------------------ writing
    def target(self, choice: Choice) -> tuple[int, Choice]:
        """(number of the leaf that is changed, what of it). Raises 4403, 4405, 4406 and kin."""
        block = self.block
        if block.select.distinct or block.group is not None:
            raise self._error(4418, 4403)
        sources = block.from_.sources
        if choice.ordinals is None:
            if len(sources) != 1:
                raise self._error(4420, 4405)
            return 0, choice
        number, inner = -1, []
        for ordinal in choice.ordinals:
            place = block.from_.names.one(block.items[ordinal].node)
            if place is None:
                raise self._error(4421, 4406)
            if number not in {-1, sources.index(place[0])}:
                raise self._error(4420, 4405)
            number = sources.index(place[0])
            inner.append(place[1])
        if self.checked and not block.whole:
            raise SqlError(4427, self.shown, aborts="scope")
        return max(number, 0), Choice(tuple(inner))

    def _error(self, derived: int, other: int) -> SqlError:
        return SqlError(derived if self.derived else other, self.shown, aborts="scope")

    def write(
        self, choice: Choice, where: list[ast.Predicate], scope: Scope
    ) -> tuple[Rows, Written, list[Any]]:
        """(rows with the base table's key behind them, what is behind, paths)."""
        number, inner = self.target(choice)
        place = self.block.from_.sources[number].pos

        def choose(node: ast.Node, source: Source) -> Choice | None:
            return inner if node.pos == place else None

        block = self.make(where, scope, choose)
        source = block.from_.sources[number]
        read, arrange = block.source_rows(), block.arrange()
        project, key_at = block.project(), source.offset + len(source.columns)

        def rows(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
            pairs = [
                (row, project(session, variables, row)) for row in read(session, variables, outer)
            ]
            return [
                (*output, row[key_at]) for row, output in arrange(session, variables, outer, pairs)
            ]

        return rows, self._written(block, source), block.from_.paths

    @staticmethod
    def _securables(source: Source) -> list[Any]:
        own = source.securable
        if own is not None and source.table is not None and source.table.temporary:
            own = None
        behind = source.behind.securables if source.behind is not None else []
        return behind if own is None or own in behind else [own, *behind]

    def _written(self, block: Any, source: Any) -> Written:
        behind: Written | None = source.behind
        ordinals, hidden = [], {}
        for number, item in enumerate(block.items):
            place = block.from_.names.one(item.node)
            mine = place is not None and place[0] is source
            base = place[1] if mine else -1
            if mine and behind is not None:
                if base in behind.hidden:
                    hidden[number] = behind.hidden[base]
                base = behind.ordinals[base]
            ordinals.append(base)
            for part in item.node.walk():
                if isinstance(part, ast.FunctionCall) and part.over is not None:
                    hidden[number] = 4196
                elif isinstance(part, ast.Query):
                    hidden[number] = 4186
        value = visible = None
        if len(block.from_.sources) == 1 and (behind is None or behind.value is not None):
            image = _image(block, source)
            value = _value(block, image)
            visible = _visible(block, self.block.select.where, image, behind)
        checks = list(behind.checks) if behind is not None else []
        if self.checked and visible is not None:
            checks.append(visible)
        names = [column.name for column in block.columns]
        base_table, slot = source.table, source.slot
        if base_table is None:
            assert behind is not None
            base_table, slot = behind.table, behind.slot
        made = Written(
            base_table,
            slot,
            ordinals,
            names,
            [column.type for column in block.columns],
            self._securables(source),
            value,
            visible,
            checks,
            hidden,
        )
        if self.checked and visible is None:
            raise block.context.not_supported(
                block.select, "writing through a view of several tables WITH CHECK OPTION"
            )
        return made


def _image(block: Any, source: Any) -> Projection:
    """(session, variables, base row) -> the row the block's expressions are evaluated over."""
    behind, front = source.behind, (None,) * block.base
    if behind is None:
        return lambda session, variables, row: (*front, *row, None)
    values = [behind.value(number) for number in range(len(source.columns))]
    return lambda session, variables, row: (
        *front,
        *[value(session, variables, row) for value in values],
        None,
    )


def _value(block: Block, image: Callable[..., Any]) -> Callable[[int], Fn]:
    def column(ordinal: int) -> Fn:
        fn = block.items[ordinal].expr.fn
        return lambda session, variables, row: fn(
            session, variables, image(session, variables, row)
        )

    return column


def _visible(
    block: Block, where: ast.Predicate | None, image: Callable[..., Any], behind: Written | None
) -> Callable[..., Any]:
    test = None if where is None else compile_condition(where, block.from_.scope)
    below = behind.visible if behind is not None else None

    def visible(session: SessionState, variables: Values, row: RowValues) -> bool:
        if below is not None and not below(session, variables, row):
            return False
        return test is None or test(session, variables, image(session, variables, row)) is True

    return visible


def narrow(
    source: Source, conditions: list[Any], names: Any, before: Scope | None = None
) -> list[ast.Predicate]:
    """Move conditions into a source where they can go. Returns those moved, as they were written.

    before: the scope of the sources read earlier; an equality with them moves too where it makes
    every table inside be searched by key, row by row.
    """
    body = source.body

    def ordinal_of(ref: ast.ColumnRef) -> int | None:
        place = names.one(ref)
        return place[1] if place is not None and place[0] is source else None

    pairs = [
        (c.node, moved)
        for c in conditions
        if c.mentions == {source} and (moved := body.moved(c.node, ordinal_of)) is not None
    ]
    joining = (
        []
        if before is None or source.choice is not None
        else [
            (c.node, moved)
            for c in conditions
            if c.mentions - {source}
            and source in c.mentions
            and isinstance(c.node, ast.Comparison)
            and c.node.op == "="
            and (moved := body.moved(c.node, ordinal_of)) is not None
        ]
    )
    if (
        joining
        and before is not None
        and _searched(source, [moved for _, moved in pairs + joining], before)
    ):
        return [node for node, _ in pairs + joining]
    if not pairs:
        return []
    try:
        source.narrowed([moved for _, moved in pairs])
    except SqlError:
        return []  # the plain compilation of the condition reports it
    return [node for node, _ in pairs]


def _searched(source: Source, where: list[ast.Predicate], before: Scope) -> bool:
    """Read the source once per row before it, if that is by key in every table; else leave it."""
    kept = source.rows, source.paths, source.scope
    try:
        source.scope = source.within(before)
        source.narrowed(where)
    except SqlError:
        source.rows, source.paths, source.scope = kept
        return False
    if not source.paths or any(path.kind == "SCAN" for path in source.paths):
        source.rows, source.paths, source.scope = kept
        return False
    source.lateral = True
    return True


def _repeatable(node: ast.Expression) -> bool:
    """Whether an item of a select list may be worked out a second time, in a condition."""
    for part in node.walk():
        if isinstance(part, (ast.Query, ast.NextValueFor, ast.MethodCall)):
            return False
        if isinstance(part, ast.FunctionCall) and (
            len(part.name.parts) > 1
            or part.over is not None
            or part.name.name.upper() in _NOT_REPEATED
        ):
            return False
    return True


def _swapped(node: Any, swap: Callable[[ast.ColumnRef], Any]) -> Any:
    """A copy of a tree with its column references replaced; None when one cannot be."""
    if isinstance(node, ast.ColumnRef):
        return swap(node)
    if isinstance(node, ast.Node):
        changes = {}
        for name in ast.child_fields(type(node)):
            value = getattr(node, name)
            if isinstance(value, (ast.Node, list, tuple)):
                changes[name] = _swapped(value, swap)
                if changes[name] is None:
                    return None
        return replace(node, **changes)
    if isinstance(node, (list, tuple)):
        items = [_swapped(item, swap) for item in node]
        if any(new is None and old is not None for new, old in zip(items, node)):
            return None
        return type(node)(items)
    return node


__all__ = ["Body", "Choice", "Written", "fit", "narrow"]
