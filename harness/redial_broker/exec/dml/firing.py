"""A data change and its triggers: one statement, although its triggers run statement by statement.

The change does its writes, then pushes the frame of its first trigger and steps aside; when that
frame is left the next one is pushed, and after the last one the statement ends (row count, DONE,
commit). An autocommit transaction counts 1 meanwhile, so nothing inside commits it. When an error
leaves a trigger, everything back to the statement's mark is undone. Rules: F-206.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.storage import Table
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.calls import module_principal
from redial_broker.exec.dml.references import Effect
from redial_broker.exec.dml.targets import Target
from redial_broker.exec.objects import Trigger
from redial_broker.exec.tokens import enter
from redial_broker.exec.triggers import (
    DELETED,
    INSERTED,
    RowImages,
    nested_triggers,
    running_trigger,
    trigger_depth,
    trigger_program,
    triggers_on,
)

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

NONE_UPDATED: frozenset[int] = frozenset()


@definition(
    columns="of the table it is on",
    images="the frames of its triggers show them",
    transaction="the session's",
    then="the session shows it",
)
@dataclass(frozen=True, slots=True)
class Firing:
    """A statement whose triggers run; every trigger's frame carries it, nothing ever changes it.

    left: what to push after this one.
    """

    triggers: tuple[Trigger, ...]
    columns: list[Any]
    images: tuple[Table, Table]
    updated: frozenset[int] | None
    """Ordinals for UPDATE(column), None for all. mark and auto: of the statement."""
    command: int
    count: int
    transaction: Transaction
    mark: int
    auto: bool
    trancount: int
    scope_identity: Any
    """Of the scope it stands in."""
    then: Firing | None = None
    """What runs after the last of the triggers (the next action of a MERGE)."""

    def push(self, session: SessionState) -> None:
        """Push the frame of the first of the triggers."""
        trigger = self.triggers[0]
        program = trigger_program(session, trigger, self.columns)
        user = module_principal(trigger, trigger.database, session)
        frame = session.instance.machine.call(session, program, list(self.images), user=user)
        frame.firing = self
        session.options = session.options.changed(xact_abort=True)
        enter(session, trigger.database)
        session.rowcount = self.count
        session.scope_identity = None

    def left(self, session: SessionState) -> SqlError | None:
        """The first trigger is over: push the next one or end the statement.

        Returns the error the statement fails with: 3609 when the transaction is gone, 3616 when it
        is doomed.
        """
        session.scope_identity = self.scope_identity
        if session.transaction is not self.transaction:
            return SqlError(3609)
        if self.transaction.doomed:
            return SqlError(3616)
        if session.trancount != self.trancount:
            return NotSupported("a trigger that leaves another @@TRANCOUNT than it found")
        following = self._following()
        if following is not None:
            try:
                following.push(session)
            except SqlError as error:
                return error
            return None
        session.error = 0
        if self.auto:
            session.trancount, session.auto = 0, True
        if self.command:
            session.done(self.command, self.count)
        if self.auto:
            session.commit()
        else:
            session.mark = len(self.transaction.undo)
        return None

    def nothing(self, session: SessionState) -> list[Table]:
        """What is left in ``inserted`` and ``deleted`` once the transaction is rolled back."""
        return [
            Table(session.engine.journal, image.name, image.columns, temporary=True)
            for image in self.images
        ]

    def _following(self) -> Firing | None:
        if len(self.triggers) == 1:
            return self.then
        return replace(self, triggers=self.triggers[1:])

    def abandon(self, session: SessionState) -> None:
        """The statement fails: undo it with all its triggers did."""
        session.scope_identity = self.scope_identity
        transaction = self.transaction
        if session.transaction is not transaction:
            return
        if self.auto:
            session.rollback()
        elif len(transaction.undo) > self.mark:
            session.engine.journal.undo(transaction, self.mark)
            session.mark = self.mark


class StatementTriggers:
    """The triggers a compiled statement fires on its target.

    after: in the order they run; instead: the one that runs instead of the change, or None.
    """

    def __init__(
        self,
        parent: Any,
        columns: list[Any],
        event: str,
        updated: frozenset[int] | None,
        view: bool,
    ) -> None:
        self.after = tuple(triggers_on(parent, event, "AFTER"))
        self.instead = next(iter(triggers_on(parent, event, "INSTEAD OF")), None)
        self.view = view
        self.columns = columns
        self.updated = updated
        self.images = RowImages(INSERTED, columns), RowImages(DELETED, columns)

    def replaced(self, session: SessionState) -> bool:
        """Whether the INSTEAD OF trigger runs now: not when the statement stands in it."""
        replaced = self.instead is not None and running_trigger(session) != self.instead.object_id
        if self.view and not replaced:
            raise NotSupported("changing rows of a view in its own trigger")
        return replaced

    def fire(
        self,
        session: SessionState,
        command: int,
        inserted: list[RowValues],
        deleted: list[RowValues],
        effects: list[Effect] | None = None,
    ) -> bool:
        """Push the first AFTER trigger; False when none runs. The one that runs is left out.

        effects: what cascades did. Their triggers run in the opposite order of the cascades, then
        those of the target (F-230).
        """
        stages = [
            *cascaded(session, effects or []),
            (self, self.running_now(session), inserted, deleted),
        ]
        return start(session, stages, command, len(inserted) or len(deleted))

    def running_now(self, session: SessionState) -> tuple[Trigger, ...]:
        """The AFTER triggers that run for a statement of this session as it stands.

        The server option nested triggers OFF: none inside a trigger. The database option
        RECURSIVE_TRIGGERS ON: also the one that is running ("Create nested triggers" page).
        """
        if not self.after:
            return ()
        database = self.after[0].database
        if not nested_triggers(database) and trigger_depth(session):
            return ()
        running = 0 if database.options["recursive_triggers"] else running_trigger(session)
        return tuple(t for t in self.after if t.object_id != running)

    def fire_instead(
        self,
        session: SessionState,
        command: int,
        inserted: list[RowValues],
        deleted: list[RowValues],
    ) -> None:
        """Push the INSTEAD OF trigger."""
        assert self.instead is not None
        start(
            session,
            [(self, (self.instead,), inserted, deleted)],
            command,
            len(inserted) or len(deleted),
        )

    def firing(
        self,
        session: SessionState,
        triggers: tuple[Any, ...],
        command: int,
        count: int,
        inserted: list[RowValues],
        deleted: list[RowValues],
        then: Firing | None,
    ) -> Firing:
        """The run of some of the triggers over these rows, ``then`` after it."""
        for trigger in triggers:  # before anything is pushed: these may fail
            trigger_program(session, trigger, self.columns)
        engine, images, auto = session.engine, self.images, session.auto
        assert session.transaction is not None
        return Firing(
            triggers,
            self.columns,
            (images[0].filled(engine, inserted), images[1].filled(engine, deleted)),
            self.updated,
            command,
            count,
            session.transaction,
            session.mark,
            auto,
            1 if auto else session.trancount,
            session.scope_identity,
            then,
        )


if TYPE_CHECKING:
    from redial_broker.exec.context import Context

    Stage = tuple[StatementTriggers, tuple[Trigger, ...], list[RowValues], list[RowValues]]
    """(triggers of an action, those of them to run, inserted, deleted)."""


def start(session: SessionState, stages: list[Stage], command: int, count: int) -> bool:
    """Push the first trigger of a statement; False when none runs.

    stages: (triggers of an action, those of them to run, inserted, deleted), one after the other.
    count: rows the whole statement changed.
    """
    firing: Firing | None = None
    for stage, triggers, inserted, deleted in reversed(stages):
        if triggers:
            firing = stage.firing(session, triggers, command, count, inserted, deleted, firing)
    if firing is None:
        return False
    auto = session.auto
    firing.push(session)
    session.frames[-2].pc += 1
    if auto:
        session.auto, session.trancount = False, 1
    return True


def cascaded(session: SessionState, effects: list[Effect]) -> list[Stage]:
    """The stages of ``start`` for tables that cascades have changed."""
    stages: list[Stage] = []
    for effect in reversed(effects):
        stage = StatementTriggers(
            effect.table, effect.table.columns, effect.event, effect.ordinals, False
        )
        stages.append((stage, stage.running_now(session), effect.inserted, effect.deleted))
    return stages


def statement_triggers(
    node: Any,
    target: Target,
    event: str,
    context: Context,
    ordinals: set[int] | None = None,
    cascading: bool = False,
) -> StatementTriggers | None:
    """What a statement fires, None when nothing. ordinals: the columns an UPDATE assigns to.

    cascading: it may fire the triggers of other tables.

    Raises SqlError 334 for OUTPUT to the client beside an enabled trigger, NotSupported for a view
    without a trigger for the event.
    """
    parent = target.table
    if target.slot >= 0 or parent.temporary:
        return None
    own = triggers_on(parent, event)
    if not own:
        if target.view is not None:
            raise context.not_supported(node, "changing rows of a view")
        if not cascading:
            return None
    if own and any(clause.into is None for clause in node.outputs or []):
        raise context.fail(node, SqlError(334, parent.name))
    updated = {"INSERT": None, "DELETE": NONE_UPDATED}.get(event, frozenset(ordinals or ()))
    return StatementTriggers(parent, parent.columns, event, updated, target.view is not None)
