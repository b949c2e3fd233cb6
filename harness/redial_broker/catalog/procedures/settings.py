"""sp_configure and sp_settriggerorder (their pages)."""

from __future__ import annotations

from dataclasses import replace

from redial_broker.catalog.names import find_object
from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure, result_columns
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.configuration import configure, find_setting, values_of, visible_settings
from redial_broker.exec.objects import Trigger
from redial_broker.exec.security import has_permission

OPTIONS = result_columns("""
name nvarchar(35)
minimum int
maximum int
config_value int
run_value int""")


@procedure("sp_configure", configname=None, configvalue=None)
def sp_configure(call: Call) -> int:
    """Show all options, show one, or set one."""
    server = call.session.database.server
    name, value = call.text("configname"), call.number("configvalue")
    chosen = visible_settings(server) if name is None else [find_setting(server, name)]
    if value is not None:
        configure(call.session, chosen[0], value)
        return 0
    call.answer(
        OPTIONS, [(item.name, item.low, item.high, *values_of(server, item)) for item in chosen]
    )
    return 0


@procedure(
    "sp_settriggerorder", triggername=REQUIRED, order=REQUIRED, stmttype=REQUIRED, namespace=None
)
def sp_settriggerorder(call: Call) -> int:
    """Make an AFTER trigger the first or the last of its table for an event, or neither."""
    session = call.session
    if call.text("namespace") is not None:
        raise NotSupported("sp_settriggerorder for DDL triggers")
    text, event = call.text("triggername") or "", (call.text("stmttype") or "").upper()
    order = (call.text("order") or "").capitalize()
    database, trigger = find_object(session, text)
    if not isinstance(trigger, Trigger):
        raise SqlError(15009, text, session.database.name)
    if not has_permission(session, "ALTER", database.object_by_id(trigger.parent_id)):
        raise SqlError(15247)
    if order not in {"First", "Last", "None"}:
        raise SqlError(15600, "sp_settriggerorder")
    if trigger.node.timing == "INSTEAD OF":
        raise SqlError(15133, text)
    if event not in trigger.node.events:
        raise SqlError(15125, text, event)
    for other in database.modules(Trigger):
        if (
            other.parent_id == trigger.parent_id
            and other is not trigger
            and order != "None"
            and dict(other.order).get(event) == order
        ):
            raise SqlError(15130, order.lower(), event)
    kept = tuple(item for item in trigger.order if item[0] != event)
    if order != "None":
        kept = (*kept, (event, order))
    database.put(session.work(), replace(trigger, order=kept))
    return 0
