"""Running a FROM clause: each step turns the rows so far into longer rows.

A source whose key comes from the rows so far is looked up once per row (nested loops); one that
does not depend on them is read once and, where an equality allows it, matched through a hash table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.comparison import aligned
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.query.metered import PIECE, kept
from redial_broker.exec.query.names import Names, column_refs, has_subquery
from redial_broker.exec.query.reading import (
    LockPlans,
    compile_fetch,
    compile_reader,
    residual,
    value_of,
)
from redial_broker.exec.query.rowset import QueryScope, fit
from redial_broker.exec.query.sources import Source
from redial_broker.exec.query.tree import (
    Condition,
    FilterStep,
    FullStep,
    OuterStep,
    ReadStep,
)

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Rows, Values
    from redial_broker.exec.session import SessionState

    Step = Callable[[SessionState, Values, list[RowValues]], list[RowValues]]

differs(
    "joins and correlated subqueries",
    "Which side is read first, and what is searched by key, is a rule and not a cost. What "
    "would be read again for each row is read once where that takes the same locks.",
)


class StepCompiler:
    """Compiles the steps of one FROM clause in their final scope.

    memo: one cell per thing that is computed once per run of the query block; enclosing: the same
    of the block around a subquery, which runs it once per row.
    """

    def __init__(
        self, names: Names, scope: QueryScope, memo: list[Any], enclosing: list[Any] | None = None
    ) -> None:
        self.names = names
        self.scope = scope
        self.memo = memo
        self.enclosing = enclosing

    def compile(self, steps: list[Any]) -> list[Step]:
        """One closure per step."""
        return [self.step(step) for step in steps]

    def step(self, step: Any) -> Step:
        """The closure of one step."""
        if isinstance(step, ReadStep):
            return self._read(step)
        if isinstance(step, OuterStep):
            return _outer(self.compile(step.steps), sum(s.width for s in step.sources))
        if isinstance(step, FullStep):
            return self._full(step)
        return self._filter(step.conditions)

    # ------------------------------------------------------------------ reading one source
    def _read(self, step: ReadStep) -> Step:
        depends = self._depends(step)
        if step.bound and not depends and not step.source.lateral:
            return self._read_once(step)
        if step.source.table is None:
            return self._call(step)
        reader = compile_reader(step.source, step.chosen, self.scope)
        reader.limit = step.limit
        fetch = compile_fetch(reader)

        def run(session: SessionState, variables: Values, rows: list[RowValues]) -> list[RowValues]:
            if len(rows) == 1:
                row = rows[0]
                return [row + found for found in fetch(session, variables, row)]
            joined: list[RowValues] = []
            tick = session.engine.meter.tick
            for row in rows:
                joined += [row + found for found in fetch(session, variables, row)]
                tick(1, joined)
            return joined

        run.fetch = fetch  # type: ignore[attr-defined]  # ``froms`` calls it where nothing is joined
        return self._looked_up(step, run) or run

    def _looked_up(self, step: ReadStep, scan: Step) -> Step | None:
        """A scan that is repeated for every row of the block around, through a hash table.

        Only where it takes the same locks (F-214): when reading holds none and nothing in the table
        is uncommitted, a scan asks for no key lock, so one reading stands for all. Otherwise it is
        done row by row.
        """
        source = step.source
        if self.enclosing is None or step.chosen.kind != "SCAN" or source.write:
            return None
        local = [c for c in step.conditions if self._only_own(c)]
        keys, others = self._hash_keys(source, [c for c in step.conditions if c not in local])
        if not keys:
            return None
        path = replace(step.chosen, residual=[c.node for c in local])
        read = compile_fetch(compile_reader(source, path, self.scope))
        plans = LockPlans(source, key_only=False)
        return self._matched(
            read, (keys, others), source.offset, self.enclosing, plans.repeatable, scan
        )

    def _matched(
        self,
        read: Callable[[SessionState, Values, RowValues], list[Any]],
        conditions: tuple[list[Any], list[Any]],
        offset: int,
        memo: list[Any],
        may: Callable[[Any, Any], bool] | None = None,
        otherwise: Step | None = None,
    ) -> Step:
        """Rows so far with those of a source read once, by hash where there are keys.

        conditions: (keys, others); memo: where the hash table is kept; may: whether it may be made
        now, else ``otherwise`` runs.
        """
        keys, others = conditions
        test = residual([c.node for c in others], self.scope)
        left_key, right_key = _key_function(keys, 0), _key_function(keys, 1)
        cell = len(memo)
        memo.append(None)

        def build(
            session: SessionState, variables: Values, row: RowValues
        ) -> dict[Any, list[RowValues]]:
            base = fit(row, offset)
            table: dict[Any, list[RowValues]] = {}
            others = read(session, variables, base)
            session.engine.meter.tick(len(others), others)
            for found in others:
                key = right_key(session, variables, base + found)
                if key is not None:
                    table.setdefault(key, []).append(found)
            return table

        def run(session: SessionState, variables: Values, rows: list[RowValues]) -> list[RowValues]:
            if not rows:
                return []
            table = memo[cell]
            if table is None:
                if may is not None and otherwise is not None and not may(session, variables):
                    return otherwise(session, variables, rows)
                table = memo[cell] = build(session, variables, rows[0])
            joined: list[RowValues] = []
            tick = session.engine.meter.tick
            for row in rows:
                found = table.get(left_key(session, variables, row))
                if found is None:
                    tick(1)
                elif len(found) > PIECE:
                    joined += _crossed(session, variables, row, found, test)
                else:
                    tick(1 + len(found), joined)
                    if test is None:
                        joined += [row + other for other in found]
                    else:
                        made = [row + other for other in found]
                        joined += [one for one in made if test(session, variables, one)]
            return joined

        return run

    def _only_own(self, condition: Condition) -> bool:
        """Whether a condition reads nothing but this source, variables and constants."""
        return not has_subquery(condition.node) and all(
            self.names.find(ref) for ref in column_refs(condition.node)
        )

    def _depends(self, step: ReadStep) -> bool:
        """Whether the keys the path searches for come from the rows so far."""
        path = step.path
        searched = [step.lookup] if path is None else [*path.equal, path.low, path.high]
        values = [value for sarg in searched if sarg is not None for value in sarg.values]
        return any(self.names.mentioned(value) for value in values)

    def _rows_of(self, step: ReadStep) -> Rows:
        """The rows of a source that is no stored table, by key where it can be asked so."""
        source, sarg = step.source, step.lookup
        if sarg is None:
            assert source.rows is not None  # it is no stored table
            return source.rows
        find = source.lookups[sarg.ordinal]
        value_fn = value_of(sarg.values[0], source.columns[sarg.ordinal].type, self.scope)

        def rows_of(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
            value = value_fn(session, variables, row)
            return [] if value is None else find(session, value)

        return rows_of

    def _call(self, step: ReadStep) -> Step:
        rows_of = self._rows_of(step)
        test = residual([c.node for c in step.conditions], self.scope)

        def fetch(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
            found = rows_of(session, variables, outer)
            return found if test is None else kept(session, variables, found, test)

        def run(session: SessionState, variables: Values, rows: list[RowValues]) -> list[RowValues]:
            joined: list[RowValues] = []
            tick = session.engine.meter.tick
            for row in rows:
                joined += [row + other for other in rows_of(session, variables, row)]
                tick(1 + len(joined) // len(rows), joined)
            return joined if test is None else kept(session, variables, joined, test)

        run.fetch = fetch  # type: ignore[attr-defined]  # ``froms`` calls it where nothing is joined
        return run

    def _read_once(self, step: ReadStep) -> Step:
        """Read the source on its own, then match: by hash where a condition is an equality."""
        source = step.source
        own = [c for c in step.conditions if not c.mentions - {source}]
        joining = [c for c in step.conditions if c.mentions - {source}]
        # What depends on no row of the block around is read once for all of them.
        free = (
            self.enclosing is not None
            and source.table is not None
            and all(self._only_own(c) for c in own)
        )
        once = self._matched(
            self._alone(step, own),
            self._hash_keys(source, joining),
            source.offset,
            self.enclosing if free and self.enclosing is not None else self.memo,
        )
        if free or source.table is None:
            return once
        return self._looked_up(step, once) or once

    def _alone(
        self, step: ReadStep, own: list[Condition]
    ) -> Callable[[SessionState, Values, RowValues], list[Any]]:
        source = step.source
        if source.table is None:
            rows_of = self._rows_of(step)
            test = residual([c.node for c in own], self.scope)
            if test is None:
                return rows_of

            def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
                found = rows_of(session, variables, row)
                session.engine.meter.tick(len(found))
                return [x for x in found if test(session, variables, row + x)]

            return rows
        mine = {id(c.node) for c in own}
        path = step.chosen
        path = replace(path, residual=[c for c in path.residual if id(c) in mine])
        return compile_fetch(compile_reader(source, path, self.scope))

    def _hash_keys(
        self, source: Source, joining: list[Condition]
    ) -> tuple[list[tuple[Expr, Expr, Any]], list[Condition]]:
        """Equalities between the source and the rows so far, as (left, right, key function)."""
        keys, others = [], []
        for condition in joining:
            node = condition.node
            sides = self._sides(source, node) if isinstance(node, ast.Comparison) else None
            if sides is None:
                others.append(condition)
                continue
            left, right = (compile_expression(side, self.scope) for side in sides)
            keys.append(aligned("=", left, right))
        return keys, others

    def _sides(
        self, source: Source, node: ast.Comparison
    ) -> tuple[ast.Expression, ast.Expression] | None:
        if node.op != "=":
            return None
        for left, right in ((node.left, node.right), (node.right, node.left)):
            if self.names.mentioned(right) == {source} and source not in self.names.mentioned(left):
                return left, right
        return None

    def _full_keys(self, step: FullStep) -> tuple[list[tuple[Expr, Expr, Any]], list[Condition]]:
        """Equalities between the two sides of a FULL JOIN, and the other conditions."""
        left, right = set(step.left), set(step.sources)
        keys, others = [], []
        for condition in step.conditions:
            node, pair = condition.node, None
            if isinstance(node, ast.Comparison) and node.op == "=":
                for one, two in ((node.left, node.right), (node.right, node.left)):
                    names = self.names.mentioned(one), self.names.mentioned(two)
                    if names[0] and names[1] and names[0] <= left and names[1] <= right:
                        pair = one, two
            if pair is None:
                others.append(condition)
            else:
                first, second = (compile_expression(side, self.scope) for side in pair)
                keys.append(aligned("=", first, second))
        return keys, others

    # ------------------------------------------------------------------ the rest
    def _filter(self, conditions: list[Condition]) -> Step:
        test = residual([c.node for c in conditions], self.scope)
        if test is None:
            return lambda session, variables, rows: rows
        return lambda session, variables, rows: kept(session, variables, rows, test)

    def _full(self, step: FullStep) -> Step:
        steps = self.compile(step.steps)
        keys, others = self._full_keys(step)
        test = residual([c.node for c in others], self.scope)
        left_key, right_key = _key_function(keys, 0), _key_function(keys, 1)
        left_width = sum(s.width for s in step.left)
        right_width = sum(s.width for s in step.sources)
        offset = min(s.offset for s in step.sources)

        def run(session: SessionState, variables: Values, rows: list[RowValues]) -> list[RowValues]:
            outer = fit(rows[0] if rows else (), offset - left_width)
            others = run_steps(steps, session, variables, [fit(outer, offset)])
            others = [row[offset:] for row in others]
            matched: set[int] = set()
            joined: list[RowValues] = []
            by_key: dict[Any, list[int]] = {}
            for i, x in enumerate(others):
                key = right_key(session, variables, fit(outer, offset) + x)
                if key is not None:
                    by_key.setdefault(key, []).append(i)
            meter = session.engine.meter
            for row in rows:
                found = by_key.get(left_key(session, variables, row), ())
                meter.tick(1 + len(found), joined)
                hits = [
                    i for i in found if test is None or test(session, variables, row + others[i])
                ]
                matched.update(hits)
                joined += [row + others[i] for i in hits] or [row + (None,) * right_width]
            empty = outer + (None,) * left_width
            return joined + [empty + x for i, x in enumerate(others) if i not in matched]

        return run


def run_steps(
    steps: list[Step], session: SessionState, variables: Values, rows: list[RowValues]
) -> list[RowValues]:
    """All steps, one after the other."""
    for step in steps:
        rows = step(session, variables, rows)
    return rows


def _crossed(
    session: SessionState,
    variables: Values,
    row: RowValues,
    others: list[RowValues],
    test: Fn | None,
) -> list[RowValues]:
    """One row with very many others: those that pass."""
    joined: list[RowValues] = []
    for at in range(0, len(others), PIECE):
        made = [row + other for other in others[at : at + PIECE]]
        joined += made if test is None else [one for one in made if test(session, variables, one)]
        session.engine.meter.tick(PIECE, joined)
    return joined


def _outer(steps: list[Step], width: int) -> Step:
    nothing = (None,) * width

    def run(session: SessionState, variables: Values, rows: list[RowValues]) -> list[RowValues]:
        joined: list[RowValues] = []
        tick = session.engine.meter.tick
        for row in rows:
            joined += run_steps(steps, session, variables, [row]) or [row + nothing]
            tick(1, joined)
        return joined

    return run


def _key_function(keys: list[tuple[Expr, Expr, Any]], side: int) -> Fn:
    """The hash key of one side: None when a part is NULL, () when there is nothing to match by."""
    parts = [(key[side].fn, key[2]) for key in keys]
    if not parts:
        return lambda session, variables, row: ()
    if len(parts) == 1 and parts[0][1] is None:
        return parts[0][0]

    def run(session: SessionState, variables: Values, row: RowValues) -> tuple[Any, ...] | None:
        found = []
        for fn, key in parts:
            value = fn(session, variables, row)
            if value is None:
                return None
            found.append(value if key is None else key(value))
        return tuple(found)

    return run


__all__ = ["FilterStep", "Step", "StepCompiler", "run_steps"]
