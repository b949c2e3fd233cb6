"""What UPDATE and DELETE share: which source is the target, reading it, TOP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.dml.positioned import Positioned
from redial_broker.exec.dml.targets import Target, resolve_target
from redial_broker.exec.dml.through import assigned_names, chosen, target_of
from redial_broker.exec.objects import View
from redial_broker.exec.query.bodies import Choice
from redial_broker.exec.query.compile import QueryCompiler
from redial_broker.exec.query.froms import From, compile_from
from redial_broker.exec.query.hints import Hints, parse_hints
from redial_broker.exec.query.ordering import row_count, row_limit
from redial_broker.exec.query.sources import Source, resolve_object, table_columns
from redial_broker.exec.query.views import view_rowset
from redial_broker.exec.triggers import triggers_on

if TYPE_CHECKING:
    from redial_broker.engine.needs import IndexKey, RowValues
    from redial_broker.exec.closures import Limit, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

    Leaf = ast.TableRef | ast.VariableTable | ast.DerivedTable
    """What FROM may name a target by."""

    ReadRow = tuple[RowValues, IndexKey, RowValues]
    """A row read, the clustered key of the target's row in it, and that row."""

    Read = Callable[[SessionState, Values], list[ReadRow]]
    """The rows to change, each row of the target once."""


@dataclass(slots=True)
class Change:
    """A compiled FROM clause with its target."""

    target: Target
    from_: From
    read: Read
    """(session, variables) -> (row, clustered key, old row of the target), each target row once."""
    positioned: Positioned | None = None
    """Of a change WHERE CURRENT OF."""

    @property
    def others(self) -> list[Source]:
        """The sources that are not changed."""
        return [source for source in self.from_.sources if not source.write]


