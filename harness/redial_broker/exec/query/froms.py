"""FROM and WHERE of one block, compiled: sources bound, ordered, placed in the row, read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.storage import Index
from redial_broker.engine.types import SqlType
from redial_broker.exec.expressions import compile_condition, compile_expression
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.binder import Binder
from redial_broker.exec.query.bodies import Choice, narrow
from redial_broker.exec.query.joins import StepCompiler, run_steps
from redial_broker.exec.query.names import Names, conjuncts
from redial_broker.exec.query.paths import Path
from redial_broker.exec.query.rowset import QueryScope, query_scope, scope_width
from redial_broker.exec.query.sources import Source
from redial_broker.exec.query.tree import (
    FilterStep,
    FullStep,
    Inner,
    Leaf,
    OuterStep,
    Planner,
    ReadStep,
    TreeBuilder,
)
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Rows, Values
    from redial_broker.exec.query.compile import QueryCompiler
    from redial_broker.exec.session import SessionState

_TEXT_ORDERED = frozenset({"sql_variant", "binary", "varbinary"})


@dataclass(slots=True)
class From:
    """A compiled FROM clause with its WHERE."""

    sources: list[Source]
    """In the order written."""
    names: Names
    scope: QueryScope
    rows: Rows
    """Whole rows, the outer row first."""
    paths: list[Path] = field(default_factory=list)
    ordered: bool = False
    """They already come in the order ORDER BY asks for."""
    target: Source | None = None

    @property
    def changed(self) -> Source:
        """``target``, for who knows that there is one."""
        assert self.target is not None
        return self.target


def compile_from(
    nodes: list[ast.TableSource],
    where: ast.Predicate | None,
    outer: Scope,
    compiler: QueryCompiler,
    common: dict[str, Any],
    memo: list[Any],
    *,
    readers: list[Any],
    limit: Fn | None = None,
    order_by: list[ast.OrderItem] | None = None,
    choose_target: Callable[[ast.Node, Source], Choice | None] | None = None,
    extra: Source | None = None,
) -> From:
    """Compile FROM and WHERE.

    readers: the other parts of the statement that may read columns. limit: most rows wanted, if
    nothing after this clause drops or orders rows. choose_target: says which leaf an UPDATE or
    DELETE changes; extra: the target when no leaf is it.
    """
    context = compiler.context
    base = scope_width(outer)
    binder = Binder(
        context,
        lambda query, scope, again=False: compiler.inside(
            memo if again else compiler.enclosing, lambda: compiler.query(query, scope, common)
        ),
        outer,
        common,
    )
    builder = TreeBuilder(binder, context, base, choose_target)
    tree = builder.build(nodes) if nodes else Inner([])
    if extra is not None:
        extra.offset = base + sum(source.width for source in builder.leaves)
        extra.pos = sys.maxsize
        builder.leaves.append(extra)
        tree = Inner([Leaf(extra), tree] if nodes else [Leaf(extra)])
    sources = sorted(builder.leaves, key=lambda source: source.pos)
    names = Names(sources)
    parts = [*readers, where, *_join_conditions(nodes)]
    for source in sources:
        if source.table is not None:
            source.needed = names.ordinals(source, parts)
    planner = Planner(
        names,
        _value_type(outer, sources, base, compiler, common),
        reorder=not (builder.lateral or builder.forced or compiler.hints.forced),
        whole=compiler.hints.whole,
        bad_optimizer=value(context.session.engine, "bad_optimizer"),
    )
    steps, rest = planner.place(tree, planner.conditions(conjuncts(where)), set())
    if rest or not steps:
        steps.append(FilterStep(rest))
    if not builder.lateral:
        _assign_offsets(steps, base)
    moved = _narrow(steps, names, outer, final=not builder.lateral)
    scope = _scope(outer, sources, base, compiler, common, memo)
    scope.outside = binder.outside
    ordered = _push_limit(steps, limit, order_by or [], names)
    for node in moved:
        compile_condition(node, scope)  # for its errors, and to know whether it leads outside
    run = StepCompiler(names, scope, memo, compiler.enclosing).compile(steps)
    paths = [path for source in sources for path in source.paths] + _paths(steps)
    target = next((source for source in sources if source.write), None)
    rows = _rows(run, base)
    if builder.forced:
        rows = _told(rows)
    return From(sources, names, scope, rows, paths, ordered, target)


def _narrow(steps: list[Any], names: Names, outer: Scope, *, final: bool) -> list[ast.Predicate]:
    """Move conditions into views, derived and common tables; the ones moved.

    final: sources have their places in the row already, so that one may be asked by the rows of
    those before it.
    """
    moved: list[ast.Predicate] = []
    for step in _read_steps(steps):
        source = step.source
        if source.body is None or not step.conditions:
            continue
        before = None
        if final and step.bound and not source.lateral and not source.whole:
            columns = [column for one in step.bound for column in one.scope_columns()]
            before = query_scope(outer, columns, source.offset)
        found = narrow(source, step.conditions, names, before)
        step.conditions = [c for c in step.conditions if not any(c.node is node for node in found)]
        moved += found
    return moved


def _rows(steps: list[Any], base: int) -> Rows:
    if len(steps) == 1:
        only = steps[0]
        fetch: Rows | None = getattr(only, "fetch", None)
        if fetch is not None and not base:  # nothing stands before its columns
            return fetch
        return lambda session, variables, row: only(session, variables, [row])
    return lambda session, variables, row: run_steps(steps, session, variables, [row])


def _told(rows: Rows) -> Rows:
    """A local join hint has a message of its own (8625)."""

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        session.warn(8625)
        return rows(session, variables, row)

    return run


def _scope(
    outer: Scope,
    sources: list[Source],
    base: int,
    compiler: QueryCompiler,
    common: dict[str, Any],
    memo: list[Any] | None,
) -> QueryScope:
    columns = [column for source in sources for column in source.scope_columns()]
    scope = query_scope(outer, columns, base + sum(source.width for source in sources))
    scope.compile_subquery = compiler.subquery_hook(common, memo)
    return scope


def _value_type(
    outer: Scope, sources: list[Source], base: int, compiler: QueryCompiler, common: dict[str, Any]
) -> Callable[[ast.Expression], SqlType | None]:
    """The type of an expression before the sources have their final places."""
    scope = _scope(outer, sources, base, compiler, common, None)
    known: dict[int, SqlType | None] = {}

    def value_type(node: ast.Expression) -> SqlType | None:
        if id(node) not in known:
            try:
                expr = compile_expression(node, scope)
                known[id(node)] = None if expr.untyped else expr.type
            except NotSupported:
                raise
            except SqlError:
                known[id(node)] = None  # the final compilation raises it, with its line
        return known[id(node)]

    return value_type


def _join_conditions(nodes: Iterable[ast.TableSource]) -> list[ast.Node]:
    """Everything inside FROM that may read columns: ON conditions, APPLY operands."""
    return [part for node in nodes for part in ast.noted(node, _conditions_below)]


def _conditions_below(node: ast.Node) -> tuple[ast.Node, ...]:
    found: list[ast.Node] = []
    for part in node.walk():
        if isinstance(part, ast.Join) and part.condition is not None:
            found.append(part.condition)
        elif isinstance(part, ast.Apply):
            found.append(part.right)
        elif isinstance(part, ast.NodesTable):
            found.append(part.call)
    return tuple(found)


def _read_steps(steps: list[Any]) -> Iterable[ReadStep]:
    for step in steps:
        if isinstance(step, ReadStep):
            yield step
        elif isinstance(step, (OuterStep, FullStep)):
            yield from _read_steps(step.steps)


def _assign_offsets(steps: list[Any], offset: int) -> None:
    """Columns stand in the row in the order the sources are read."""
    for step in _read_steps(steps):
        step.source.offset = offset
        offset += step.source.width


def _paths(steps: list[Any]) -> list[Path]:
    return [step.path for step in _read_steps(steps) if step.path is not None]


def _push_limit(
    steps: list[Any], limit: Fn | None, order_by: list[ast.OrderItem], names: Names
) -> bool:
    """Let a single table stop after the rows wanted; True when it already yields them in order."""
    if len(steps) != 1 or not isinstance(steps[0], ReadStep) or steps[0].path is None:
        return False
    step, path = steps[0], steps[0].chosen
    table = step.source.stored
    index = table.rows if path.number == 0 else table.indexes[path.number - 1]
    ordered = False
    for backwards in (False, True):
        if order_by and _follows(path, index, order_by, names, backwards):
            path.backwards = backwards
            ordered = not (backwards and step.source.after)  # a cursor goes forwards
            break
    if limit is not None and (ordered or not order_by):
        step.limit = limit
    return ordered


def _follows(
    path: Path, index: Index, order_by: list[ast.OrderItem], names: Names, backwards: bool
) -> bool:
    """Whether reading the index along the path, or against it, yields the order asked for."""
    fixed = {sarg.ordinal for sarg in path.equal if sarg.op == "="}
    columns = [ordinal for ordinal in index.columns if ordinal not in fixed]
    place = 0
    for item in order_by:
        found = names.one(item.value)
        if found is None:
            return False
        ordinal = found[1]
        if ordinal in fixed:
            continue
        if item.descending != ((ordinal in index.descending) != backwards):
            return False
        column = index.table.columns[ordinal]
        if (
            place >= len(columns)
            or columns[place] != ordinal
            or column.type.name in _TEXT_ORDERED
            or column.case_sensitive
        ):
            return False
        place += 1
    return True
