"""DELETE and TRUNCATE TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.completions import DELETE
from redial_broker.exec.context import Context
from redial_broker.exec.dml.changes import ChangeCompiler
from redial_broker.exec.dml.firing import statement_triggers
from redial_broker.exec.dml.output import Outputs
from redial_broker.exec.dml.references import foreign_keys, references
from redial_broker.exec.dml.rows import changed_row
from redial_broker.exec.dml.targets import Writes, resolve_target
from redial_broker.exec.program import SWITCH
from redial_broker.exec.query.permissions import check_permission
from redial_broker.exec.query.rowset import scope_width
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@compiles(ast.Delete)
def compile_delete(node: ast.Delete, context: Context) -> Run:
    """DELETE: find and lock the rows, then take each out of every index."""
    change = ChangeCompiler(node, context).compile(list(node.outputs or []))
    target, read = change.target, change.read
    base = scope_width(change.from_.scope)
    outputs = Outputs(
        node.outputs, target, context, change.others, base, inserted=False, deleted=True
    )
    nothing = (None,) * len(target.table.columns)
    securables = target.securables
    keys = references(target.table, "DELETE", None, changed_row)
    triggers = statement_triggers(node, target, "DELETE", context, cascading=keys is not None)

    def run(session: SessionState, variables: Values) -> int | None:
        if session.user is not None:
            for securable in securables:
                check_permission(session, "DELETE", securable)
        found = session.limited(read(session, variables))
        if triggers is not None and triggers.replaced(session):
            triggers.fire_instead(session, DELETE, [], [old for _, _, old in found])
            return SWITCH
        writes = Writes(session, variables, target)

        def changes() -> None:
            for _, key, _ in found:
                writes.delete(key)

        writes.all(changes)
        effects = (
            keys.deleted(session, writes.transaction, [old for _, _, old in found])
            if keys is not None and found
            else []
        )
        if outputs:
            outputs.deliver(session, variables, [row + nothing + old for row, _, old in found])
        if triggers is not None and triggers.fire(
            session, DELETE, [], [old for _, _, old in found], effects
        ):
            return SWITCH
        session.done(DELETE, len(found))
        return None

    return outputs.watched(run)


@compiles(ast.TruncateTable)
def compile_truncate(node: ast.TruncateTable, context: Context) -> Run:
    """TRUNCATE TABLE: Sch-M on the table, every row gone, the identity back at its seed."""
    target = resolve_target(node.name, context)
    table = target.table

    def run(session: SessionState, variables: Values) -> None:
        transaction = session.transaction or session.work()
        if transaction.doomed:
            raise SqlError(3930)
        if not table.temporary:
            check_permission(session, "ALTER", table)
            session.engine.access.lock_table(transaction, table, "Sch-M")
            if any(c.parent_id != table.object_id for c in foreign_keys(table)[1]):
                raise SqlError(4712, table.name)
            if value(session.engine, "snapshot_truncate") == "dml":
                session.engine.journal.save(transaction)
                transaction.events.append(("truncated", table.lock_key))
        for key in list(table.rows.entries):
            table.delete(transaction, key)
        if table.identity_column is not None:
            identity = table.columns[table.identity_column].identity
            assert identity is not None  # it is the identity column
            seed = identity[0]
            session.engine.journal.assign(transaction, table, "next_identity", seed)
        session.set_rowcount(0)

    return run