class ChangeCompiler:
    """Compiles the reading half of an UPDATE or DELETE."""

    def __init__(self, node: ast.Update | ast.Delete, context: Context) -> None:
        self.node = node
        self.context = context
        self.compiler = QueryCompiler(context)
        self.compiler.note_options(node)
        self.common = self.compiler.common_tables(node, context.scope, {}) if node.with_ else {}
        self.memo: list[Any] = []
        self.chosen: ast.TableSource | None = None

    def compile(self, readers: list[ast.Node]) -> Change:
        """Bind FROM, find the target in it, choose paths."""
        node, context = self.node, self.context
        hints = parse_hints(node.hints, context, target=True)
        if isinstance(node.where, ast.CurrentOf):
            return self._positioned(node.where, readers, hints)
        sources, extra = list(node.from_), None
        self.chosen = self._match()
        if self.chosen is None and self._through():
            name = cast("ast.ObjectName", node.target)
            self.chosen = ast.TableRef(name.pos, name.end, name, None, node.hints or [])
            sources.insert(0, self.chosen)
        elif self.chosen is None:
            extra = self._extra(hints)
        top = row_limit(node.top, context.scope) if node.top else None
        limit = None
        if node.top and not node.top.percent:
            limit = row_count(node.top.count, context.scope)
        from_ = compile_from(
            sources,
            node.where,
            context.scope,
            self.compiler,
            self.common,
            self.memo,
            readers=readers,
            limit=limit,
            extra=extra,
            choose_target=None if extra is not None else self._chooser(hints),
        )
        source = from_.target
        if source is not None and source is extra and source.table is None:
            return Change(
                resolve_target(node.target, context, self.event),
                from_,
                self._reader(from_, source, top, None),
            )
        if source is None:
            raise context.fail(node, SqlError(208, _shown(node.target)))
        target = target_of(source, node, context)
        return Change(target, from_, self._reader(from_, source, top, target))

    def _positioned(self, where: ast.CurrentOf, readers: list[ast.Node], hints: Hints) -> Change:
        """The row a cursor stands on."""
        node, context = self.node, self.context
        if node.from_ or self._through():
            raise context.not_supported(where, "WHERE CURRENT OF beside FROM or on a view")
        source = self._extra(hints)
        from_ = compile_from(
            [],
            None,
            context.scope,
            self.compiler,
            self.common,
            self.memo,
            readers=readers,
            extra=source,
        )
        names = assigned_names(node.assignments) if isinstance(node, ast.Update) else []
        positioned = Positioned(where, source, target_of(source, node, context), names, context)
        return Change(positioned.target, from_, positioned.read, positioned)

    # ------------------------------------------------------------------ which source
    @property
    def event(self) -> str:
        """UPDATE or DELETE."""
        return "UPDATE" if isinstance(self.node, ast.Update) else "DELETE"

    def _common(self, name: ast.Node) -> bool:
        return (
            isinstance(name, ast.ObjectName)
            and len(name.parts) == 1
            and name.name.lower() in self.common
        )

    def _through(self) -> bool:
        """Whether the target is a common table, or a view no INSTEAD OF trigger writes for."""
        name = self.node.target
        if not isinstance(name, ast.ObjectName):
            return False
        if self._common(name):
            return True
        if len(name.parts) == 1 and name.name.lower() in self.context.table_variables:
            return False
        found = resolve_object(name, self.context)
        return isinstance(found, View) and not triggers_on(found, self.event)

    def _leaves(self) -> list[Leaf]:
        return [
            part
            for item in self.node.from_
            for part in _leaves(item)
            if isinstance(part, (ast.TableRef, ast.VariableTable, ast.DerivedTable))
        ]

    def _match(self) -> Leaf | None:
        """The leaf of FROM the target names: by alias first, else the one of the same object."""
        target = self.node.target
        leaves = self._leaves()
        wanted = target.name.lower() if isinstance(target, ast.ObjectName) else ""
        for leaf in leaves:
            single = isinstance(target, ast.ObjectName) and len(target.parts) == 1
            if single and leaf.alias is not None and leaf.alias.lower() == wanted:
                return leaf
        same = [leaf for leaf in leaves if self._same(leaf, target)]
        bare = [leaf for leaf in same if leaf.alias is None]
        if len(bare) == 1:
            return bare[0]
        if len(same) > 1:
            raise self.context.fail(self.node, SqlError(8154, _shown(target), aborts="scope"))
        return same[0] if same else None

    def _same(self, leaf: Leaf, target: ast.ObjectName | ast.Variable) -> bool:
        if isinstance(leaf, ast.DerivedTable):
            return False
        if isinstance(leaf, ast.VariableTable):
            return (
                isinstance(target, ast.Variable)
                and leaf.variable.name.lower() == target.name.lower()
            )
        if not isinstance(target, ast.ObjectName) or leaf.name.name.lower() != target.name.lower():
            return False
        if self._common(leaf.name) or self._common(target):
            return self._common(leaf.name) and self._common(target)
        return resolve_object(leaf.name, self.context) is resolve_object(target, self.context)

    def _chooser(self, hints: Hints) -> Callable[[ast.Node, Source], Choice | None]:
        update = self.node if isinstance(self.node, ast.Update) else None
        names = assigned_names(update.assignments) if update is not None else None

        def choose(node: ast.Node, source: Source) -> Choice | None:
            if node is not self.chosen:
                return None
            if source.hints.names & {"NOLOCK", "READUNCOMMITTED"}:
                raise self.context.fail(node, SqlError(1065, aborts="scope"))
            if source.table is None:
                self._refuse_trigger(node)
            source.hints = replace(source.hints, names=source.hints.names | hints.names)
            return chosen(source, names, self.node, self.context)

        return choose

    def _refuse_trigger(self, node: ast.Node) -> None:
        """4422, 4423: a view with an INSTEAD OF trigger is no target of UPDATE ... FROM."""
        if not isinstance(node, ast.TableRef) or self._common(node.name):
            return
        found = resolve_object(node.name, self.context)
        if isinstance(found, View) and triggers_on(found, self.event):
            number = 4422 if self.event == "UPDATE" else 4423
            raise self.context.fail(node, SqlError(number, found.name, aborts="scope"))

    def _extra(self, hints: Hints) -> Source:
        """The target when FROM does not mention it."""
        node = self.node.target
        target = resolve_target(node, self.context, self.event)
        table: Table = target.table
        if target.view is not None:
            return _view_source(target, hints, self.node, self.context)
        name = node.name.lower() if isinstance(node, ast.Variable) else table.name.lower()
        qualifiers = (
            (name,)
            if target.slot >= 0 or table.database is None
            else (table.database.name.lower(), table.schema.lower(), name)
        )
        return Source(
            table_columns(table),
            qualifiers,
            table,
            slot=target.slot,
            hints=hints,
            write=True,
            with_key=True,
            securable=table,
        )

    # ------------------------------------------------------------------ reading
    def _reader(
        self, from_: From, source: Source, top: Limit | None, target: Target | None
    ) -> Read:
        rows, memo = from_.rows, self.memo
        start, key_at = source.offset, source.offset + len(source.columns)
        through = source.behind is not None
        alone = len(from_.sources) == 1 and not through

        def read(session: SessionState, variables: Values) -> list[ReadRow]:
            if memo:
                session.engine.meter.blank(memo)
            if alone:
                found = [
                    (row, row[key_at], row[start:key_at]) for row in rows(session, variables, ())
                ]
            else:
                by_key: dict[IndexKey, RowValues] = {}
                for row in rows(session, variables, ()):
                    if row[key_at] is not None:  # the empty side of an outer join
                        by_key.setdefault(row[key_at], row)
                found = [(row, key, row[start:key_at]) for key, row in by_key.items()]
            if through and target is not None:  # what a view shows of a row is not the row
                entries = target.at(variables).rows.entries
                found = [(row, key, entries[key]) for row, key, _ in found]
            return found if top is None else found[: top(session, variables, (), len(found))]

        return read


def _view_source(target: Target, hints: Hints, node: ast.Node, context: Context) -> Source:
    """A view as the target of an INSTEAD OF trigger: its rows, numbered in place of a key."""
    view, table = cast("View", target.view), target.table
    if hints.names:
        raise context.not_supported(node, "a table hint on a view")
    rows_of = view_rowset(view, context).rows

    def rows(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
        return [(*row, (number,)) for number, row in enumerate(rows_of(session, variables, outer))]

    qualifiers = (table.database.name.lower(), table.schema.lower(), table.name.lower())
    return Source(table_columns(table), qualifiers, rows=rows, write=True, with_key=True)


def _leaves(node: ast.Node) -> list[ast.Node]:
    """The leaves of a join tree, derived tables not entered."""
    if isinstance(node, (ast.Join, ast.Apply)):
        return _leaves(node.left) + _leaves(node.right)
    return [node]


def _shown(node: ast.ObjectName | ast.Variable) -> str:
    return node.name if isinstance(node, ast.Variable) else ".".join(node.parts)
