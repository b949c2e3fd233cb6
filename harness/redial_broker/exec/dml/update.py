"""UPDATE: new values from the old row and what FROM adds, then the writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.completions import UPDATE
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.dml.changes import Change, ChangeCompiler
from redial_broker.exec.dml.firing import statement_triggers
from redial_broker.exec.dml.methods import column_method
from redial_broker.exec.dml.output import Outputs, each
from redial_broker.exec.dml.references import references
from redial_broker.exec.dml.rows import assignment, changed_row, next_version
from redial_broker.exec.dml.targets import Target, Writes, checker
from redial_broker.exec.expressions import binary_operation, compile_expression
from redial_broker.exec.expressions.expr import Expr, column
from redial_broker.exec.program import SWITCH
from redial_broker.exec.query.permissions import check_permission, column_numbers
from redial_broker.exec.query.rowset import scope_width
from redial_broker.exec.query.sources import Source
from redial_broker.exec.query.statement import assigned
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.engine.storage import Table
    from redial_broker.exec.closures import Convert, Fn, Values
    from redial_broker.exec.session import SessionState


@compiles(ast.Update)
def compile_update(node: ast.Update, context: Context) -> Run:
    """UPDATE: find and lock the rows, work out the new ones, then write."""
    change = ChangeCompiler(node, context).compile([*node.assignments, *(node.outputs or [])])
    target, read = change.target, change.read
    assignments = Assignments(node.assignments, change, context)
    check = checker(target, "UPDATE", assignments.ordinals)
    base = scope_width(change.from_.scope)
    outputs = Outputs(
        node.outputs, target, context, change.others, base, inserted=True, deleted=True
    )
    moves, told = moves_keys(target, assignments.ordinals), outputs.client is not None
    securables, positioned = target.securables, change.positioned
    columns = column_numbers(assignments.ordinals) if len(securables) == 1 else ()
    apply, slots = assignments.apply, assignments.slots
    keys = references(target.table, "UPDATE", assignments.ordinals, changed_row)
    triggers = statement_triggers(
        node, target, "UPDATE", context, assignments.ordinals, keys is not None
    )

    def new_of(session: SessionState, work: Values, item: RowValues, table: Table) -> RowValues:
        row, _, old = item
        new: RowValues = apply(session, work, row, old, table)
        if check is not None:
            check(session, new)
        return new

    def run(session: SessionState, variables: Values) -> int | None:
        if session.user is not None:
            for securable in securables:
                check_permission(session, "UPDATE", securable, columns)
        found = session.limited(read(session, variables))
        table = target.at(variables)
        work = variables[:] if slots else variables
        if told:
            changed = one_by_one(found, lambda item: new_of(session, work, item, table))
        else:
            changed = [
                (row, key, old, apply(session, work, row, old, table)) for row, key, old in found
            ]
        if triggers is not None and triggers.replaced(session):
            triggers.fire_instead(
                session, UPDATE, [new for *_, new in changed], [old for *_, old, _ in changed]
            )
            return SWITCH
        if check is not None and not told:
            for _, _, _, new in changed:
                check(session, new)
        writes = Writes(session, variables, target)
        writes.all(lambda: (write_told if told else write)(writes, changed, moves))
        effects = (
            keys.updated(session, writes.transaction, [(old, new) for *_, old, new in changed])
            if keys is not None and changed
            else []
        )
        for slot in slots:
            variables[slot] = work[slot]
        if outputs:
            outputs.deliver(session, variables, [image(item) for item in changed])
        if positioned is not None:
            for *_, new in changed:
                positioned.changed(session, variables, new)
        if triggers is not None and triggers.fire(
            session, UPDATE, [new for *_, new in changed], [old for *_, old, _ in changed], effects
        ):
            return SWITCH
        session.done(UPDATE, len(changed))
        return None

    return outputs.watched(run)


def image(item: RowValues) -> RowValues:
    """What OUTPUT sees of a changed row."""
    row, _, old, new = item
    return (*row, *new, *old)


def one_by_one(found: list[RowValues], new_of: Callable[[RowValues], RowValues]) -> list[RowValues]:
    """Work out and check row by row: a client is told of those before one that fails."""
    changed: list[RowValues] = []
    each(
        found,
        lambda item: changed.append((*item, new_of(item))),
        lambda item: image(changed[found.index(item)]),
    )
    return changed


def write(writes: Writes, changed: list[RowValues], moves: bool) -> None:
    """Write new rows. moves: keys change, so several rows may trade places: out first, then in."""
    if moves and len(changed) > 1:
        for _, key, _, _ in changed:
            writes.delete(key)
        for _, _, _, new in changed:
            writes.insert(new)
        return
    for _, key, _, new in changed:
        writes.update(key, new)


def write_told(writes: Writes, changed: list[RowValues], moves: bool) -> None:
    """The same for a client who is told of the rows before one that fails."""
    if moves and len(changed) > 1:
        for _, key, _, _ in changed:
            writes.delete(key)
        each(changed, lambda item: writes.insert(item[3]), image)
        return
    each(changed, lambda item: writes.update(item[1], item[3]), image)


def moves_keys(target: Target, ordinals: set[int]) -> bool:
    """Whether a column of a unique key is assigned to."""
    table = target.table
    indexes = [table.rows, *table.indexes]
    return any(index.unique and ordinals & set(index.columns) for index in indexes)


class Assignments:
    """The SET clause. ordinals: of the columns it changes; slots: of the variables it sets.

    steps: (closure of the value over the row read, ordinal or -1, slot or -1, conversion from the
    column to the variable or None), in the order written; each value is worked out once.
    """

    def __init__(
        self, nodes: list[ast.Assignment | ast.ColumnMethod], change: Change, context: Context
    ) -> None:
        self.context = context
        self.target = change.target
        self.scope = change.from_.scope
        source = change.from_.changed
        self.offset = source.offset
        self.steps: list[tuple[Fn, int, int, Convert | None]] = []
        self.ordinals: set[int] = set()
        self.slots: list[int] = []
        for node in nodes:
            if isinstance(node, ast.Assignment):
                self._one(node)
            else:
                self._method(node, source)
        self._add_computed()

    def _add_computed(self) -> None:
        """Computed columns change with the columns they read."""
        columns = self.target.table.columns
        names = {columns[i].name.lower() for i in self.ordinals}
        self.ordinals |= {
            i for i, c in enumerate(columns) if c.computed and c.computed.names & names
        }

    def _method(self, node: ast.ColumnMethod, source: Source) -> None:
        ordinal, expr = column_method(node, source, self.scope, self.context)
        if ordinal in self.ordinals:
            name = self.target.table.columns[ordinal].name
            raise self.context.fail(node, SqlError(264, name, aborts="scope"))
        self.ordinals.add(ordinal)
        self.steps.append((assignment(expr, self.target, ordinal).fn, ordinal, -1, None))

    def _one(self, node: ast.Assignment) -> None:
        ordinal = slot = -1
        convert = None
        if node.column is not None:
            ordinal, fn, of = self._column(node, node.column.name)
            self.ordinals.add(ordinal)
        if node.variable is not None:
            found = self.context.scope.resolve_variable(node.variable)
            slot = found.slot
            self.slots.append(slot)
            if node.column is not None:
                convert = compile_assignment_conversion(of, found.type)
            else:
                expr = compile_expression(node.value, self.scope)
                fn = assigned(expr, node.op, slot, found.type)
        self.steps.append((fn, ordinal, slot, convert))

    def _column(self, node: ast.Assignment, name: str) -> tuple[int, Fn, Any]:
        """(ordinal, closure of its new value, type) of a column that is assigned to."""
        context, table = self.context, self.target.table
        ordinal = self.target.ordinal(name)
        if ordinal is None:
            raise context.fail(node, SqlError(207, name))
        if table.columns[ordinal].computed is not None:
            raise context.fail(node, SqlError(271, name, aborts="scope"))
        if ordinal in self.ordinals:
            raise context.fail(node, SqlError(264, name, aborts="scope"))
        definition = table.columns[ordinal]
        if definition.identity is not None:
            raise context.fail(node, SqlError(8102, name, aborts="scope"))
        if definition.rowversion:
            raise context.fail(node, SqlError(272, aborts="scope"))
        if isinstance(node.value, ast.DefaultValue):
            default = definition.default
            expr = Expr(
                (lambda session, variables, row: default(session))
                if default
                else (lambda session, variables, row: None),
                definition.type,
            )
        else:
            expr = compile_expression(node.value, self.scope)
            if node.op != "=":
                place = self.target.place(name)
                assert place is not None  # it has an ordinal
                old = column(self.offset + place, definition.type, definition.nullable)
                expr = binary_operation(node.op[0], old, expr)
        return ordinal, assignment(expr, self.target, ordinal).fn, definition.type

    @property
    def apply(self) -> Callable[[SessionState, Values, RowValues, RowValues, Any], RowValues]:
        """(s, locals, row read, old target row, table) -> new target row; sets variables."""
        steps, version = self.steps, self.target.table.rowversion_column
        computed = bool(self.target.table.computed)

        def run(
            session: SessionState, variables: Values, row: RowValues, old: RowValues, table: Table
        ) -> tuple[Any, ...]:
            new = list(old)
            for fn, ordinal, slot, convert in steps:
                value = fn(session, variables, row)
                if ordinal >= 0:
                    new[ordinal] = value
                if slot >= 0:
                    variables[slot] = value if convert is None else convert(value)
            if version is not None:
                new[version] = next_version(session, table)
            return table.with_computed(session, tuple(new)) if computed else tuple(new)

        return run
