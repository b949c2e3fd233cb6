"""DDL triggers: CREATE TRIGGER ... ON DATABASE, and how they run after a definition changes.

Source: "DDL triggers" and CREATE TRIGGER pages. They run in the transaction of the statement, once
per event, after it; a ROLLBACK in one takes the definition back (3609). Temporary objects fire
none. Server-scoped and logon triggers are refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from xml.sax.saxutils import escape

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.exec.calls import module_principal
from redial_broker.exec.compiler import compile_program
from redial_broker.exec.context import HOOKS, Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import dotted
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.events import ALL, GROUPS, DdlEvent, events_of
from redial_broker.exec.ddl.modules import definition_text, execute_as, refuse_options
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.dml.firing import NONE_UPDATED, Firing
from redial_broker.exec.objects import Trigger
from redial_broker.exec.program import SWITCH, Program
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission
from redial_broker.ssb import notifications

if TYPE_CHECKING:
    from redial_broker.engine.storage import Table
    from redial_broker.engine.transactions import Transaction
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

MAY = "ALTER ANY DATABASE DDL TRIGGER"


@compiles(ast.CreateDdlTrigger)
def create_ddl_trigger(node: ast.CreateDdlTrigger, context: Context) -> Run:
    """CREATE | ALTER | CREATE OR ALTER TRIGGER name ON DATABASE FOR events."""
    if node.scope != "DATABASE":
        raise context.not_supported(node, f"CREATE TRIGGER ON {node.scope}")
    refuse_options(node, context)
    for event in node.events:
        if event not in ALL and event not in GROUPS:
            raise context.not_supported(node, f"a trigger for {event}")

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.name)
        database: Database = session.database
        if not has_permission(session, MAY, database):
            raise SqlError(1088, dotted(node.name), state=13)
        key = node.name.name.lower()
        old = database.ddl_triggers.get(key)
        if old is not None and node.verb == "CREATE":
            raise SqlError(2714, node.name.name, state=2)
        if old is None and node.verb == "ALTER":
            raise SqlError(208, dotted(node.name), state=6)
        number = old.object_id if old is not None else database.next_object_id()
        trigger = Trigger(
            node.name.name,
            "",
            number,
            "TRIGGER",
            0,
            node,
            definition_text(node, context),
            context.program.source,
            {
                "quoted_identifier": session.options.quoted_identifier,
                "ansi_nulls": session.options.ansi_nulls,
            },
            execute_as(session, database, node),
            None,
            database,
        )
        program_of(session, trigger)
        put(session, database, key, trigger)

    return run


def put(session: SessionState, database: Database, key: str, trigger: Any) -> None:
    """Add, replace or (MISSING) drop a DDL trigger."""
    transaction = session.work()
    session.engine.journal.put(transaction, database, database.ddl_triggers, key, trigger)
    database.bump(transaction)
    transaction.log_used += 500


def drop_ddl_trigger(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP TRIGGER name ON DATABASE. Raises SqlError 3701."""
    database = session.database
    found = database.ddl_triggers.get(name.name.lower())
    if found is None or not has_permission(session, MAY, database):
        if found is None and if_exists:
            return
        raise SqlError(3701, "drop", "trigger", dotted(name), state=5)
    put(session, database, name.name.lower(), MISSING)


drops("TRIGGER ON DATABASE")(drop_ddl_trigger)


def switch_ddl_triggers(session: SessionState, names: list[str], enable: bool) -> None:
    """ENABLE | DISABLE TRIGGER names | ALL ON DATABASE. Raises SqlError 1088."""
    database = session.database
    for name in names:
        if name not in database.ddl_triggers:
            raise SqlError(1088, name, state=13)
    if not has_permission(session, MAY, database):
        raise SqlError(1088, names[0] if names else "ALL", state=13)
    for key, trigger in list(database.ddl_triggers.items()):
        if (not names or key in names) and trigger.disabled == enable:
            put(session, database, key, replace(trigger, disabled=not enable))


def program_of(session: SessionState, trigger: Trigger) -> Program:
    """The compiled trigger."""
    if trigger.program is None:
        program = Program(
            trigger.name,
            "",
            trigger.database,
            trigger.source,
            object_id=trigger.object_id,
            quoted_identifier=trigger.options["quoted_identifier"],
            ansi_nulls=trigger.options["ansi_nulls"],
        )
        trigger.program = compile_program(program, trigger.node.body, session)
    return cast("Program", trigger.program)


