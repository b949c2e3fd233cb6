"""What a data change writes to: a table, a #temp table or a table variable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.versions import MAY_TAKE
from redial_broker.exec.dml.key_length import key_check
from redial_broker.exec.dml.row_length import row_check
from redial_broker.exec.dml.variables import VariableAccess
from redial_broker.exec.objects import View
from redial_broker.exec.query.bodies import Written
from redial_broker.exec.query.hints import Hints
from redial_broker.exec.query.permissions import check_permission
from redial_broker.exec.query.sources import (
    resolve_object,
    table_variable,
    template_table,
)
from redial_broker.exec.query.views import view_rowset
from redial_broker.exec.strictness import strict_table
from redial_broker.exec.triggers import EVENTS, triggers_on
from redial_broker.exec.trouble import length_check

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class Target:
    """A place to write to."""

    table: Table
    """For a table variable one like it."""
    slot: int = -1
    """Of a table variable."""
    view: View | None = None
    """The view INSTEAD OF triggers write for; table is then its columns under its name."""
    written: Written | None = None
    """What a view, derived or common table is written through to."""
    securables: list[Any] = field(default_factory=list)
    """What permissions are asked on."""
    name: str = ""
    """As it was written."""

    def ordinal(self, name: str) -> int | None:
        """The column of the table a name assigns to; None when there is none of that name.

        Raises 4406 for a computed column of a view.
        """
        if self.written is None:
            return self.table.ordinals.get(name.lower())
        place = self.place(name)
        if place is None:
            return None
        found = self.written.ordinals[place]
        if found < 0:
            raise SqlError(4406, self.name, aborts="scope")
        return found

    def place(self, name: str) -> int | None:
        """Where a column stands in the row read: in the view's order, where there is one."""
        if self.written is None:
            return self.table.ordinals.get(name.lower())
        names = [known.lower() for known in self.written.names]
        return names.index(name.lower()) if name.lower() in names else None

    def at(self, variables: Values) -> Table:
        """The table itself, at run time."""
        return self.table if self.slot < 0 else variables[self.slot]

    @property
    def shown(self) -> str:
        """The name error texts print."""
        table = self.table
        if self.slot >= 0:
            return table.name
        database = table.database.name if table.database is not None else "tempdb"
        return f"{database}.{table.schema}.{table.name}"


def resolve_target(
    node: ast.ObjectName | ast.Variable, context: Context, event: str = ""
) -> Target:
    """The target a statement names. Raises 208, 1087 for what cannot be written to.

    event: INSERT, UPDATE or DELETE, where the INSTEAD OF trigger of a view would run.
    """
    if isinstance(node, ast.Variable):
        slot, definition = table_variable(node, context)
        refuse_readonly(slot, node, context)
        template = template_table(definition, context)
        context.strict = context.strict or strict_table(template)
        return Target(template, slot)
    if len(node.parts) == 1 and node.name.lower() in context.table_variables:
        raise context.fail(node, SqlError(286))
    found = resolve_object(node, context)
    if isinstance(found, View) and any(
        triggers_on(found, one) for one in EVENTS if event in {"", one}
    ):
        table = view_table(found, context)
        return Target(table, view=found, securables=[table])
    if not isinstance(found, Table):
        kind = getattr(found, "kind", None) or "system view"
        raise context.not_supported(node, f"changing rows of a {kind.lower()}")
    context.strict = context.strict or strict_table(found)
    return Target(found, securables=[] if found.temporary else [found])


def refuse_readonly(slot: int, node: ast.Node, context: Context) -> None:
    """10700: a table-valued parameter is the caller's own table, and READONLY."""
    parameters = context.program.parameters
    if 0 <= slot < len(parameters) and parameters[slot].table_type is not None:
        raise context.fail(node, SqlError(10700, parameters[slot].name, aborts="scope"))


def view_table(view: View, context: Context) -> Table:
    """A table that is never filled, with the columns of a view and its name and id."""
    names = view.node.columns
    columns = [
        Column(names[i] if names else c.name, c.type, c.nullable)
        for i, c in enumerate(view_rowset(view, context).columns)
    ]
    return Table(
        context.session.engine.journal,
        view.name,
        columns,
        database=view.database,
        schema=view.schema,
        object_id=view.object_id,
    )


_WRITTEN = 8
"""What a row that is written counts, in rows that are read."""


