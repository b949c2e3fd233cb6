"""MERGE: one join of source and target, one action per joined row, one set of writes.

Source: "MERGE (Transact-SQL)" page. The target is read with update locks, kept, as any target of a
data change; HOLDLOCK makes them key-range locks. A target that is compared with every source row
(WHEN NOT MATCHED BY SOURCE) is read from end to end first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.completions import MERGE
from redial_broker.exec.context import Context
from redial_broker.exec.dml.firing import cascaded, start, statement_triggers
from redial_broker.exec.dml.insert import check_identity_insert
from redial_broker.exec.dml.matching import Matching
from redial_broker.exec.dml.merge_actions import (
    DELETE,
    INSERT,
    UPDATE,
    Action,
    Actions,
    check_clauses,
)
from redial_broker.exec.dml.output import Outputs, each
from redial_broker.exec.dml.references import Effect, references
from redial_broker.exec.dml.rows import changed_row, note_identity
from redial_broker.exec.dml.targets import Writes, checker, lock_for_write
from redial_broker.exec.dml.update import moves_keys
from redial_broker.exec.dml.update import write as write_updates
from redial_broker.exec.program import SWITCH
from redial_broker.exec.query.hints import NO_HINTS
from redial_broker.exec.query.permissions import check_permission
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.engine.needs import IndexKey, RowValues
    from redial_broker.engine.storage import Table
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class Found:
    """What one run of a MERGE is going to do."""

    changes: list[
        tuple[Action, tuple[Any, ...], tuple[Any, ...] | None, tuple[Any, ...], tuple[Any, ...]]
    ] = field(default_factory=list)
    """(action, row read, key, old, new)."""
    effects: list[Effect] = field(default_factory=list)
    """What cascades did."""

    def of(
        self, kind: str
    ) -> list[tuple[tuple[Any, ...], tuple[Any, ...] | None, tuple[Any, ...], tuple[Any, ...]]]:
        """(row read, key, old, new) of the changes of one kind."""
        return [
            (row, key, old, new)
            for action, row, key, old, new in self.changes
            if action.kind == kind
        ]


@compiles(ast.Merge)
def compile_merge(node: ast.Merge, context: Context) -> Run:
    """MERGE: join, choose an action per row, then write deletes, updates and inserts."""
    check_clauses(node, context)
    matching = Matching(node, context)
    target = matching.target
    actions = Actions(node, matching, context)
    plan = _Plan(node, matching, actions, context)
    outputs = Outputs(
        node.outputs,
        target,
        context,
        matching.others,
        matching.width,
        inserted=True,
        deleted=True,
        action=True,
    )
    permissions = sorted(actions.kinds)
    slots = actions.slots

    def run(session: SessionState, variables: Values) -> int | None:
        if session.user is not None:
            for securable in target.securables:
                for permission in permissions:
                    check_permission(session, permission, securable)
        if INSERT in actions.kinds:
            check_identity_insert(session, target.at(variables), actions.chosen, target.table.name)
            lock_for_write(session, target.at(variables), NO_HINTS, INSERT, target.securables)
        session.refuse_rowcount("MERGE")
        work = variables[:] if slots else variables
        found = plan.find(session, work, client=outputs.client is not None)
        if plan.instead:
            plan.fire(session, found, instead=True)
            return SWITCH
        plan.write(session, variables, found)
        for slot in slots:
            variables[slot] = work[slot]
        if outputs:
            outputs.deliver(
                session,
                variables,
                [image(change) for change in found.changes],
            )
        if plan.fire(session, found, instead=False):
            return SWITCH
        session.done(MERGE, len(found.changes))
        return None

    return outputs.watched(run)


def image(change: tuple[Any, ...]) -> RowValues:
    """What OUTPUT sees of a change."""
    action, row, _, old, new = change
    return (*row, *new, *old, action.kind)


class _Plan:
    """The steps of one MERGE: find what to do, write it, fire the triggers."""

    def __init__(
        self, node: ast.Merge, matching: Matching, actions: Actions, context: Context
    ) -> None:
        self.matching, self.actions, self.target = matching, actions, matching.target
        self.nothing = (None,) * len(self.target.table.columns)
        self.moves = moves_keys(self.target, actions.updated)
        self.check_new = checker(self.target, INSERT, named="MERGE")
        self.check_changed = checker(self.target, UPDATE, actions.updated, "MERGE")
        self.keys = {
            kind: references(
                self.target.table,
                kind,
                actions.updated if kind == UPDATE else None,
                changed_row,
                "MERGE",
            )
            for kind in sorted(actions.kinds)
        }
        self.triggers = {
            kind: triggers
            for kind in (INSERT, UPDATE, DELETE)
            if kind in actions.kinds
            and (triggers := statement_triggers(node, self.target, kind, context, actions.updated))
            is not None
        }
        replaced = {kind for kind, found in self.triggers.items() if found.instead is not None}
        if replaced and replaced != actions.kinds:
            raise context.fail(node, SqlError(5316, self.target.table.name, aborts="scope"))
        self.instead = bool(replaced)

    # ------------------------------------------------------------------ what to do
    def find(self, session: SessionState, variables: Values, *, client: bool) -> Found:
        """Choose the action of each joined row. Raises 8672 for a row changed twice.

        client: hears of rows before one that fails.
        """
        found = Found()
        table = self.target.at(variables)
        seen: set[tuple[Any, ...]] = set()
        alone = self.matching.unmatched_targets(session, variables)
        joined = self.matching.rows(session, variables)
        for match, row, key, old in [*joined, *alone(joined)]:
            action = self.actions.choose(session, variables, match, row)
            if action is None:
                continue
            if key is not None:
                if key in seen:
                    raise SqlError(8672)
                seen.add(key)
            found.changes.append((action, row, key, old, ()))
        limit = self.matching.limit
        if limit is not None:
            del found.changes[limit(session, variables, len(found.changes)) :]
        chosen, found.changes = found.changes, []

        def work_out(change: tuple[Any, ...]) -> None:
            action, row, key, old, _ = change
            new = self._new(session, variables, action, row, old, table)
            found.changes.append((action, row, key, old, new))

        if client:
            each(chosen, work_out, lambda change: image(found.changes[chosen.index(change)]))
        else:
            for change in chosen:
                work_out(change)
        return found

    def _new(
        self,
        session: SessionState,
        variables: Values,
        action: Action,
        row: RowValues,
        old: RowValues,
        table: Table,
    ) -> tuple[Any, ...]:
        return (
            self.nothing if action.new is None else action.new(session, variables, row, old, table)
        )

    # ------------------------------------------------------------------ writing
    def write(self, session: SessionState, variables: Values, found: Found) -> None:
        """Rows go before others take their keys: deletes, then updates, then inserts."""
        inserts, updates = found.of(INSERT), found.of(UPDATE)
        for _, _, _, new in updates:
            if self.check_changed is not None:
                self.check_changed(session, new)
        writes = Writes(session, variables, self.target)

        def changes() -> None:
            for _, key, _, _ in found.of(DELETE):
                writes.delete(cast("IndexKey", key))
            write_updates(writes, updates, self.moves)
            for _, _, _, new in inserts:
                if self.check_new is not None:
                    self.check_new(session, new)
                writes.insert(new)

        writes.all(changes)
        self._refer(session, writes, found)
        note_identity(session, self.target.at(variables), [new for *_, new in inserts])

    def _refer(self, session: SessionState, writes: Writes, found: Found) -> None:
        """FOREIGN KEYs, of the rows that went first: cascades may change what others refer to."""
        transaction = writes.transaction
        for kind, keys in self.keys.items():
            rows = found.of(kind)
            if keys is None or not rows:
                continue
            if kind == DELETE:
                found.effects += keys.deleted(session, transaction, [old for *_, old, _ in rows])
            elif kind == UPDATE:
                found.effects += keys.updated(session, transaction, [(o, n) for *_, o, n in rows])
        inserting = self.keys.get(INSERT)
        if inserting is not None:
            inserting.inserted(session, transaction, [new for *_, new in found.of(INSERT)])

    def fire(self, session: SessionState, found: Found, *, instead: bool) -> bool:
        """Triggers of each action the statement names, rows or no rows; the order of actions is
        not guaranteed (MERGE page): here INSERT, UPDATE, DELETE.
        """
        stages = cascaded(session, found.effects)
        for kind, triggers in self.triggers.items():
            rows = found.of(kind)
            inserted = [] if kind == DELETE else [new for *_, new in rows]
            deleted = [] if kind == INSERT else [old for *_, old, _ in rows]
            replacing = triggers.instead if instead else None
            chosen = (replacing,) if replacing is not None else triggers.running_now(session)
            stages.append((triggers, chosen, inserted, deleted))
        return start(session, stages, MERGE, len(found.changes))