# ---------------------------------------------------------------------- running
@dataclass(frozen=True, slots=True)
class DdlFiring(Firing):
    """A statement whose DDL triggers run."""

    event: DdlEvent | None = None
    """What EVENTDATA() tells."""
    text: str = ""
    """Of the statement."""

    def push(self, session: SessionState) -> None:
        """Push the frame of the first of the triggers."""
        trigger = self.triggers[0]
        user = module_principal(trigger, trigger.database, session)
        frame = session.instance.machine.call(session, program_of(session, trigger), [], user=user)
        frame.firing = self
        session.options = session.options.changed(xact_abort=True)
        session.database = trigger.database
        session.rowcount = 0


def firing_ddl(run: Run, node: ast.Node, context: Context) -> Run:
    """A statement's run followed by the DDL triggers of its events."""
    events = list(events_of(node))
    if not events:
        return run
    text = context.program.source.slice(node)

    def with_triggers(session: SessionState, variables: Values) -> int | None:
        database = session.database
        result = run(session, variables)
        tell_notifications(session, database, events, text)
        firing: DdlFiring | None = None
        auto = session.auto
        for event in reversed(events):
            triggers = tuple(
                t
                for t in database.ddl_triggers.values()
                if not t.disabled and handles(t, event.event)
            )
            if triggers:
                firing = DdlFiring(
                    triggers,
                    [],
                    cast("tuple[Table, Table]", ()),  # it has no rows
                    NONE_UPDATED,
                    0,
                    0,
                    cast("Transaction", session.transaction),
                    session.mark,
                    auto,
                    1 if auto else session.trancount,
                    session.scope_identity,
                    firing,
                    event,
                    text,
                )
        if firing is None or result is not None:
            return result
        firing.push(session)
        session.frames[-2].pc += 1
        if auto:
            session.auto, session.trancount = False, 1
        return SWITCH

    return with_triggers


HOOKS.firing_ddl = firing_ddl


def tell_notifications(
    session: SessionState, database: Database, events: list[DdlEvent], text: str
) -> None:
    """Event notifications for what a statement has defined go out when it commits."""
    broker = database.broker
    if broker is None or not (broker.notifications or database.server.transport.notifications):
        return
    for event in events:
        listeners = notifications.listeners_for(broker, event.event)
        if listeners:
            notifications.raised(
                listeners, session.work(), event.event, event_xml(session, event, text)
            )


def handles(trigger: Trigger, event: str) -> bool:
    """Whether a trigger is for an event, by name or by group."""
    return any(event == one or event in GROUPS.get(one, ()) for one in trigger.node.events)


def event_data(session: SessionState) -> str | None:
    """EVENTDATA(): the event as xml inside a DDL trigger, NULL elsewhere (its page)."""
    firing = session.frames[-1].firing if session.frames else None
    if not isinstance(firing, DdlFiring) or firing.event is None:
        return None
    return event_xml(session, firing.event, firing.text)


def event_xml(session: SessionState, event: DdlEvent, statement: str) -> str:
    """An event as xml, for EVENTDATA() and for event notifications. statement: its text."""
    o = session.options
    user = session.user
    schema = event.schema or (user.default_schema if user is not None else None) or "dbo"
    moment = session.now().isoformat(timespec="milliseconds")
    fields = [
        ("EventType", event.event),
        ("PostTime", moment),
        ("SPID", str(session.id)),
        ("ServerName", session.server_name),
        ("LoginName", session.login_name),
        ("UserName", session.user_name),
        ("DatabaseName", session.database.name),
        ("SchemaName", schema),
        ("ObjectName", event.name),
        ("ObjectType", event.kind),
    ]

    def flag(on: bool) -> str:
        return "ON" if on else "OFF"

    command = (
        f'<SetOptions ANSI_NULLS="{flag(o.ansi_nulls)}" '
        f'ANSI_NULL_DEFAULT="{flag(o.ansi_null_dflt_on)}" ANSI_PADDING="{flag(o.ansi_padding)}" '
        f'QUOTED_IDENTIFIER="{flag(o.quoted_identifier)}" ENCRYPTED="FALSE"/>'
        f"<CommandText>{escape(statement)}</CommandText>"
    )
    inner = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in fields)
    return f"<EVENT_INSTANCE>{inner}<TSQLCommand>{command}</TSQLCommand></EVENT_INSTANCE>"
