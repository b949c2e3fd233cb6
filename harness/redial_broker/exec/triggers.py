"""Triggers as the executor sees them: which a table has, their programs, their row images.

Source: "CREATE TRIGGER" page, F-206.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.compiler import ProgramCompiler, compile_program
from redial_broker.exec.objects import Trigger
from redial_broker.exec.program import Program

if TYPE_CHECKING:
    from redial_broker.engine.kernel import Engine
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

EVENTS = ("INSERT", "UPDATE", "DELETE")
"""In the order of sys.trigger_events.type: 1, 2, 3."""

INSERTED, DELETED = "inserted", "deleted"
"""Names of the row images; their slots are 0 and 1 of every trigger's program."""


class RowImages:
    """The definition of ``inserted`` or ``deleted``: the parent's columns, without constraints."""

    __slots__ = ("columns", "name")

    def __init__(self, name: str, columns: list[Column]) -> None:
        self.name = name
        self.columns = [
            replace(column, nullable=True, identity=None, default=None, rowversion=False)
            for column in columns
        ]

    def new_table(self, engine: Engine) -> Table:
        """An empty table of that shape."""
        return Table(engine.journal, self.name, self.columns, temporary=True)

    def filled(self, engine: Engine, rows: list[tuple[Any, ...]]) -> Table:
        """A table of the rows of one statement. New, so no journal needs to know."""
        table = self.new_table(engine)
        for number, row in enumerate(rows, 1):
            table.rows.entries[number,] = row
        table.row_ids = len(rows)
        return table


def triggers_on(parent: Any, event: str, timing: str | None = None) -> list[Trigger]:
    """The enabled triggers of a table or view for INSERT, UPDATE or DELETE, in their order: the one
    that sp_settriggerorder made first, those without an order by age, the one made last.

    timing: AFTER, INSTEAD OF, or None for both.
    """
    database = getattr(parent, "database", None)
    if database is None or not parent.object_id:
        return []
    found = [
        trigger
        for trigger in database.modules(Trigger)
        if trigger.parent_id == parent.object_id
        and not trigger.disabled
        and event in trigger.node.events
        and timing in {None, trigger.node.timing}
    ]
    ranks = {"First": 0, "Last": 2}
    return sorted(found, key=lambda trigger: ranks.get(dict(trigger.order).get(event, ""), 1))


def nested_triggers(database: Database) -> bool:
    """The server option nested triggers."""
    server = database.server
    return server is None or bool(server.configuration.get("nested triggers", (1, 1))[1])


def trigger_program(session: SessionState, trigger: Trigger, columns: list[Column]) -> Program:
    """The compiled trigger; compiled again when its parent's columns have changed."""
    if trigger.program is not None and trigger.bound == columns:
        return cast("Program", trigger.program)
    options = trigger.options
    program = Program(
        trigger.name,
        trigger.schema,
        trigger.database,
        trigger.source,
        object_id=trigger.object_id,
        quoted_identifier=options["quoted_identifier"],
        ansi_nulls=options["ansi_nulls"],
    )

    def prepare(compiler: ProgramCompiler) -> None:
        for name in (INSERTED, DELETED):
            compiler.declare_table(name, RowImages(name, columns))
        compiler.scope.updated_column = _updated_column(columns)

    compile_program(program, trigger.node.body, session, prepare)
    trigger.program, trigger.bound = program, columns
    return program


def _updated_column(columns: list[Column]) -> Callable[[str], Any]:
    """UPDATE(column): whether the statement assigned to it; every column after an INSERT."""
    ordinals = {column.name.lower(): number for number, column in enumerate(columns)}

    def find(name: str) -> Callable[[SessionState, Values, RowValues], bool]:
        ordinal = ordinals.get(name.lower())
        if ordinal is None:
            raise SqlError(207, name)

        def updated(session: SessionState, variables: Values, row: RowValues) -> bool:
            known = session.frames[-1].firing.updated
            return known is None or ordinal in known

        return updated

    return find


def running_trigger(session: SessionState) -> int:
    """Object id of the innermost running trigger, 0 when none runs."""
    for frame in reversed(session.frames):
        if frame.firing is not None:
            return frame.program.object_id
    return 0


def trigger_depth(session: SessionState, object_id: int | None = None) -> int:
    """TRIGGER_NESTLEVEL(): how many triggers are running in each other; or how often one is."""
    return sum(
        frame.firing is not None and object_id in {None, frame.program.object_id}
        for frame in session.frames
    )


def columns_updated(session: SessionState) -> bytes | None:
    """COLUMNS_UPDATED(): a bit per column, that of the first one lowest in the first byte.

    All for an INSERT, no byte for a DELETE; NULL outside a trigger.
    """
    firing = session.frames[-1].firing if session.frames else None
    if firing is None:
        return None
    if firing.updated is not None and not firing.updated:
        return b""  # of a DELETE (F-529)
    bits = bytearray((len(firing.columns) + 7) // 8)
    for ordinal in range(len(firing.columns)):
        if firing.updated is None or ordinal in firing.updated:
            bits[ordinal // 8] |= 1 << ordinal % 8
    return bytes(bits)
