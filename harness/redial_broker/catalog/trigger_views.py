"""Triggers and what they fire for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.views import view
from redial_broker.exec.database import Database
from redial_broker.exec.objects import Trigger

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


@view(
    "sys.triggers",
    """
name sysname
object_id int
parent_class tinyint
parent_class_desc nvarchar(60)?
parent_id int
type char(2)
type_desc nvarchar(60)?
create_date datetime
modify_date datetime
is_ms_shipped bit
is_disabled bit
is_not_for_replication bit
is_instead_of_trigger bit""",
)
def triggers(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Triggers on rows, then those on definitions."""
    for item in seen_objects(session, db, Trigger):
        created, modified = db.dates.get(item.object_id, (db.created, db.created))
        yield (
            item.name,
            item.object_id,
            1,
            "OBJECT_OR_COLUMN",
            item.parent_id,
            "TR",
            "SQL_TRIGGER",
            created,
            modified,
            0,
            int(item.disabled),
            int(item.node.not_for_replication),
            int(item.node.timing == "INSTEAD OF"),
        )
    for item in db.ddl_triggers.values():
        yield (
            item.name,
            item.object_id,
            0,
            "DATABASE",
            0,
            "TR",
            "SQL_TRIGGER",
            db.created,
            db.created,
            0,
            int(item.disabled),
            0,
            0,
        )


@view(
    "sys.trigger_events",
    """
object_id int
type int
type_desc nvarchar(60)
is_first bit?
is_last bit?
event_group_type int? = None
event_group_type_desc nvarchar(60)? = None
is_trigger_event bit? = 1""",
)
def trigger_events(session: SessionState, db: Database) -> Iterable[RowValues]:
    """What each trigger on rows fires for."""
    for item in seen_objects(session, db, Trigger):
        for number, event in enumerate(("INSERT", "UPDATE", "DELETE"), 1):
            if event in item.node.events:
                order = dict(item.order).get(event)
                yield (item.object_id, number, event, int(order == "First"), int(order == "Last"))