class Writes:
    """One run of a data change: where it writes, and what it must undo if it fails half way.

    ``insert``, ``delete`` and ``update`` are those of the engine's row access.
    """

    __slots__ = ("access", "meter", "table", "transaction")

    def __init__(self, session: SessionState, variables: Values, target: Target) -> None:
        self.table = target.at(variables)
        self.meter = session.engine.meter
        self.transaction: Transaction = session.transaction or session.work()
        if target.slot >= 0:
            self.access: Any = VariableAccess(session.engine.journal)
            session.own_writes.append(self.access)
        else:
            if self.transaction.doomed:
                raise SqlError(3930)
            self.access = session.engine.access

    def insert(self, row: RowValues) -> None:
        """Insert one row."""
        self.meter.pause(_WRITTEN)
        self.access.insert(self.transaction, self.table, row)

    def delete(self, key: tuple[Any, ...]) -> None:
        """Delete the row at a clustered key."""
        self.meter.pause(_WRITTEN)
        self.access.delete(self.transaction, self.table, key)

    def update(self, key: tuple[Any, ...], row: RowValues) -> None:
        """Replace the row at a clustered key."""
        self.meter.pause(_WRITTEN)
        self.access.update(self.transaction, self.table, key, row)

    def all(self, changes: Callable[[], None]) -> None:
        """Run the changes; a table variable has no transaction, so its half is undone here."""
        if not isinstance(self.access, VariableAccess):
            changes()
            return
        try:
            changes()
        except BaseException:
            self.access.undo()
            raise


def lock_for_write(
    session: SessionState,
    table: Table,
    hints: Hints,
    permission: str,
    securables: list[Any] | None = None,
) -> Transaction:
    """Permission and object lock of an INSERT; IX, or X under TABLOCK and TABLOCKX."""
    transaction = session.transaction or session.work()
    if table.temporary:
        return transaction
    if session.user is not None:
        for securable in [table] if securables is None else securables:
            check_permission(session, permission, securable)
    mode = "X" if hints.names & {"TABLOCK", "TABLOCKX"} else "IX"
    session.engine.access.lock_table(transaction, table, mode)
    if session.isolation == "snapshot":
        session.engine.transactions.versions.enter(transaction, table)
    elif transaction.snapshot == MAY_TAKE:
        session.engine.transactions.versions.touch(transaction)
    return transaction


def checker(
    target: Target,
    statement: str,
    ordinals: set[int] | None = None,
    named: str = "",
    *,
    constraints: bool = True,
) -> Callable[..., Any] | None:
    """check(s, row): NOT NULL, CHECK, length of keys; None when there is nothing to check.

    ordinals: the columns that may have changed, None for all. Raises 511, 515, 547 and 1946. named: what
    547 calls the statement (MERGE), where that is not ``statement``. constraints: False for a bulk
    load that leaves CHECK constraints out.
    """
    columns = target.table.columns
    required = [
        i
        for i, column in enumerate(columns)
        if not column.nullable
        and (ordinals is None or i in ordinals)
        and column.identity is None
        and not column.rowversion
    ]
    checks = [c for c in target.table.checks if c.enabled] if constraints else []
    lengths = [
        key_check(target.table, ordinals),
        row_check(target.table),
        length_check(target.table),
    ]
    too_long = [test for test in lengths if test is not None]
    visible = target.written.checks if target.written is not None else []
    no_values = cast("Values", ())  # a view reads no variables
    if not required and not checks and not too_long and not visible:
        return None

    def refuse_null(row: RowValues) -> None:
        for i in required:
            if row[i] is None:
                raise SqlError(515, columns[i].name, target.shown, statement)

    def check(session: SessionState, row: RowValues) -> None:
        for i in required:
            if row[i] is None:
                refuse_null(row)
        for test in too_long:
            test(row)
        for constraint in checks:
            if constraint.accepts(session, row) is False:
                table = target.table
                where = f", column '{constraint.column}'" if constraint.column else ""
                database = table.database.name if table.database is not None else "tempdb"
                raise SqlError(
                    547,
                    named or statement,
                    "CHECK",
                    constraint.name,
                    database,
                    table.full_name,
                    where,
                    state=0,
                )
        for seen in visible:  # WITH CHECK OPTION of the view written through, or of one below
            if not seen(session, no_values, row):
                raise SqlError(550)

    return check
