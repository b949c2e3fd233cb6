"""The shape of a FROM clause, and the order in which its sources are read.

Inner joins are taken apart and put in a new order where that turns a scan into a seek; outer joins
and APPLY stay as written. Everything here works on the syntax tree; ``joins`` compiles the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import SqlType
from redial_broker.exec.query.binder import Binder
from redial_broker.exec.query.bodies import Choice
from redial_broker.exec.query.names import Names, conjuncts
from redial_broker.exec.query.paths import Path, Sarg, choose, sargs
from redial_broker.exec.query.sources import Source

if TYPE_CHECKING:
    from redial_broker.exec.closures import Fn
    from redial_broker.exec.context import Context


@dataclass(slots=True, eq=False)
class Condition:
    """One conjunct of WHERE or ON, with the sources it mentions."""

    node: ast.Predicate
    mentions: set[Source]


@dataclass(slots=True)
class Leaf:
    """One source."""

    source: Source


@dataclass(slots=True)
class Inner:
    """Sources joined freely under conditions."""

    children: list[Any]
    conditions: list[ast.Predicate] = field(default_factory=list)


@dataclass(slots=True)
class Outer:
    """LEFT JOIN; a RIGHT JOIN is turned round."""

    left: Any
    right: Any
    conditions: list[ast.Predicate]
    full: bool = False
    """It is a FULL JOIN."""


@dataclass(slots=True)
class Lateral:
    """APPLY."""

    left: Any
    right: Leaf
    outer: bool


# ---------------------------------------------------------------------- steps, in reading order
@dataclass(slots=True)
class ReadStep:
    """Read one source for the rows so far."""

    source: Source
    conditions: list[Condition]
    path: Path | None
    """Of a stored table."""
    bound: set[Source]
    """Sources read before."""
    limit: Fn | None = None
    """How many rows are wanted at most."""
    lookup: Sarg | None = None
    """The equality by which a system view is asked."""

    @property
    def chosen(self) -> Path:
        """``path``, for who knows that it reads a stored table."""
        assert self.path is not None
        return self.path


@dataclass(slots=True)
class OuterStep:
    """For each row so far run ``steps``; a row without a match goes on with NULLs."""

    steps: list[Any]
    sources: list[Source]


@dataclass(slots=True)
class FullStep:
    """FULL JOIN of the rows so far with those of ``steps``."""

    left: list[Source]
    steps: list[Any]
    sources: list[Source]
    conditions: list[Condition]


@dataclass(slots=True)
class FilterStep:
    """Conditions that can only be checked now."""

    conditions: list[Condition]


class TreeBuilder:
    """Binds the leaves of a FROM clause in the order written. base: width of the outer row.

    choose_target(node, source) -> Choice makes a leaf the target of an UPDATE or DELETE.
    """

    def __init__(
        self,
        binder: Binder,
        context: Context,
        base: int,
        choose_target: Callable[[ast.Node, Source], Choice | None] | None = None,
    ) -> None:
        self.binder = binder
        self.context = context
        self.base = base
        self.choose_target = choose_target
        self.leaves: list[Source] = []
        self.lateral = False
        self.forced = False  # by a join hint

    def build(self, nodes: list[ast.TableSource]) -> Any:
        """The tree of a whole FROM clause; comma joins are inner joins."""
        children = [self.tree(node) for node in nodes]
        return children[0] if len(children) == 1 else Inner(_flat(children))

    def tree(self, node: ast.TableSource) -> Any:
        """The tree of one source, join or APPLY."""
        if isinstance(node, ast.Join):
            return self._join(node)
        if isinstance(node, ast.Apply):
            left = self.tree(node.left)
            self.lateral = True
            right = self._leaf(node.right, lateral=True)
            if node.outer:
                _may_be_missing(right.source)
            return Lateral(left, right, node.outer)
        if isinstance(node, ast.NodesTable):
            self.lateral = True
            return self._leaf(node, lateral=True)
        return self._leaf(node)

    def _join(self, node: ast.Join) -> Any:
        if node.kind == "RIGHT":  # bound in the order it is read in
            right = self.tree(node.right)
            left = self.tree(node.left)
        else:
            left, right = self.tree(node.left), self.tree(node.right)
        conditions = conjuncts(node.condition)
        if node.hint is not None:
            self._hint(node, left, right, conditions)
        if node.kind in {"INNER", "CROSS"}:
            joined = Inner(_flat([left, right]), conditions)
            for child in (left, right):
                if isinstance(child, Inner):
                    joined.conditions[:0] = child.conditions
            return joined
        if node.kind == "RIGHT":
            left, right = right, left
        for source in leaves_of(right) + (leaves_of(left) if node.kind == "FULL" else []):
            _may_be_missing(source)
        return Outer(left, right, conditions, node.kind == "FULL")

    def _hint(self, node: ast.Join, left: Any, right: Any, conditions: list[Any]) -> None:
        """A join hint: the order written counts for the whole FROM ("Join hints" page).

        LOOP looks up the second side by the rows of the first where an index fits, as any join here
        does; HASH and MERGE read it as a whole, and need an equality (8622). REMOTE decides where
        a join with another server is done, and there is none.
        """
        self.forced = True
        if node.hint not in {"HASH", "MERGE"}:
            return
        if node.kind == "RIGHT":
            left, right = right, left
        if not isinstance(right, Leaf):
            raise self.context.not_supported(node, f"the join hint {node.hint} before a join")
        if not any(isinstance(c, ast.Comparison) and c.op == "=" for c in conditions):
            raise self.context.fail(node, SqlError(8622, aborts="scope"))
        right.source.whole = node.hint

    def _leaf(self, node: ast.TableSource, *, lateral: bool = False) -> Leaf:
        source = self.binder.leaf(node, self.leaves if lateral else None)
        choice = self.choose_target(node, source) if self.choose_target is not None else None
        if choice is not None:
            if source.table is None:
                source = self.binder.written(node, source, choice)
            source.write, source.with_key = choice.write, True
        source.pos = node.pos
        self._refuse_twin(node, source)
        source.offset = self.base + sum(leaf.width for leaf in self.leaves)
        self.leaves.append(source)
        return Leaf(source)

    def _refuse_twin(self, node: ast.Node, source: Source) -> None:
        """Two sources need two names: 1011 for equal aliases, 1013 for equal table names."""
        for other in self.leaves:
            if source.qualifiers and other.qualifiers == source.qualifiers:
                if _unnamed(node):  # a name nobody can write: * still tells the two apart
                    source.qualifiers = (f"{source.qualifiers[0]}\0{len(self.leaves)}",)
                    return
                number = 1011 if len(source.qualifiers) == 1 else 1013
                names = (source.qualifiers[-1],) * (1 if number == 1011 else 2)
                raise self.context.fail(node, SqlError(number, *names, aborts="scope"))


def _unnamed(node: ast.Node) -> bool:
    """OPENJSON and its kin may stand in FROM twice without an alias."""
    return (
        isinstance(node, ast.FunctionTable)
        and len(node.call.name.parts) == 1
        and node.alias is None
    )


def _flat(children: list[Any]) -> list[Any]:
    found: list[Any] = []
    for child in children:
        found.extend(child.children if isinstance(child, Inner) else [child])
    return found


def leaves_of(tree: Any) -> list[Source]:
    """The sources below a tree, in the order written."""
    if isinstance(tree, Leaf):
        return [tree.source]
    if isinstance(tree, Inner):
        return [source for child in tree.children for source in leaves_of(child)]
    return leaves_of(tree.left) + leaves_of(tree.right)


class Planner:
    """Puts a tree's sources in reading order and gives each condition its place.

    value_type: type of an expression, None when it cannot be compiled. reorder: inner joins may be
    read in another order; whole: OPTION (HASH JOIN) and kin.
    """

    def __init__(
        self,
        names: Names,
        value_type: Callable[[ast.Expression], SqlType | None],
        *,
        reorder: bool,
        bad_optimizer: bool,
        whole: bool = False,
    ) -> None:
        self.names = names
        self.value_type = value_type
        self.reorder = reorder and not bad_optimizer
        self.free = reorder
        self.bad_optimizer = bad_optimizer
        self.whole = whole

    def conditions(self, nodes: list[ast.Predicate]) -> list[Condition]:
        """Conjuncts with what they mention."""
        return [Condition(node, self.names.mentioned(node)) for node in nodes]

    def place(
        self, tree: Any, pool: list[Condition], bound: set[Source]
    ) -> tuple[list[Any], list[Condition]]:
        """Steps of a tree after ``bound`` was read, and the conditions it could not place."""
        if isinstance(tree, Leaf):
            return self._leaf(tree, pool, bound)
        if isinstance(tree, Inner):
            return self._inner(tree, pool, bound)
        if isinstance(tree, Lateral):
            return self._lateral(tree, pool, bound)
        return self._outer(tree, pool, bound)

    def _leaf(
        self, leaf: Leaf, pool: list[Condition], bound: set[Source]
    ) -> tuple[list[Any], list[Condition]]:
        source = leaf.source
        mine, rest = _split(pool, bound | {source})
        step = ReadStep(source, mine, self.path(source, mine, bound), set(bound))
        if source.lookups and not self.bad_optimizer:
            found = self._sargs(source, mine, bound)
            step.lookup = next(
                (s for s in found if s.op == "=" and s.ordinal in source.lookups), None
            )
        return [step], rest

    def path(self, source: Source, conditions: list[Condition], bound: set[Source]) -> Path | None:
        """The access path of a stored table once ``bound`` is known; None for other sources."""
        if source.table is None:
            return None
        if self.whole or source.whole:
            bound = set()  # by its own conditions only
        return choose(
            source.table,
            self._sargs(source, conditions, bound),
            [condition.node for condition in conditions],
            source.needed,
            source.hints,
            bad_optimizer=self.bad_optimizer,
            write=source.write,
        )

    def _sargs(self, source: Source, conditions: list[Condition], bound: set[Source]) -> list[Sarg]:
        """The conditions the source could be searched by, values coming from ``bound``."""

        def column_of(node: ast.Expression) -> int | None:
            found = self.names.one(node)
            return found[1] if found is not None and found[0] is source else None

        return sargs(
            [condition.node for condition in conditions],
            column_of,
            lambda node: self.names.mentioned(node) <= bound,
            self.value_type,
            [column.type for column in source.columns],
        )

    def _inner(
        self, tree: Inner, pool: list[Condition], bound: set[Source]
    ) -> tuple[list[Any], list[Condition]]:
        pool = self.conditions(tree.conditions) + pool
        remaining, steps, bound = list(tree.children), [], set(bound)
        while remaining:
            child = remaining[0]
            if self.free and len(remaining) > 1:
                # FORCESEEK by a column of another table: that one comes first (8622 otherwise)
                able = [c for c in remaining if self._able(c, pool, bound)] or remaining
                child = able[0]
                if self.reorder and len(able) > 1:
                    child = min(able, key=lambda c: self._rank(c, pool, bound))
            remaining.remove(child)
            found, pool = self.place(child, pool, bound)
            steps += found
            bound.update(leaves_of(child))
        return steps, pool

    def _able(self, child: Any, pool: list[Condition], bound: set[Source]) -> bool:
        """Whether what is read so far lets a table be read as its hints want it."""
        if not isinstance(child, Leaf) or not child.source.hints.seek:
            return True
        mine, _ = _split(pool, bound | {child.source})
        try:
            self.path(child.source, mine, bound)
        except SqlError as error:
            return error.number != 8622
        return True

    def _rank(self, child: Any, pool: list[Condition], bound: set[Source]) -> int:
        """What is cheap to read next: one row, a range, something small, a whole table."""
        if not isinstance(child, Leaf):
            return 3
        source = child.source
        mine, _ = _split(pool, bound | {source})
        if source.table is None or source.slot >= 0 or source.table.temporary:
            return 2 if not bound else 1
        path = self.path(source, mine, bound)
        assert path is not None
        return 0 if path.exact else 1 if path.kind != "SCAN" else 3

    def _outer(
        self, tree: Outer, pool: list[Condition], bound: set[Source]
    ) -> tuple[list[Any], list[Condition]]:
        left, right = leaves_of(tree.left), leaves_of(tree.right)
        own = self.conditions(tree.conditions)
        if tree.full:
            steps, _ = self.place(tree.left, [], bound)
            other, _ = self.place(tree.right, [], set())
            steps.append(FullStep(left, other, right, own))
            rest = pool
        else:
            steps, rest = self.place(tree.left, pool, bound)
            inner, unplaced = self.place(tree.right, own, bound | set(left))
            if unplaced:
                inner.append(FilterStep(unplaced))
            steps.append(OuterStep(inner, right))
        now, rest = _split(rest, bound | set(left) | set(right))
        if now:
            steps.append(FilterStep(now))
        return steps, rest

    def _lateral(
        self, tree: Lateral, pool: list[Condition], bound: set[Source]
    ) -> tuple[list[Any], list[Condition]]:
        steps, rest = self.place(tree.left, pool, bound)
        before = bound | set(leaves_of(tree.left))
        source = tree.right.source
        if tree.outer:
            inner, _ = self._leaf(tree.right, [], before)
            steps.append(OuterStep(inner, [source]))
            now, rest = _split(rest, before | {source})
            if now:
                steps.append(FilterStep(now))
            return steps, rest
        inner, rest = self._leaf(tree.right, rest, before)
        return steps + inner, rest


def _split(
    pool: list[Condition], available: set[Source]
) -> tuple[list[Condition], list[Condition]]:
    now = [c for c in pool if c.mentions <= available]
    return now, [c for c in pool if not c.mentions <= available]


def _may_be_missing(source: Source) -> None:
    """A source whose row an outer join or OUTER APPLY replaces by NULLs."""
    for column in source.columns:
        column.nullable = True
