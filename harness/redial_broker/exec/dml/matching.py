"""The join of MERGE: which source row meets which target row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.dml.targets import Target
from redial_broker.exec.dml.through import assigned_names, chosen, target_of
from redial_broker.exec.objects import View
from redial_broker.exec.query.bodies import Choice
from redial_broker.exec.query.compile import QueryCompiler
from redial_broker.exec.query.froms import From, compile_from
from redial_broker.exec.query.hints import parse_hints
from redial_broker.exec.query.ordering import row_limit
from redial_broker.exec.query.rowset import scope_width
from redial_broker.exec.query.sources import Source, resolve_object
from redial_broker.exec.triggers import EVENTS, triggers_on

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

    Match = tuple[str, tuple[Any, ...], tuple[Any, ...] | None, tuple[Any, ...]]
    """(which of the three, row read, clustered key of the target row, target row)."""

MATCHED, TARGET, SOURCE = "MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"
"""``ast.MergeWhen.match``: both have the row; the target lacks it; the source lacks it."""


class Matching:
    """A compiled join. target: what is changed; others: the sources it is merged with.

    from_: of the joined rows, whose columns the actions may name; width: of such a row.
    """

    def __init__(self, node: ast.Merge, context: Context) -> None:
        self.node, self.context = node, context
        self.compiler = QueryCompiler(context)
        self.compiler.note_options(node)
        self.common = self.compiler.common_tables(node, context.scope, {}) if node.with_ else {}
        self.memo: list[Any] = []
        kinds = {when.match for when in node.whens}
        self._refuse_trigger()
        self._refuse_twins()
        self.from_ = self._joined(TARGET in kinds)
        self.target: Target = target_of(self.from_.changed, node, context)
        self.width = scope_width(self.from_.scope)
        self.alone = self._alone() if SOURCE in kinds else None
        self.limit = self._limit()

    @property
    def others(self) -> list[Source]:
        """The sources that are not changed."""
        return [source for source in self.from_.sources if not source.write]

    def _leaf(self) -> ast.TableRef | ast.VariableTable:
        node = self.node
        if isinstance(node.target, ast.Variable):
            return ast.VariableTable(node.pos, node.end, node.target, node.alias)
        parse_hints(node.hints, self.context)
        return ast.TableRef(node.pos, node.end, node.target, node.alias, node.hints or [])

    def _chooser(self, leaf: ast.Node) -> Callable[[ast.Node, Source], Choice | None]:
        def choose(node: ast.Node, source: Source) -> Choice | None:
            if node is not leaf:
                return None
            if source.hints.names & {"NOLOCK", "READUNCOMMITTED"}:
                raise self.context.fail(node, SqlError(1065, aborts="scope"))
            return self._assigned(source)

        return choose

    def _refuse_twins(self) -> None:
        """5318: a source under the target's name."""
        node = self.node
        shown = node.alias or node.target.name
        for part in node.source.walk():
            alias = getattr(part, "alias", None)
            if isinstance(part, ast.Query):
                continue
            if isinstance(part, ast.TableRef) and part is node.source:
                alias = alias or part.name.name
            if part is node.source and alias is not None and alias.lower() == shown.lower():
                raise self.context.fail(node, SqlError(5318, aborts="scope"))

    def _refuse_trigger(self) -> None:
        name = self.node.target
        if isinstance(name, ast.Variable) or name.name.lower() in self.common:
            return
        if len(name.parts) == 1 and name.name.lower() in self.context.table_variables:
            raise self.context.fail(name, SqlError(286))
        found = resolve_object(name, self.context)
        if isinstance(found, View) and any(triggers_on(found, event) for event in EVENTS):
            raise self.context.not_supported(name, "MERGE into a view with INSTEAD OF triggers")

    def _assigned(self, source: Source) -> Choice:
        """The columns of the target its actions give values to; a DELETE alone names none."""
        names: list[str] = []
        every = False
        for when in self.node.whens:
            action = when.action
            if isinstance(action, ast.MergeUpdate):
                names += assigned_names(action.assignments)
            elif isinstance(action, ast.MergeInsert):
                names += action.columns or []
                every = every or action.columns is None
        if every:
            names += [column.name for column in source.columns if column.identity is None]
        return chosen(source, names or None, self.node, self.context)

    # ------------------------------------------------------------------ compiling
    def _joined(self, outer: bool) -> From:
        node = self.node
        leaf = self._leaf()
        join = ast.Join(
            node.pos, node.end, "LEFT" if outer else "INNER", node.source, leaf, node.condition
        )
        readers = [*node.whens, *(node.outputs or [])]
        return compile_from(
            [join],
            None,
            self.context.scope,
            self.compiler,
            self.common,
            self.memo,
            readers=readers,
            choose_target=self._chooser(leaf),
        )

    def _alone(self) -> From:
        leaf = self._leaf()
        return compile_from(
            [leaf],
            None,
            self.context.scope,
            self.compiler,
            self.common,
            [],
            readers=[self.node],
            choose_target=self._chooser(leaf),
        )

    def _limit(self) -> Callable[[Any, Any, int], int] | None:
        """TOP: taken of the rows left for an action once source and target are joined."""
        top = self.node.top
        if top is None:
            return None
        limit = row_limit(top, self.context.scope)
        return lambda session, variables, n: limit(session, variables, (), n)

    # ------------------------------------------------------------------ running
    def rows(self, session: SessionState, variables: Values) -> list[Match]:
        """The joined rows."""
        memo, source = self.memo, self.from_.changed
        if memo:
            session.engine.meter.blank(memo)
        start, key_at = source.offset, source.offset + len(source.columns)
        found: list[Match] = []
        for row in self.from_.rows(session, variables, ()):
            key = row[key_at]
            found.append((TARGET if key is None else MATCHED, row, key, row[start:key_at]))
        return self._images(variables, found)

    def _images(self, variables: Values, found: list[Match]) -> list[Match]:
        """What a view shows of a row is not the row."""
        if self.target.written is None:
            return found
        entries = self.target.at(variables).rows.entries
        return [
            (match, row, key, old if key is None else entries[key])
            for match, row, key, old in found
        ]

    def unmatched_targets(
        self, session: SessionState, variables: Values
    ) -> Callable[[list[Match]], list[Match]]:
        """Read the whole target now; the result keeps those no source row has met."""
        if self.alone is None:
            return lambda joined: []
        source, joined_at = self.alone.changed, self.from_.changed.offset
        key_at = source.offset + len(source.columns)
        before, after = (None,) * joined_at, self.width - joined_at - len(source.columns) - 1
        everything = [
            (row[key_at], row[source.offset : key_at])
            for row in self.alone.rows(session, variables, ())
        ]

        def keep(joined: list[Match]) -> list[Match]:
            met = {key for _, _, key, _ in joined}
            return self._images(
                variables,
                [
                    (SOURCE, (*before, *old, key, *(None,) * after), key, old)
                    for key, old in everything
                    if key not in met
                ],
            )

        return keep


def restricted(from_: From, sources: list[Source]) -> From:
    """The same rows, of which only the columns of some sources may be named."""
    columns = [column for source in sources for column in source.scope_columns()]
    return replace(from_, scope=replace(from_.scope, columns=columns))
