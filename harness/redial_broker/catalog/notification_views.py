"""Event notifications of a database and of the server (pages of the views).

The columns with numbers of events are refused: no page gives that of QUEUE_ACTIVATION.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.broker_views import moment
from redial_broker.catalog.views import view
from redial_broker.exec.database import Database

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

_EVENTS = """
object_id int
- type int
type_desc nvarchar(60)
is_trigger_event bit? = 0
- event_group_type int?
event_group_type_desc nvarchar(60)?"""


def _of_database(db: Database) -> list[Any]:
    found = db.broker.notifications.values() if db.broker is not None else []
    return sorted(found, key=lambda n: n.object_id)


def _of_server(db: Database) -> list[Any]:
    return sorted(db.server.transport.notifications.values(), key=lambda n: n.object_id)


@view(
    "sys.event_notifications",
    """
name sysname
object_id int
parent_class tinyint
parent_class_desc nvarchar(60)?
parent_id int
create_date datetime
modify_date datetime
service_name nvarchar(256)?
broker_instance nvarchar(128)?
creator_sid varbinary(85)?
principal_id int?""",
)
def event_notifications(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Notifications on queues and on the database."""
    for item in _of_database(db):
        parent = (1, "OBJECT_OR_COLUMN") if item.parent_id else (0, "DATABASE")
        created = moment(item.created)
        yield (
            item.name,
            item.object_id,
            *parent,
            item.parent_id,
            created,
            created,
            item.service_name,
            item.broker_instance,
            item.creator,
            item.owner,
        )


@view(
    "sys.server_event_notifications",
    """
name sysname
object_id int
parent_class tinyint = 100
parent_class_desc nvarchar(60)? = 'SERVER'
parent_id int = 0
create_date datetime
modify_date datetime
service_name nvarchar(256)?
broker_instance nvarchar(128)?
creator_sid varbinary(85)?
principal_id int?""",
)
def server_event_notifications(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Notifications ON SERVER."""
    for item in _of_server(db):
        created = moment(item.created)
        yield (
            item.name,
            item.object_id,
            created,
            created,
            item.service_name,
            item.broker_instance,
            item.creator,
            item.owner,
        )


@view("sys.events", _EVENTS)
def events(session: SessionState, db: Database) -> Iterable[RowValues]:
    """What each notification of the database is for; trigger events are in sys.trigger_events."""
    for item in _of_database(db):
        for event, group in zip(item.events, item.groups):
            yield item.object_id, event, group or None


@view("sys.server_events", _EVENTS)
def server_events(session: SessionState, db: Database) -> Iterable[RowValues]:
    """What each notification ON SERVER is for."""
    for item in _of_server(db):
        for event, group in zip(item.events, item.groups):
            yield item.object_id, event, group or None
