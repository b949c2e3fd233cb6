"""Service Broker's dynamic management views (sys.dm_broker_*): monitors, activated tasks, transport."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.broker_views import moment
from redial_broker.catalog.views import VIEW_SERVER_STATE, view
from redial_broker.exec.database import Database

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


def brokers(db: Database) -> Iterable[tuple[Database, Any]]:
    """Every database with its broker."""
    for item in sorted(db.server.databases.values(), key=lambda d: d.id):
        if item.broker is not None:
            yield item, item.broker


@view(
    "sys.dm_broker_queue_monitors",
    """
database_id int?
queue_id int?
state nvarchar(32)?
last_empty_rowset_time datetime?
last_activated_time datetime?
tasks_waiting int?""",
    VIEW_SERVER_STATE,
)
def queue_monitors(session: SessionState, db: Database) -> Iterable[RowValues]:
    """One row per queue with a monitor; tasks_waiting counts whoever waits in RECEIVE."""
    for database, broker in brokers(db):
        for queue in broker.queues():
            monitor = queue.monitor
            if monitor.exists:
                yield (
                    database.id,
                    queue.object_id,
                    monitor.state,
                    moment(monitor.last_empty),
                    moment(monitor.last_activated),
                    len(queue.waiting()),
                )


@view(
    "sys.dm_broker_activated_tasks",
    """
spid int?
database_id smallint?
queue_id int?
procedure_name nvarchar(650)?
execute_as int?""",
    VIEW_SERVER_STATE,
)
def activated_tasks(_: SessionState, db: Database) -> Iterable[RowValues]:
    """Activated tasks that are running."""
    for session in sorted(db.server.sessions(), key=lambda x: x.id):
        queue = getattr(session, "queue", None)
        if session.background and queue is not None and session.frames:
            activation = queue.activation
            yield (
                session.id,
                session.database.id,
                queue.object_id,
                activation.procedure if activation else None,
                session.user.id if session.user else None,
            )


@view(
    "sys.dm_broker_connections",
    """
connection_id uniqueidentifier?
transport_stream_id uniqueidentifier?
state smallint?
state_desc nvarchar(60)?
connect_time datetime?
login_time datetime?
authentication_method nvarchar(128)?
principal_name nvarchar(128)?
remote_user_name nvarchar(128)?
last_activity_time datetime?
is_accept bit?
login_state smallint?
login_state_desc nvarchar(60)?
peer_certificate_id int?
encryption_algorithm smallint?
encryption_algorithm_desc nvarchar(60)?
receives_posted smallint?
is_receive_flow_controlled bit?
sends_posted smallint?
is_send_flow_controlled bit?
total_bytes_sent bigint?
total_bytes_received bigint?
total_fragments_sent bigint?
total_fragments_received bigint?
total_sends bigint?
total_receives bigint?
peer_arbitration_id uniqueidentifier?""",
    VIEW_SERVER_STATE,
)
def broker_connections(session: SessionState, db: Database) -> Iterable[RowValues]:
    """None: there is no transport between instances."""
    return ()


@view(
    "sys.dm_broker_forwarded_messages",
    """
conversation_id uniqueidentifier?
is_initiator bit?
to_service_name nvarchar(256)?
to_broker_instance nvarchar(256)?
from_service_name nvarchar(256)?
from_broker_instance nvarchar(256)?
adjacent_broker_address nvarchar(512)?
message_sequence_number bigint?
message_fragment_number int?
hops_remaining tinyint?
time_to_live int?
time_consumed int
message_id uniqueidentifier?""",
    VIEW_SERVER_STATE,
)
def forwarded_messages(session: SessionState, db: Database) -> Iterable[RowValues]:
    """None: nothing is forwarded."""
    return ()
